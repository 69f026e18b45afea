package sandbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// defaultServerID is the number of a channel's message that was given none.
const defaultServerID = 100

// newsletterActs are about channels: they tell the phone's linked devices what
// happened to one.
func newsletterActs() []act {
	return []act{
		row("newsletter-join", "the phone's user follows a channel", actNewsletterJoin),
		row("newsletter-leave", "the phone's user follows a channel no longer", actNewsletterLeave),
		row("newsletter-mute", "the phone's user mutes a channel, or no longer", actNewsletterMute),
		row("newsletter-live-update", "the views and reactions of a channel's message changed", actNewsletterLive),
		row("newsletter-message", "a channel publishes or edits a text", actNewsletterMessage),
	}
}

type newsletterFields struct {
	Newsletter  string `json:"newsletter" help:"the channel's address, …@newsletter; missing: one made of the name"`
	Name        string `json:"name" help:"its name"`
	Description string `json:"description" help:"its description"`
}

type newsletterResult struct {
	Newsletter string `json:"newsletter"`
	ID         string `json:"id,omitempty"`
}

// onNewsletter runs fn for the phone's account and the channel of an act, with
// s.mu held.
func (s *Server) onNewsletter(p *Phone, text string, fn func(a *account, jid types.JID)) (newsletterResult, error) {
	jid, err := newsletterAddress("newsletter", text)
	if err != nil {
		return newsletterResult{}, err
	}
	err = s.between(p, "to", "", func(a, _ *account) { fn(a, jid) })
	return newsletterResult{Newsletter: jid.String()}, err
}

func actNewsletterJoin(_ context.Context, s *Server, p *Phone, f newsletterFields) (any, error) {
	if f.Newsletter == "" {
		if f.Name == "" {
			return nil, invalidField("newsletter", "and name are missing")
		}
		f.Newsletter = madeAddress(f.Name).String()
	}
	return s.onNewsletter(p, f.Newsletter, func(a *account, jid types.JID) {
		c, _ := s.channelFor(a, jid)
		if f.Name != "" {
			c.Name = f.Name
		}
		if f.Description != "" {
			c.Description = f.Description
		}
		s.follow(a, nil, jid, c)
	})
}

type newsletterLeaveFields struct {
	Newsletter string `json:"newsletter" help:"the channel's address, …@newsletter"`
}

func actNewsletterLeave(_ context.Context, s *Server, p *Phone, f newsletterLeaveFields) (any, error) {
	return s.onNewsletter(p, f.Newsletter, func(a *account, jid types.JID) { s.unfollow(a, nil, jid) })
}

type newsletterMuteFields struct {
	Newsletter string `json:"newsletter" help:"the channel's address, …@newsletter"`
	Muted      bool   `json:"muted" help:"true mutes"`
}

func actNewsletterMute(_ context.Context, s *Server, p *Phone, f newsletterMuteFields) (any, error) {
	return s.onNewsletter(p, f.Newsletter, func(a *account, jid types.JID) { s.muteChannel(a, nil, jid, f.Muted) })
}

type newsletterLiveFields struct {
	Newsletter string         `json:"newsletter" help:"the channel's address, …@newsletter"`
	ServerID   int            `json:"serverId" help:"the message's number in the channel; default 100"`
	Views      int            `json:"views" help:"how often it was seen"`
	Reactions  map[string]int `json:"reactions" help:"how often each emoji was given"`
}

func actNewsletterLive(_ context.Context, s *Server, p *Phone, f newsletterLiveFields) (any, error) {
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
		Attrs: waBinary.Attrs{"server_id": f.ServerID, "id": messageID(), "type": "text", "t": time.Now().Unix()},
		Content: []waBinary.Node{
			{Tag: "views_count", Attrs: waBinary.Attrs{"count": f.Views}},
			{Tag: "reactions", Content: reactions},
		},
	}
	return s.onNewsletter(p, f.Newsletter, func(a *account, jid types.JID) {
		s.notify(a, "newsletter", jid, nil, waBinary.Node{Tag: "live_updates", Content: []waBinary.Node{message}})
	})
}

type newsletterMessageFields struct {
	Newsletter string `json:"newsletter" help:"the channel's address, …@newsletter"`
	Text       string `json:"text" help:"the text"`
	ID         string `json:"id" help:"the message that is edited; missing: a new one"`
}

func actNewsletterMessage(_ context.Context, s *Server, p *Phone, f newsletterMessageFields) (any, error) {
	if f.Text == "" {
		return nil, invalidField("text", "is missing")
	}
	plaintext, err := proto.Marshal(&waE2E.Message{Conversation: &f.Text})
	if err != nil {
		return nil, fmt.Errorf("encode a channel's message: %w", err)
	}
	now := time.Now()
	message := waBinary.Node{Tag: "message", Attrs: waBinary.Attrs{"type": "text", "t": now.Unix(), "server_id": defaultServerID}}
	content := []waBinary.Node{{Tag: "plaintext", Content: plaintext}}
	if f.ID == "" {
		f.ID = messageID()
	} else {
		message.Attrs["edit"] = string(types.EditAttributeAdminEdit)
		content = append(content, waBinary.Node{Tag: "meta", Attrs: waBinary.Attrs{
			"msg_edit_t": now.UnixMilli(), "original_msg_t": now.Add(-time.Minute).Unix(),
		}})
	}
	message.Attrs["id"], message.Content = f.ID, content
	result, err := s.onNewsletter(p, f.Newsletter, func(a *account, jid types.JID) {
		message.Attrs["from"] = jid
		s.queueForAll(a, message)
	})
	if err != nil {
		return nil, err
	}
	return newsletterResult{result.Newsletter, f.ID}, nil
}
