package whatsapp

import (
	"context"
	"fmt"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
)

// Channels acts on newsletters. It implements instance.Channels.
type Channels struct{ calls *calls }

// FollowedChannels implements instance.Channels.
func (cs *Channels) FollowedChannels(ctx context.Context) ([]event.Channel, error) {
	all := []event.Channel{}
	err := cs.calls.ask(ctx, "list the newsletters", func(ctx context.Context, cli *whatsmeow.Client) error {
		found, err := cli.GetSubscribedNewsletters(ctx)
		for _, n := range found {
			if n != nil {
				all = append(all, channelView(n))
			}
		}
		return err
	})
	return all, err
}

// Channel implements instance.Channels.
func (cs *Channels) Channel(ctx context.Context, channel string) (event.Channel, error) {
	jid, err := chatJID(channel)
	if err != nil {
		return event.Channel{}, err
	}
	return cs.findChannel(ctx, func(ctx context.Context, cli *whatsmeow.Client) (*types.NewsletterMetadata, error) {
		return cli.GetNewsletterInfo(ctx, jid)
	})
}

// InvitedChannel implements instance.Channels.
func (cs *Channels) InvitedChannel(ctx context.Context, code string) (event.Channel, error) {
	return cs.findChannel(ctx, func(ctx context.Context, cli *whatsmeow.Client) (*types.NewsletterMetadata, error) {
		return cli.GetNewsletterInfoWithInvite(ctx, code)
	})
}

// findChannel requests one newsletter. An answer without one is a refusal.
func (cs *Channels) findChannel(
	ctx context.Context, find func(context.Context, *whatsmeow.Client) (*types.NewsletterMetadata, error),
) (c event.Channel, err error) {
	err = cs.calls.ask(ctx, "look up the newsletter", func(ctx context.Context, cli *whatsmeow.Client) error {
		n, err := find(ctx, cli)
		switch {
		case err != nil:
			return err
		case n == nil:
			return fmt.Errorf("%w: the newsletter does not exist", event.ErrRefused)
		}
		c = channelView(n)
		return nil
	})
	return c, err
}

// FollowChannel implements instance.Channels.
func (cs *Channels) FollowChannel(ctx context.Context, channel string, follow bool) error {
	jid, err := chatJID(channel)
	if err != nil {
		return err
	}
	return cs.calls.ask(ctx, "follow or unfollow the newsletter", func(ctx context.Context, cli *whatsmeow.Client) error {
		if follow {
			return cli.FollowNewsletter(ctx, jid)
		}
		return cli.UnfollowNewsletter(ctx, jid)
	})
}

// MuteChannel implements instance.Channels.
func (cs *Channels) MuteChannel(ctx context.Context, channel string, muted bool) error {
	jid, err := chatJID(channel)
	if err != nil {
		return err
	}
	return cs.calls.ask(ctx, "mute or unmute the newsletter", func(ctx context.Context, cli *whatsmeow.Client) error {
		return cli.NewsletterToggleMute(ctx, jid, muted)
	})
}

func channelView(n *types.NewsletterMetadata) event.Channel {
	meta := n.ThreadMeta
	c := event.Channel{
		JID: n.ID.String(), Name: meta.Name.Text, Description: meta.Description.Text, InviteCode: meta.InviteCode,
		Subscribers: meta.SubscriberCount, Verification: string(meta.VerificationState), State: string(n.State.Type),
	}
	if meta.CreationTime.Unix() > 0 {
		c.CreatedAt = event.At(meta.CreationTime.Time)
	}
	if v := n.ViewerMeta; v != nil {
		c.Role, c.Muted = string(v.Role), new(v.Mute == types.NewsletterMuteOn)
	}
	return c
}
