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

	"postern/sandbox/network"
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
		row("newsletter-message", "a channel publishes or edits a text", actNewsletterMessage),
	}
}

type newsletterFields struct {
	Newsletter  string `json:"newsletter" help:"the channel's address, …@newsletter; missing: derived from the name"`
	Name        string `json:"name" help:"its name"`
	Description string `json:"description" help:"its description"`
}

type newsletterResult struct {
	Newsletter string `json:"newsletter"`
	ID         string `json:"id,omitempty"`
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
	return onNewsletter(p, f.Newsletter, func(of, channel types.JID) error {
		return s.Follow(of, channel, f.Name, f.Description)
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
	Text       string `json:"text" help:"the text"`
	ID         string `json:"id" help:"the message to edit; missing: a new one"`
}

func actNewsletterMessage(_ context.Context, s *network.Server, p *phone.Phone, f newsletterMessageFields) (any, error) {
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
		f.ID = phone.MessageID()
	} else {
		message.Attrs["edit"] = string(types.EditAttributeAdminEdit)
		content = append(content, waBinary.Node{Tag: "meta", Attrs: waBinary.Attrs{
			"msg_edit_t": now.UnixMilli(), "original_msg_t": now.Add(-time.Minute).Unix(),
		}})
	}
	message.Attrs["id"], message.Content = f.ID, content
	result, err := onNewsletter(p, f.Newsletter, func(of, channel types.JID) error {
		message.Attrs["from"] = channel
		return s.QueueForAll(of, message)
	})
	if err != nil {
		return nil, err
	}
	return newsletterResult{result.Newsletter, f.ID}, nil
}
