package whatsapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/whatsapp/device"
)

// Posts of newsletters. They are not encrypted, have neither timer nor secret, and contain no quotes or mentions.

// preparePost builds a post, or a change of one. Only owner and admins of the newsletter may post: for others
// nothing is uploaded. Everybody may react.
func (s *sender) preparePost(ctx context.Context, cli *whatsmeow.Client, to types.JID, out event.Outgoing) (ready prepared, err error) {
	c := out.Content
	switch {
	case c.Reaction != nil:
		return ready, nil
	case c.Vote != nil:
		return ready, event.ErrPollNotReadable
	case !c.Postable(), out.Quoted != nil, out.MentionAll, len(out.Mentions) > 0, c.Media != nil && c.Media.ViewOnce:
		return ready, fmt.Errorf("%w: a newsletter does not take such a message", event.ErrContent)
	}
	if err := s.mayPost(ctx, cli, to); err != nil {
		return ready, err
	}
	if c.Media != nil {
		u, err := s.files.uploadedInClear(ctx, c.Media)
		if err != nil {
			return ready, err
		}
		ready.handle = u.Handle
		ready.message, err = messageOf(c.Media, u)
		return ready, err
	}
	ready.message, err = s.composeAny(ctx, cli, s.conn.self(), c)
	if err == nil && out.LinkPreview {
		ready.message, err = s.withPreview(ctx, ready.message, out)
	}
	if err == nil && c.Poll != nil {
		ready.message.MessageContextInfo = nil // the library's secret
	}
	return ready, err
}

// mayPost asks for the account's role in a newsletter. Errors: event.ErrNotChannelAdmin.
func (s *sender) mayPost(ctx context.Context, cli *whatsmeow.Client, channel types.JID) error {
	ctx, cancel := context.WithTimeout(ctx, s.conn.cfg.SendTimeout)
	defer cancel()
	info, err := cli.GetNewsletterInfo(ctx, channel)
	if err != nil {
		return fmt.Errorf("the role of the account in %s: %w", channel, err)
	}
	if info != nil && info.ViewerMeta != nil {
		if role := info.ViewerMeta.Role; role == types.NewsletterRoleOwner || role == types.NewsletterRoleAdmin {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", event.ErrNotChannelAdmin, channel)
}

// reactToPost sends a reaction. WhatsApp's answer to it is not waited for.
func reactToPost(ctx context.Context, cli *whatsmeow.Client, channel types.JID, out event.Outgoing) (resp whatsmeow.SendResponse, err error) {
	if err := device.Leave(ctx); err != nil {
		return resp, err
	}
	r := out.Content.Reaction
	err = cli.NewsletterSendReaction(ctx, channel, *r.ServerID, r.Reaction, out.ID)
	resp.DebugTimings.Send = 1 // the library began to write
	return resp, err
}

// uploadedInClear uploads a file for a newsletter. It has no part in other uploads, which are encrypted: the
// file of one is downloaded first.
func (fs *Files) uploadedInClear(ctx context.Context, m *event.Media) (event.Uploaded, error) {
	if fs.conn.cfg.Media == nil {
		return event.Uploaded{}, errors.New("media cannot be sent: no file source is configured")
	}
	source, err := fs.conn.cfg.Media.Open(ctx, fs.conn.instance, m)
	if err != nil {
		return event.Uploaded{}, err
	}
	defer source.Close()
	if source.File != nil {
		return fs.uploadInClear(ctx, *source.File)
	}
	file, err := fs.conn.cfg.Media.Create()
	if err != nil {
		return event.Uploaded{}, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	err = errors.Join(fs.Fetch(ctx, *source.Uploaded, file, source.Uploaded.Size), file.Close())
	if err != nil {
		return event.Uploaded{}, fmt.Errorf("the file of mediaUploadId: %w", err)
	}
	return fs.uploadInClear(ctx, event.MediaFile{Path: file.Name(), MediaInfo: source.Uploaded.MediaInfo})
}

func (fs *Files) uploadInClear(ctx context.Context, f event.MediaFile) (event.Uploaded, error) {
	if !fs.conn.isOnline() {
		return event.Uploaded{}, event.ErrNotConnected
	}
	plain, err := os.Open(f.Path)
	if err != nil {
		return event.Uploaded{}, classifyUpload(err)
	}
	defer func() { _ = plain.Close() }()
	ctx, cancel := context.WithTimeout(ctx, fs.conn.cfg.UploadTimeout)
	defer cancel()
	resp, err := fs.conn.client().UploadNewsletterReader(ctx, plain, uploadType(f.Kind))
	if err != nil {
		return event.Uploaded{}, classifyUpload(err)
	}
	f.Size = int64(resp.FileLength) //nolint:gosec // the size of a file
	return event.Uploaded{
		MediaInfo: f.MediaInfo, URL: resp.URL, DirectPath: resp.DirectPath, FileSHA256: resp.FileSHA256,
		UploadedAt: event.At(time.Now()), Handle: resp.Handle,
	}, nil
}

// ChannelPosts implements instance.Channels.
func (cs *Channels) ChannelPosts(ctx context.Context, channel string, before, limit int) ([]event.ChannelPost, error) {
	jid, err := chatJID(channel)
	if err != nil {
		return nil, err
	}
	all := []event.ChannelPost{}
	err = cs.calls.ask(ctx, "list the posts of the newsletter", func(ctx context.Context, cli *whatsmeow.Client) error {
		found, err := cli.GetNewsletterMessages(ctx, jid, &whatsmeow.GetNewsletterMessagesParams{Count: limit, Before: before})
		for _, p := range found {
			if p != nil {
				all = append(all, cs.calls.conn.translator(cli).ChannelPost(jid, p))
			}
		}
		return err
	})
	slices.SortStableFunc(all, func(a, b event.ChannelPost) int { return cmp.Compare(b.ServerID, a.ServerID) })
	return all[:min(len(all), limit)], err
}
