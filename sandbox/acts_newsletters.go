package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// newsletterActs are about channels. A channel is nothing but its address
// here: the acts tell the phone's linked devices what happened to it.
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

// newsletterAddress reads the address of a channel, or makes one of a name.
func newsletterAddress(text, name string) (types.JID, error) {
	if text == "" {
		sum := sha256.Sum256([]byte("sandbox newsletter " + name))
		return types.NewJID(fmt.Sprintf("120363%012d", binary.BigEndian.Uint64(sum[:])%1e12), types.NewsletterServer), nil
	}
	jid, err := types.ParseJID(text)
	if err != nil || jid.Server != types.NewsletterServer || jid.User == "" {
		return types.EmptyJID, invalidField("newsletter", "is not the address of a channel, such as 1203630000@newsletter")
	}
	return jid, nil
}

// tellNewsletter sends the JSON of one change to the phone's linked devices.
func (s *Server) tellNewsletter(p *Phone, jid types.JID, operation, key string, data map[string]any) (any, error) {
	data["id"] = jid.String()
	err := s.between(p, "to", "", func(a, _ *account) { s.mex(a, operation, key, data) })
	return newsletterResult{Newsletter: jid.String()}, err
}

func actNewsletterJoin(_ context.Context, s *Server, p *Phone, f newsletterFields) (any, error) {
	jid, err := newsletterAddress(f.Newsletter, f.Name)
	if err != nil {
		return nil, err
	}
	now := strconv.FormatInt(time.Now().Unix(), 10)
	text := func(s string) map[string]any {
		return map[string]any{"text": s, "id": "1", "update_time": now + "000000"}
	}
	return s.tellNewsletter(p, jid, "NotificationNewsletterJoin", "xwa2_notify_newsletter_on_join", map[string]any{
		"state": map[string]any{"type": "active"},
		"thread_metadata": map[string]any{
			"creation_time": now, "invite": "SandboxInvite", "name": text(f.Name), "description": text(f.Description),
			"subscribers_count": "1", "verification": "unverified",
		},
		"viewer_metadata": map[string]any{"mute": "off", "role": "subscriber"},
	})
}

func actNewsletterLeave(_ context.Context, s *Server, p *Phone, f newsletterFields) (any, error) {
	jid, err := newsletterAddress(f.Newsletter, f.Name)
	if err != nil {
		return nil, err
	}
	return s.tellNewsletter(p, jid, "NotificationNewsletterLeave", "xwa2_notify_newsletter_on_leave", map[string]any{"role": "guest"})
}

type newsletterMuteFields struct {
	Newsletter string `json:"newsletter" help:"the channel's address, …@newsletter"`
	Muted      bool   `json:"muted" help:"true mutes"`
}

func actNewsletterMute(_ context.Context, s *Server, p *Phone, f newsletterMuteFields) (any, error) {
	jid, err := newsletterAddress(f.Newsletter, "")
	if err != nil {
		return nil, err
	}
	mute := "OFF"
	if f.Muted {
		mute = "ON"
	}
	return s.tellNewsletter(p, jid, "NotificationNewsletterMuteChange", "xwa2_notify_newsletter_on_mute_change", map[string]any{"mute": mute})
}

type newsletterLiveFields struct {
	Newsletter string         `json:"newsletter" help:"the channel's address, …@newsletter"`
	ServerID   int            `json:"serverId" help:"the message's number in the channel; default 100"`
	Views      int            `json:"views" help:"how often it was seen"`
	Reactions  map[string]int `json:"reactions" help:"how often each emoji was given"`
}

func actNewsletterLive(_ context.Context, s *Server, p *Phone, f newsletterLiveFields) (any, error) {
	jid, err := newsletterAddress(f.Newsletter, "")
	if err != nil {
		return nil, err
	}
	if f.ServerID == 0 {
		f.ServerID = 100
	}
	var reactions []waBinary.Node
	for code, n := range f.Reactions {
		reactions = append(reactions, waBinary.Node{Tag: "reaction", Attrs: waBinary.Attrs{"code": code, "count": n}})
	}
	message := waBinary.Node{
		Tag:   "message",
		Attrs: waBinary.Attrs{"server_id": f.ServerID, "id": messageID(), "type": "text", "t": time.Now().Unix()},
		Content: []waBinary.Node{
			{Tag: "views_count", Attrs: waBinary.Attrs{"count": f.Views}},
			{Tag: "reactions", Content: reactions},
		},
	}
	err = s.between(p, "to", "", func(a, _ *account) {
		s.notify(a, "newsletter", jid, nil, waBinary.Node{Tag: "live_updates", Content: []waBinary.Node{message}})
	})
	return newsletterResult{Newsletter: jid.String()}, err
}

type newsletterMessageFields struct {
	Newsletter string `json:"newsletter" help:"the channel's address, …@newsletter"`
	Text       string `json:"text" help:"the text"`
	ID         string `json:"id" help:"the message that is edited; missing: a new one"`
}

func actNewsletterMessage(_ context.Context, s *Server, p *Phone, f newsletterMessageFields) (any, error) {
	jid, err := newsletterAddress(f.Newsletter, "")
	if err != nil {
		return nil, err
	}
	if f.Text == "" {
		return nil, invalidField("text", "is missing")
	}
	plaintext, err := proto.Marshal(&waE2E.Message{Conversation: &f.Text})
	if err != nil {
		return nil, fmt.Errorf("encode a channel's message: %w", err)
	}
	now := time.Now()
	content := []waBinary.Node{{Tag: "plaintext", Content: plaintext}}
	attrs := waBinary.Attrs{"from": jid, "type": "text", "t": now.Unix(), "server_id": 100, "id": f.ID}
	if f.ID == "" {
		attrs["id"] = messageID()
	} else {
		attrs["edit"] = string(types.EditAttributeAdminEdit)
		content = append(content, waBinary.Node{Tag: "meta", Attrs: waBinary.Attrs{
			"msg_edit_t": now.UnixMilli(), "original_msg_t": now.Add(-time.Minute).Unix(),
		}})
	}
	err = s.between(p, "to", "", func(a, _ *account) {
		s.queueForAll(a, waBinary.Node{Tag: "message", Attrs: attrs, Content: content})
	})
	return newsletterResult{jid.String(), attr(&waBinary.Node{Attrs: attrs}, "id")}, err
}
