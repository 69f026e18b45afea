package whatsapp

import (
	"context"
	"fmt"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
)

// FollowedChannels implements instance.Channels.
func (s *Session) FollowedChannels(ctx context.Context) ([]event.Channel, error) {
	all := []event.Channel{}
	err := s.ask(ctx, "list the newsletters", func(ctx context.Context, cli *whatsmeow.Client) error {
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
func (s *Session) Channel(ctx context.Context, channel string) (event.Channel, error) {
	jid, err := chatJID(channel)
	if err != nil {
		return event.Channel{}, err
	}
	return s.findChannel(ctx, func(ctx context.Context, cli *whatsmeow.Client) (*types.NewsletterMetadata, error) {
		return cli.GetNewsletterInfo(ctx, jid)
	})
}

// InvitedChannel implements instance.Channels.
func (s *Session) InvitedChannel(ctx context.Context, code string) (event.Channel, error) {
	return s.findChannel(ctx, func(ctx context.Context, cli *whatsmeow.Client) (*types.NewsletterMetadata, error) {
		return cli.GetNewsletterInfoWithInvite(ctx, code)
	})
}

// findChannel asks for one newsletter. An answer without any is a refusal too.
func (s *Session) findChannel(
	ctx context.Context, find func(context.Context, *whatsmeow.Client) (*types.NewsletterMetadata, error),
) (c event.Channel, err error) {
	err = s.ask(ctx, "look up the newsletter", func(ctx context.Context, cli *whatsmeow.Client) error {
		n, err := find(ctx, cli)
		switch {
		case err != nil:
			return err
		case n == nil:
			return fmt.Errorf("%w: there is no such newsletter", event.ErrRefused)
		}
		c = channelView(n)
		return nil
	})
	return c, err
}

// FollowChannel implements instance.Channels.
func (s *Session) FollowChannel(ctx context.Context, channel string, follow bool) error {
	jid, err := chatJID(channel)
	if err != nil {
		return err
	}
	return s.ask(ctx, "follow or unfollow the newsletter", func(ctx context.Context, cli *whatsmeow.Client) error {
		if follow {
			return cli.FollowNewsletter(ctx, jid)
		}
		return cli.UnfollowNewsletter(ctx, jid)
	})
}

// MuteChannel implements instance.Channels.
func (s *Session) MuteChannel(ctx context.Context, channel string, muted bool) error {
	jid, err := chatJID(channel)
	if err != nil {
		return err
	}
	return s.ask(ctx, "mute or unmute the newsletter", func(ctx context.Context, cli *whatsmeow.Client) error {
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
