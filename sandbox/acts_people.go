package sandbox

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// peopleActs are what people change about themselves and show of themselves.
func peopleActs() []act {
	return []act{
		row("presence", "the phone's user comes online or goes", actPresence),
		row("chat-presence", "the phone's user types, records or stops", actChatPresence),
		row("picture", "the phone's user changes the own picture or a group's", actPicture),
		row("about", "the phone's user changes the about text", actAbout),
		row("identity-change", "the phone's user moves to a new phone, with new keys", actIdentityChange),
		row("push-name", "the phone's user takes another name; with to, a message shows it", actPushName),
		row("business-name", "the phone becomes a business of this name; with to, a message shows it", actBusinessName),
		row("blocklist", "the phone's user blocks or unblocks somebody", actBlocklist),
		row("privacy", "the phone's user changes a privacy setting", actPrivacy),
		row("reachout-timelock", "WhatsApp forbids the account to write to strangers, or allows it again", actTimelock),
	}
}

type presenceFields struct {
	To       string `json:"to" help:"an account that is told even when it did not ask: a number or an address"`
	Online   bool   `json:"online" help:"true: comes online; false: goes"`
	LastSeen bool   `json:"lastSeen" help:"when going, whether the time is shown"`
}

func actPresence(_ context.Context, s *Server, p *Phone, f presenceFields) (any, error) {
	return nil, s.between(p, "to", f.To, func(from, to *account) {
		s.setPresence(from, f.Online)
		if f.To == "" {
			return
		}
		n := presenceNode(from.lid, from.presence)
		if !f.LastSeen {
			delete(n.Attrs, "last")
		}
		s.sendNow(to, n)
	})
}

type chatPresenceFields struct {
	To    string `json:"to" help:"the account that sees it: a number or an address"`
	State string `json:"state" help:"composing, recording or paused"`
	Group string `json:"group" help:"the group that it happens in, an address; missing: the direct chat"`
}

func actChatPresence(_ context.Context, s *Server, p *Phone, f chatPresenceFields) (any, error) {
	states := map[string]waBinary.Node{
		"composing": {Tag: "composing"},
		"recording": {Tag: "composing", Attrs: waBinary.Attrs{"media": "audio"}},
		"paused":    {Tag: "paused"},
	}
	state, ok := states[f.State]
	if !ok {
		return nil, invalidField("state", "is not one of composing, recording, paused")
	}
	group, err := groupAddress("group", f.Group)
	if err != nil {
		return nil, err
	}
	if f.To == "" {
		return nil, invalidField("to", "is missing")
	}
	return nil, s.between(p, "to", f.To, func(from, to *account) {
		attrs := waBinary.Attrs{"from": from.lid, "sender_pn": from.pn}
		if !group.IsEmpty() {
			attrs = waBinary.Attrs{"from": group, "participant": from.lid, "participant_pn": from.pn}
		}
		s.sendNow(to, waBinary.Node{Tag: "chatstate", Attrs: attrs, Content: []waBinary.Node{state}})
	})
}

type pictureFields struct {
	To     string `json:"to" help:"an account that is told too: a number or an address"`
	Group  string `json:"group" help:"the group whose picture it is, an address; missing: the own"`
	Remove bool   `json:"remove" help:"remove the picture"`
	Image  string `json:"image" help:"a JPEG in base64; missing: a small grey one"`
}

func actPicture(_ context.Context, s *Server, p *Phone, f pictureFields) (any, error) {
	group, err := groupAddress("group", f.Group)
	if err != nil {
		return nil, err
	}
	id, err := s.newPicture(f)
	if err != nil {
		return nil, err
	}
	err = s.between(p, "to", f.To, func(from, to *account) {
		var shown []*account
		if to != from {
			shown = append(shown, to)
		}
		if group.IsEmpty() {
			s.changeOwnPicture(from, id, shown)
		} else {
			s.changeGroupPicture(from, group, id, shown)
		}
	})
	return map[string]string{"pictureId": id}, err
}

func (s *Server) newPicture(f pictureFields) (id string, err error) {
	if f.Remove {
		return "", nil
	}
	image := greyJPEG()
	if f.Image != "" {
		if image, err = base64.StdEncoding.DecodeString(f.Image); err != nil {
			return "", invalidField("image", "is not base64")
		}
	}
	return s.media.put(image), nil
}

type aboutFields struct {
	To   string `json:"to" help:"an account that is told: a number or an address; the own devices are always told"`
	Text string `json:"text" help:"the text; empty removes it"`
}

func actAbout(_ context.Context, s *Server, p *Phone, f aboutFields) (any, error) {
	return nil, s.between(p, "to", f.To, func(from, to *account) {
		from.profile.About = &f.Text
		s.persist.account(from)
		told := []*account{from}
		if to != from {
			told = append(told, to)
		}
		for _, a := range told {
			s.notify(a, "status", from.lid, nil, waBinary.Node{Tag: "set", Content: []byte(f.Text)})
		}
	})
}

type toFields struct {
	To string `json:"to" help:"the account that is told: a number or an address"`
}

func actIdentityChange(_ context.Context, s *Server, p *Phone, f toFields) (any, error) {
	if f.To == "" {
		return nil, invalidField("to", "is missing")
	}
	if err := p.replaceKeys(); err != nil {
		return nil, err
	}
	return nil, s.between(p, "to", f.To, func(from, to *account) {
		s.notify(to, "encrypt", from.lid, nil, waBinary.Node{Tag: "identity"})
	})
}

type nameFields struct {
	To   string `json:"to" help:"an account that gets a message under the name: a number or an address"`
	Name string `json:"name" help:"the name"`
}

func actPushName(ctx context.Context, s *Server, p *Phone, f nameFields) (any, error) {
	return s.underName(ctx, p, f, func(a *account) {
		a.pushName = f.Name
		p.rename(f.Name)
	})
}

func actBusinessName(ctx context.Context, s *Server, p *Phone, f nameFields) (any, error) {
	return s.underName(ctx, p, f, func(a *account) { a.profile.Business = f.Name })
}

// underName changes a name, and has a message show it when somebody is named.
func (s *Server) underName(ctx context.Context, p *Phone, f nameFields, change func(*account)) (any, error) {
	if f.Name == "" {
		return nil, invalidField("name", "is missing")
	}
	err := s.between(p, "to", f.To, func(from, _ *account) {
		change(from)
		s.persist.account(from)
	})
	if err != nil || f.To == "" {
		return nil, err
	}
	return actText(ctx, s, p, textFields{To: f.To, Text: "I am " + f.Name})
}

type blocklistFields struct {
	Action string `json:"action" help:"block or unblock; missing: the whole list is said to have changed"`
	Target string `json:"target" help:"with action, whom: a number or an address"`
}

func actBlocklist(_ context.Context, s *Server, p *Phone, f blocklistFields) (any, error) {
	switch f.Action {
	case "":
		return nil, s.between(p, "target", "", func(a, _ *account) {
			s.notify(a, "account_sync", a.pn, nil, waBinary.Node{
				Tag: "blocklist", Attrs: waBinary.Attrs{"action": "modify", "dhash": a.profile.blockHash()},
			})
		})
	case "block", "unblock":
		if f.Target == "" {
			return nil, invalidField("target", "is missing")
		}
		return nil, s.between(p, "target", f.Target, func(a, target *account) { s.changeBlocked(a, target, f.Action == "block") })
	default:
		return nil, invalidField("action", "is not block or unblock")
	}
}

type privacyFields struct {
	Name  string `json:"name" help:"groupadd, last, status, profile, readreceipts, online, calladd, messages, defense or stickers"`
	Value string `json:"value" help:"all, contacts, contact_blacklist, match_last_seen, known or none"`
}

func actPrivacy(_ context.Context, s *Server, p *Phone, f privacyFields) (any, error) {
	if !slices.Contains(privacyNames(), f.Name) {
		return nil, invalidField("name", "is not one of "+strings.Join(privacyNames(), ", "))
	}
	values := []string{"all", "contacts", "contact_blacklist", "match_last_seen", "known", "none"}
	if !slices.Contains(values, f.Value) {
		return nil, invalidField("value", "is not one of "+strings.Join(values, ", "))
	}
	return nil, s.between(p, "to", "", func(a, _ *account) {
		a.profile.setPrivacy(f.Name, f.Value)
		s.persist.account(a)
		s.notify(a, "account_sync", a.pn, nil, waBinary.Node{Tag: "privacy", Content: []waBinary.Node{
			{Tag: "category", Attrs: waBinary.Attrs{"name": f.Name, "value": f.Value}},
		}})
	})
}

type timelockFields struct {
	Seconds int    `json:"seconds" help:"how long; 0 lifts the lock"`
	Type    string `json:"type" help:"what for, as WhatsApp names it; default DEFAULT"`
}

func actTimelock(_ context.Context, s *Server, p *Phone, f timelockFields) (any, error) {
	if f.Seconds < 0 {
		return nil, invalidField("seconds", "cannot be negative")
	}
	if f.Type == "" {
		f.Type = "DEFAULT"
	}
	type lock struct {
		Type   string `json:"enforcement_type"`
		Active bool   `json:"is_active"`
		Ends   int64  `json:"time_enforcement_ends,string,omitempty"`
	}
	l := lock{Type: f.Type, Active: f.Seconds > 0}
	if l.Active {
		l.Ends = time.Now().Add(time.Duration(f.Seconds) * time.Second).Unix()
	}
	return nil, s.between(p, "to", "", func(a, _ *account) {
		s.mex(a, "NotificationAccountReachoutTimelockUpdate", "xwa2_notify_account_reachout_timelock", l)
	})
}

// mex sends a notification of the kind whose content is JSON. The caller holds
// s.mu.
func (s *Server) mex(a *account, operation, key string, data any) {
	raw, err := json.Marshal(map[string]any{"data": map[string]any{key: data}})
	if err != nil {
		s.log.Error("a notification cannot be encoded", "operation", operation, "error", err)
		return
	}
	s.notify(a, "mex", types.ServerJID, nil, waBinary.Node{Tag: "update", Attrs: waBinary.Attrs{"op_name": operation}, Content: raw})
}
