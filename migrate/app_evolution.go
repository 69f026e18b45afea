package migrate

import (
	"context"
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strings"

	"postern/event"
	"postern/instance"
	"postern/migrate/table"
)

// evolution is evolution-go, with its instances in one PostgreSQL database and the
// library's store in another.
type evolution struct{}

func (evolution) recognises(ctx context.Context, s *sources) (bool, error) {
	columns, err := s.columns(ctx, "instances")
	return slices.Contains(columns, "token") && slices.Contains(columns, "jid") && slices.Contains(columns, "webhook"), err
}

func (evolution) tables() []string { return []string{"instances"} }

func (evolution) messages() (name, owner string) { return "", "" }

// evolutionEvents are its names of events.
var evolutionEvents = map[string][]event.Flag{
	"MESSAGE": {"messagesUpsert"}, "SEND_MESSAGE": {"sendMessage"}, "READ_RECEIPT": {"messagesUpdated"}, "PRESENCE": {"presenceUpdated"}, "CHAT_PRESENCE": {"presenceUpdated"},
	"HISTORY_SYNC": {"historySync"}, "CALL": {"callUpsert"}, "CONNECTION": {"connectionUpdated", "statusInstance"}, "QRCODE": {"qrcodeUpdated"},
	"LABEL": {"labelsEdit", "labelsAssociation"}, "CONTACT": {"contactsUpsert", "contactsUpdated"}, "GROUP": {"groupsUpsert", "groupsUpdated", "groupsParticipantsUpdated"},
	"NEWSLETTER": {"newsLetter"},
}

func (evolution) instances(ctx context.Context, s *sources, o *Options, fn func(*belonging) error) error {
	return s.rows(ctx, "instances", func(r *table.Row) error {
		b := &belonging{id: r.Text("id"), name: r.Text("name"), jid: r.Text("jid"), token: r.Text("token"), bodies: true}
		b.webhook(o, r.Text("webhook"), true, b.flags(r.Text("events"), "ALL", evolutionEvents))
		b.evolutionProxy(o, r.Text("proxy"))
		b.evolutionSettings(o, r)
		b.rest(
			r, "id", "name", "token", "webhook", "jid", "qrcode", "connected", "expiration", "disconnect_reason", "events", "os_name", "proxy", "client_name", "created_at",
			"always_online", "reject_call", "msg_reject_call", "read_messages", "ignore_groups", "ignore_status",
		)
		if r.Err() != nil {
			return r.Err()
		}
		return fn(b)
	})
}

func (b *belonging) evolutionSettings(o *Options, r *table.Row) {
	var s instance.Settings
	var what []string
	for _, set := range []struct {
		column, what string
		to           *bool
	}{
		{"always_online", "always online", &s.AlwaysOnline},
		{"reject_call", "calls are rejected", &s.RejectCalls.Enabled},
		{"read_messages", "messages are read", &s.ReadMessages},
		{"ignore_groups", "groups are ignored", &s.Ignore.Groups},
		{"ignore_status", "statuses are ignored", &s.Ignore.Status},
	} {
		if *set.to = r.Bool(set.column); *set.to {
			what = append(what, set.what)
		}
	}
	if s.RejectCalls.Enabled {
		s.RejectCalls.Message = r.Text("msg_reject_call")
	}
	b.settings(o, s, what...)
}

// evolutionProxy imports a proxy in JSON.
func (b *belonging) evolutionProxy(o *Options, raw string) {
	if isNothing(raw) {
		return
	}
	var p struct {
		Protocol, Host, Port, Username, Password string
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(raw), &fields); err != nil {
		b.leave("the proxy: it is not a JSON object")
		return
	}
	for name, to := range map[string]*string{"protocol": &p.Protocol, "host": &p.Host, "port": &p.Port, "username": &p.Username, "password": &p.Password} {
		switch v := fields[name].(type) {
		case string:
			*to = v
		case float64:
			number, _ := json.Marshal(v)
			*to = string(number)
		}
	}
	if p.Host == "" {
		return
	}
	if p.Protocol == "" {
		p.Protocol = "http"
	}
	u := url.URL{Scheme: strings.ToLower(p.Protocol), Host: net.JoinHostPort(p.Host, p.Port)}
	if p.Username != "" {
		u.User = url.UserPassword(p.Username, p.Password)
	}
	b.proxy(o, u.String())
}

// fill does nothing: the program stores only ids and states of messages.
func (evolution) fill(context.Context, *sources, *Options, map[string]*Account) error { return nil }

// isPerson reports whether a JID is a person's.
func isPerson(jid string) bool {
	return strings.HasSuffix(jid, "@s.whatsapp.net") || strings.HasSuffix(jid, "@lid")
}
