package sandbox

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
)

// peopleActs are what people change about themselves and show of themselves.
func peopleActs() []act {
	return []act{
		row("presence", "the phone's user comes online or goes", actPresence),
		row("chat-presence", "the phone's user types, records or stops", actChatPresence),
		row("picture", "the phone's user changes the own picture or a group's", actPicture),
		row("about", "the phone's user changes the about text", actAbout),
		row("identity-change", "the phone's user moves to a new phone, with new keys; the linked devices are removed", actIdentityChange),
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
	LastSeen string `json:"lastSeen" help:"when going, the time that is shown, RFC 3339, or hidden; missing: now"`
}

func actPresence(_ context.Context, s *Server, p *Phone, f presenceFields) (any, error) {
	shown := presence{known: true, online: f.Online, last: time.Now()}
	switch f.LastSeen {
	case "":
	case "hidden":
		shown.last = time.Time{}
	default:
		last, err := time.Parse(time.RFC3339, f.LastSeen)
		if err != nil {
			return nil, invalidField("lastSeen", "is neither a time such as 2026-01-31T12:00:00Z nor hidden")
		}
		shown.last = last
	}
	return nil, s.between(p, "to", f.To, func(from, to *account) {
		s.showPresence(from, shown)
		if f.To != "" {
			s.presenceTo(to, from)
		}
	})
}

// presenceTo shows a presence to the devices that did not ask for it; those
// that did have it already.
func (s *Server) presenceTo(to, of *account) {
	for _, d := range to.sorted() {
		if _, asked := s.watchers[of][d]; !asked && d.conn != nil && d.active {
			d.conn.send(presenceNode(of.lid, of.presence))
		}
	}
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
			attrs = waBinary.Attrs{"from": group, "participant": from.lid, "participant_pn": from.pn, "addressing_mode": "lid"}
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
	data, err := f.data()
	if err != nil {
		return nil, err
	}
	var id string
	err = s.between(p, "to", f.To, func(from, to *account) {
		var shown []*account
		if to != from {
			shown = append(shown, to)
		}
		if group.IsEmpty() {
			id = s.changeOwnPicture(from, data, shown)
		} else {
			id = s.changeGroupPicture(from, group, data, shown)
		}
	})
	return map[string]string{"pictureId": id}, err
}

// data is the picture; none when it is to be removed.
func (f pictureFields) data() ([]byte, error) {
	if f.Remove {
		return nil, nil
	}
	if f.Image == "" {
		return greyJPEG(), nil
	}
	data, err := base64.StdEncoding.DecodeString(f.Image)
	if err != nil || !isPicture(data) {
		return nil, invalidField("image", "is not a JPEG in base64")
	}
	return data, nil
}

type aboutFields struct {
	To   string `json:"to" help:"an account that is told: a number or an address; the own devices are always told"`
	Text string `json:"text" help:"the text; empty removes it"`
}

func actAbout(_ context.Context, s *Server, p *Phone, f aboutFields) (any, error) {
	return nil, s.between(p, "to", f.To, func(from, to *account) {
		s.changeAbout(from, nil, f.Text)
		if to != from {
			s.notify(to, "status", from.lid, nil, waBinary.Node{Tag: "set", Content: []byte(f.Text)})
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
	if err := s.between(p, "to", f.To, func(_, _ *account) {}); err != nil {
		return nil, err
	}
	if err := p.replaceKeys(); err != nil {
		return nil, err
	}
	s.Unlink(p.Number())
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
		return nil, s.between(p, "target", f.Target, func(a, target *account) { s.changeBlocked(a, target, nil, f.Action == "block") })
	default:
		return nil, invalidField("action", "is not block or unblock")
	}
}

type privacyFields struct {
	Name  string `json:"name" help:"groupadd, last, status, profile, readreceipts, online, calladd, messages, defense or stickers"`
	Value string `json:"value" help:"what the setting allows: all, contacts, contact_blacklist, contact_allowlist, match_last_seen, known, on_standard, off or none"`
}

func actPrivacy(_ context.Context, s *Server, p *Phone, f privacyFields) (any, error) {
	values := privacyValues(f.Name)
	if values == nil {
		return nil, invalidField("name", "is not one of "+strings.Join(privacyNames(), ", "))
	}
	if !slices.Contains(values, f.Value) {
		return nil, invalidField("value", "is not one of "+strings.Join(values, ", "))
	}
	return nil, s.between(p, "to", "", func(a, _ *account) { s.changePrivacy(a, nil, f.Name, f.Value) })
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
		s.mex(a, nil, "NotificationAccountReachoutTimelockUpdate", "xwa2_notify_account_reachout_timelock", l)
	})
}
