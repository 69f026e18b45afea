package sandbox

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

// peopleActs change what people show of themselves.
func peopleActs() []act {
	return []act{
		row("presence", "the phone's user goes online or offline", actPresence),
		row("chat-presence", "the phone's user types, records or stops", actChatPresence),
		row("picture", "the phone's user changes the own picture or a group's", actPicture),
		row("about", "the phone's user changes the about text", actAbout),
		row("identity-change", "the phone's user moves to a new phone, with new keys; the linked devices are removed", actIdentityChange),
		row("push-name", "the phone's user changes the name; with to, a message shows it", actPushName),
		row("business-name", "the phone becomes a business of this name; with to, a message shows it", actBusinessName),
		row("blocklist", "the phone's user blocks or unblocks a person", actBlocklist),
		row("privacy", "the phone's user changes a privacy setting", actPrivacy),
		row("status-privacy", "the phone's user chooses who sees the own statuses", actStatusPrivacy),
		row("view-status", "the phone's user views statuses of an account, which gets read receipts", actViewStatus),
		row("reachout-timelock", "until it is lifted, WhatsApp refuses with 463 the account's messages to people who neither wrote to it nor gave it a privacy token", actTimelock),
		row("privacy-token", "the phone's user gives a person a privacy token, which allows messages from a stranger", actPrivacyToken),
	}
}

type presenceFields struct {
	To       string `json:"to" help:"an account that is notified even without a subscription: a number or an address"`
	Online   bool   `json:"online" help:"true: online; false: offline"`
	LastSeen string `json:"lastSeen" help:"when going offline, the time to show, RFC 3339, or hidden; missing: now"`
}

func actPresence(_ context.Context, s *network.Server, p *phone.Phone, f presenceFields) (any, error) {
	last := time.Now()
	switch f.LastSeen {
	case "":
	case "hidden":
		last = time.Time{}
	default:
		var err error
		if last, err = time.Parse(time.RFC3339, f.LastSeen); err != nil {
			return nil, invalidField("lastSeen", "is neither a time such as 2026-01-31T12:00:00Z nor hidden")
		}
	}
	return nil, towards(p, "to", f.To, func(from, to types.JID) error {
		return s.ShowPresence(from, ifNamed(f.To, to), f.Online, last)
	})
}

type chatPresenceFields struct {
	To    string `json:"to" help:"the account that sees it: a number or an address"`
	State string `json:"state" help:"composing, recording or paused"`
	Group string `json:"group" help:"the group, an address; missing: the direct chat"`
}

func actChatPresence(_ context.Context, s *network.Server, p *phone.Phone, f chatPresenceFields) (any, error) {
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
	return nil, towards(p, "to", f.To, func(from, to types.JID) error { return s.ShowChatState(from, to, group, state) })
}

type pictureFields struct {
	To     string `json:"to" help:"an account that is also notified: a number or an address"`
	Group  string `json:"group" help:"the group of the picture, an address; missing: the own picture"`
	Remove bool   `json:"remove" help:"remove the picture"`
	Image  string `json:"image" help:"a JPEG in base64; missing: a small grey one"`
}

func actPicture(_ context.Context, s *network.Server, p *phone.Phone, f pictureFields) (any, error) {
	group, err := groupAddress("group", f.Group)
	if err != nil {
		return nil, err
	}
	data, err := f.data()
	if err != nil {
		return nil, err
	}
	var id string
	err = towards(p, "to", f.To, func(from, to types.JID) (err error) {
		id, err = s.ChangePicture(from, group, to, data)
		return err
	})
	return map[string]string{"pictureId": id}, err
}

// data returns the picture, nil to remove it.
func (f pictureFields) data() ([]byte, error) {
	if f.Remove {
		return nil, nil
	}
	if f.Image == "" {
		return greyJPEG(), nil
	}
	data, err := base64.StdEncoding.DecodeString(f.Image)
	if err != nil || !network.IsPicture(data) {
		return nil, invalidField("image", "is not a JPEG in base64")
	}
	return data, nil
}

type aboutFields struct {
	To   string `json:"to" help:"an account that is notified: a number or an address; the own devices always are"`
	Text string `json:"text" help:"the text; empty removes it"`
}

func actAbout(_ context.Context, s *network.Server, p *phone.Phone, f aboutFields) (any, error) {
	return nil, towards(p, "to", f.To, func(from, to types.JID) error { return s.ChangeAbout(from, to, f.Text) })
}

type toFields struct {
	To string `json:"to" help:"the account that is notified: a number or an address"`
}

func actIdentityChange(_ context.Context, s *network.Server, p *phone.Phone, f toFields) (any, error) {
	if f.To == "" {
		return nil, invalidField("to", "is missing")
	}
	return nil, towards(p, "to", f.To, s.ReplacePhone)
}

type nameFields struct {
	To   string `json:"to" help:"an account that gets a message with the name: a number or an address"`
	Name string `json:"name" help:"the name"`
}

func actPushName(ctx context.Context, s *network.Server, p *phone.Phone, f nameFields) (any, error) {
	return underName(ctx, s, p, f, s.Rename)
}

func actBusinessName(ctx context.Context, s *network.Server, p *phone.Phone, f nameFields) (any, error) {
	return underName(ctx, s, p, f, s.SetBusiness)
}

// underName changes a name, and sends a message with it if a recipient is given.
func underName(ctx context.Context, s *network.Server, p *phone.Phone, f nameFields, change func(of types.JID, name string) error) (any, error) {
	if f.Name == "" {
		return nil, invalidField("name", "is missing")
	}
	err := towards(p, "to", f.To, func(from, to types.JID) error {
		if _, _, ok := s.IdentityOf(to); !ok {
			return phone.ErrNoAccount
		}
		return change(from, f.Name)
	})
	if err != nil || f.To == "" {
		return nil, err
	}
	return actText(ctx, s, p, textFields{To: f.To, Text: "I am " + f.Name})
}

type blocklistFields struct {
	Action string `json:"action" help:"block or unblock; missing: the complete list is reported as changed"`
	Target string `json:"target" help:"with action, the person: a number or an address"`
}

func actBlocklist(_ context.Context, s *network.Server, p *phone.Phone, f blocklistFields) (any, error) {
	switch f.Action {
	case "":
		return nil, s.AnnounceBlocklist(p.JID())
	case "block", "unblock":
		if f.Target == "" {
			return nil, invalidField("target", "is missing")
		}
		return nil, towards(p, "target", f.Target, func(from, target types.JID) error { return s.ChangeBlocked(from, target, f.Action == "block") })
	default:
		return nil, invalidField("action", "is not block or unblock")
	}
}

type privacyFields struct {
	Name  string `json:"name" help:"groupadd, last, status, profile, readreceipts, online, calladd, messages, defense or stickers"`
	Value string `json:"value" help:"the value: all, contacts, contact_blacklist, contact_allowlist, match_last_seen, known, on_standard, off or none"`
}

func actPrivacy(_ context.Context, s *network.Server, p *phone.Phone, f privacyFields) (any, error) {
	values := network.PrivacyValues(f.Name)
	if values == nil {
		return nil, invalidField("name", "is not one of "+strings.Join(network.PrivacyNames(), ", "))
	}
	if !slices.Contains(values, f.Value) {
		return nil, invalidField("value", "is not one of "+strings.Join(values, ", "))
	}
	return nil, s.SetPrivacy(p.JID(), f.Name, f.Value)
}

type statusPrivacyFields struct {
	Type  string   `json:"type" help:"contacts, blacklist (all contacts but users) or whitelist (only users)"`
	Users []string `json:"users" help:"the people of the list: numbers"`
}

func actStatusPrivacy(_ context.Context, s *network.Server, p *phone.Phone, f statusPrivacyFields) (any, error) {
	if !slices.Contains([]string{"contacts", "blacklist", "whitelist"}, f.Type) {
		return nil, invalidField("type", "is not one of contacts, blacklist, whitelist")
	}
	return nil, s.SetStatusPrivacy(p.JID(), f.Type, f.Users)
}

type viewFields struct {
	From string   `json:"from" help:"the author of the statuses: a number or an address"`
	IDs  []string `json:"ids" help:"the message ids of the statuses"`
}

func actViewStatus(ctx context.Context, _ *network.Server, p *phone.Phone, f viewFields) (any, error) {
	if len(f.IDs) == 0 {
		return nil, invalidField("ids", "is missing")
	}
	author, err := address("from", f.From)
	if err != nil {
		return nil, err
	}
	return nil, p.ViewStatus(ctx, author, f.IDs...)
}

type timelockFields struct {
	Seconds int    `json:"seconds" help:"the duration; 0 lifts the lock"`
	Type    string `json:"type" help:"WhatsApp's name of the reason; default DEFAULT"`
	Silent  bool   `json:"silent" help:"send no notice: only the refusals show it"`
}

func actTimelock(_ context.Context, s *network.Server, p *phone.Phone, f timelockFields) (any, error) {
	if f.Seconds < 0 {
		return nil, invalidField("seconds", "cannot be negative")
	}
	if f.Type == "" {
		f.Type = "DEFAULT"
	}
	var ends time.Time
	if f.Seconds > 0 {
		ends = time.Now().Add(time.Duration(f.Seconds)*time.Second + time.Second - 1) // rounded up to seconds
	}
	return nil, s.Timelock(p.JID(), network.Lock{Kind: f.Type, Ends: ends, Silent: f.Silent})
}

func actPrivacyToken(_ context.Context, s *network.Server, p *phone.Phone, f toFields) (any, error) {
	if f.To == "" {
		return nil, invalidField("to", "is missing")
	}
	return nil, towards(p, "to", f.To, s.GiveToken)
}
