package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/network"
	"postern/sandbox/network/posts"
	"postern/sandbox/phone"
)

// defaultServerID is the default number of a channel's message.
const defaultServerID = 100

// newsletterActs notify the phone's linked devices of changes of channels.
func newsletterActs() []act {
	return []act{
		row("newsletter-join", "the phone's user follows a channel", actNewsletterJoin),
		row("newsletter-leave", "the phone's user unfollows a channel", actNewsletterLeave),
		row("newsletter-mute", "the phone's user mutes or unmutes a channel", actNewsletterMute),
		row("newsletter-live-update", "the views and reactions of a channel's message changed", actNewsletterLive),
		row("newsletter-message", "a channel publishes a text or a file, edits a text or deletes a post; its followers receive it, and the phone's linked devices", actNewsletterMessage),
		row("newsletter-react", "the phone's user reacts to a post of a channel", actNewsletterReact),
		row("newsletter-view", "the phone's user reads a channel, which counts as a view of each post; the answer has the posts, newest first", actNewsletterView),
	}
}

type newsletterFields struct {
	Newsletter  string `json:"newsletter" help:"the channel's address, …@newsletter; missing: derived from the name"`
	Name        string `json:"name" help:"its name"`
	Description string `json:"description" help:"its description"`
	Role        string `json:"role" help:"owner, admin or subscriber; missing: as before, and subscriber at first"`
}

type newsletterResult struct {
	Newsletter string `json:"newsletter"`
	ID         string `json:"id,omitempty"`
	ServerID   string `json:"serverId,omitempty"` // the number of a new post
}

// onNewsletter calls fn for the phone's account and the channel of an act.
func onNewsletter(p *phone.Phone, text string, fn func(of, channel types.JID) error) (newsletterResult, error) {
	jid, err := newsletterAddress("newsletter", text)
	if err != nil {
		return newsletterResult{}, err
	}
	return newsletterResult{Newsletter: jid.String()}, fn(p.JID(), jid)
}

func actNewsletterJoin(_ context.Context, s *network.Server, p *phone.Phone, f newsletterFields) (any, error) {
	if f.Newsletter == "" {
		if f.Name == "" {
			return nil, invalidField("newsletter", "and name are missing")
		}
		f.Newsletter = network.ChannelAddress(f.Name).String()
	}
	role := types.NewsletterRole(f.Role)
	if !slices.Contains([]types.NewsletterRole{"", types.NewsletterRoleOwner, types.NewsletterRoleAdmin, types.NewsletterRoleSubscriber}, role) {
		return nil, invalidField("role", "is not one of owner, admin, subscriber")
	}
	return onNewsletter(p, f.Newsletter, func(of, channel types.JID) error {
		return s.Follow(of, channel, f.Name, f.Description, role)
	})
}

type newsletterLeaveFields struct {
	Newsletter string `json:"newsletter" help:"the channel's address, …@newsletter"`
}

func actNewsletterLeave(_ context.Context, s *network.Server, p *phone.Phone, f newsletterLeaveFields) (any, error) {
	return onNewsletter(p, f.Newsletter, s.Unfollow)
}

type newsletterMuteFields struct {
	Newsletter string `json:"newsletter" help:"the channel's address, …@newsletter"`
	Muted      bool   `json:"muted" help:"true mutes"`
}

func actNewsletterMute(_ context.Context, s *network.Server, p *phone.Phone, f newsletterMuteFields) (any, error) {
	return onNewsletter(p, f.Newsletter, func(of, channel types.JID) error { return s.MuteChannel(of, channel, f.Muted) })
}

type newsletterLiveFields struct {
	Newsletter string         `json:"newsletter" help:"the channel's address, …@newsletter"`
	ServerID   int            `json:"serverId" help:"the message's number in the channel; default 100"`
	Views      int            `json:"views" help:"the number of views"`
	Reactions  map[string]int `json:"reactions" help:"the count of each emoji"`
}

func actNewsletterLive(_ context.Context, s *network.Server, p *phone.Phone, f newsletterLiveFields) (any, error) {
	if f.Views < 0 || f.ServerID < 0 {
		return nil, invalidField("serverId and views", "cannot be negative")
	}
	if f.ServerID == 0 {
		f.ServerID = defaultServerID
	}
	var reactions []waBinary.Node
	for _, code := range slices.Sorted(maps.Keys(f.Reactions)) {
		if code == "" || f.Reactions[code] < 0 {
			return nil, invalidField("reactions", "has to map emojis to counts")
		}
		reactions = append(reactions, waBinary.Node{Tag: "reaction", Attrs: waBinary.Attrs{"code": code, "count": f.Reactions[code]}})
	}
	message := waBinary.Node{
		Tag:   "message",
		Attrs: waBinary.Attrs{"server_id": f.ServerID, "id": phone.MessageID(), "type": "text", "t": time.Now().Unix()},
		Content: []waBinary.Node{
			{Tag: "views_count", Attrs: waBinary.Attrs{"count": f.Views}},
			{Tag: "reactions", Content: reactions},
		},
	}
	return onNewsletter(p, f.Newsletter, func(of, channel types.JID) error { return s.UpdateChannel(of, channel, message) })
}

type newsletterMessageFields struct {
	Newsletter string `json:"newsletter" help:"the channel's address, …@newsletter"`
	Text       string `json:"text" help:"the text, or the caption of a file"`
	Kind       string `json:"kind" help:"of a file: image, video, gif, voice, audio, document or sticker; missing: a text"`
	Data       string `json:"data" help:"the file in base64; missing: a small grey JPEG"`
	ID         string `json:"id" help:"the post to edit or to delete; missing: a new one"`
	Deleted    bool   `json:"deleted" help:"true deletes the post of id"`
}

func (f *newsletterMessageFields) check() error {
	switch {
	case f.Deleted && f.ID == "":
		return invalidField("id", "is missing")
	case f.Deleted && f.Text+f.Kind != "", f.Kind != "" && f.ID != "":
		return invalidField("text and kind", "cannot be given here")
	case !f.Deleted && f.Text == "" && f.Kind == "":
		return invalidField("text", "is missing")
	}
	return nil
}

func actNewsletterMessage(_ context.Context, s *network.Server, p *phone.Phone, f newsletterMessageFields) (any, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	jid, err := newsletterAddress("newsletter", f.Newsletter)
	if err != nil {
		return nil, err
	}
	result := newsletterResult{Newsletter: jid.String(), ID: f.ID}
	if f.Deleted {
		return result, s.DeletePost(p.JID(), jid, f.ID)
	}
	post, err := f.post(s)
	if err != nil {
		return nil, err
	}
	if f.ID != "" {
		return result, s.EditPost(p.JID(), jid, post)
	}
	post.ID = phone.MessageID()
	made, err := s.Publish(p.JID(), jid, post)
	result.ID, result.ServerID = made.ID, strconv.Itoa(made.ServerID)
	return result, err
}

// post returns the post of an act.
func (f *newsletterMessageFields) post(s *network.Server) (posts.Post, error) {
	post, m := posts.Post{ID: f.ID, Type: "text"}, &waE2E.Message{Conversation: &f.Text}
	if f.Kind != "" {
		kind, ok := mediaKinds[f.Kind]
		if !ok {
			return post, invalidField("kind", notAKind)
		}
		data, err := fileOf("data", f.Data, 0)
		if err != nil {
			return post, err
		}
		file := sealed{s.PutPlain(data)}
		m = file.message(mediaFields{Kind: f.Kind, Caption: f.Text, MimeType: kind.mimetype}, time.Now())
		post.Type, post.MediaType = "media", f.Kind
		if f.Kind == "voice" {
			post.MediaType = "ptt"
		}
	}
	var err error
	if post.Plaintext, err = proto.Marshal(m); err != nil {
		return post, fmt.Errorf("encode a channel's message: %w", err)
	}
	return post, nil
}

type newsletterReactFields struct {
	Newsletter string `json:"newsletter" help:"the channel's address, …@newsletter"`
	ServerID   int    `json:"serverId" help:"the post's number in the channel"`
	Emoji      string `json:"emoji" help:"the reaction; empty removes it"`
}

func actNewsletterReact(_ context.Context, s *network.Server, p *phone.Phone, f newsletterReactFields) (any, error) {
	return onNewsletter(p, f.Newsletter, func(of, channel types.JID) error { return s.ReactToPost(of, channel, f.ServerID, f.Emoji) })
}

type newsletterViewFields struct {
	Newsletter string `json:"newsletter" help:"the channel's address, …@newsletter"`
}

// postView is a post as a phone shows it.
type postView struct {
	ServerID  int             `json:"serverId"`
	ID        string          `json:"id"`
	Edited    bool            `json:"edited"`
	Deleted   bool            `json:"deleted"`
	Message   json.RawMessage `json:"message"` // protobuf's JSON; null: deleted
	Views     int             `json:"views"`
	Reactions []posts.Count   `json:"reactions"`
}

func actNewsletterView(_ context.Context, s *network.Server, p *phone.Phone, f newsletterViewFields) (any, error) {
	views := []postView{}
	_, err := onNewsletter(p, f.Newsletter, func(of, channel types.JID) error {
		all, err := s.ViewPosts(of, channel)
		for _, one := range all {
			v := postView{
				ServerID: one.ServerID, ID: one.ID, Edited: !one.EditedAt.IsZero(), Deleted: one.Plaintext == nil,
				Message: json.RawMessage("null"), Views: len(one.Viewers), Reactions: one.Counts(),
			}
			var m waE2E.Message
			if !v.Deleted && proto.Unmarshal(one.Plaintext, &m) == nil {
				if v.Message, err = protojson.Marshal(&m); err != nil {
					return fmt.Errorf("encode a post: %w", err)
				}
			}
			views = append(views, v)
		}
		return err
	})
	return struct {
		Posts []postView `json:"posts"`
	}{views}, err
}
