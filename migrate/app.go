package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"postern/event"
	"postern/instance"
	"postern/instance/webhooks"
	"postern/internal/plural"
	"postern/migrate/table"
)

// Apps are the programs on the client library whose own tables are
// supported, by the names that --app accepts.
var Apps = []string{"codechat-go", "wuzapi", "gowa", "evolution-go"}

// app describes one of them.
type app interface {
	// recognises reports by the tables whether it is this program.
	recognises(ctx context.Context, s *sources) (bool, error)
	// tables are the tables that are read.
	tables() []string
	// instances calls fn with each of its instances.
	instances(ctx context.Context, s *sources, o *Options, fn func(*belonging) error) error
	// messages is the table of messages and its column with the id of the instance.
	messages() (name, owner string)
	// fill adds messages, and other data of large tables, to the accounts of a
	// group, by the ids of their instances.
	fill(ctx context.Context, s *sources, o *Options, group map[string]*Account) error
}

// apps returns the descriptions of Apps, in their order.
func apps() map[string]app {
	return map[string]app{"codechat-go": codechat{}, "wuzapi": wuzapi{}, "gowa": gowa{}, "evolution-go": evolution{}}
}

// detect finds the program by its tables, or uses the named one. nil: it is
// not a supported one.
func detect(ctx context.Context, s *sources, named string) (name string, found app, err error) {
	if named != "" {
		if found = apps()[named]; found == nil {
			return "", nil, fmt.Errorf("--app must be one of %s, not %.100q", strings.Join(Apps, ", "), named)
		}
		is, err := found.recognises(ctx, s)
		if err == nil && !is {
			err = fmt.Errorf("the tables of %s are missing; give the file or dump that has them with another --from, or omit --app to import only the devices", named)
		}
		return named, found, err
	}
	for _, name := range Apps {
		is, err := apps()[name].recognises(ctx, s)
		if err != nil || is {
			return name, apps()[name], err
		}
	}
	return "", nil, nil
}

// belonging is an instance of another program: its imported data and its
// device.
type belonging struct {
	id   string // the program's own
	name string
	jid  string // of its device or account; empty: it was never paired

	token  string
	parts  instance.Import // without name, owner and token
	kept   []string
	left   []string
	bodies bool // its webhooks had other bodies than ours
}

func (b *belonging) keep(format string, args ...any) {
	b.kept = append(b.kept, fmt.Sprintf(format, args...))
}

func (b *belonging) leave(format string, args ...any) {
	b.left = append(b.left, fmt.Sprintf(format, args...))
}

// shownValue is the maximum length of a shown unsupported value.
const shownValue = 80

// rest lists the columns of a row that have values and were not read. Those
// with secrets are named without their value.
func (b *belonging) rest(r *table.Row, known ...string) {
	for i, name := range r.Columns {
		if i >= len(r.Values) || slices.Contains(known, name) || isNothing(r.Values[i]) {
			continue
		}
		if isSecret(name) {
			b.leave("%s.%s", r.Table, name)
			continue
		}
		b.leave("%s.%s = %s", r.Table, name, cut(r.Text(name), shownValue))
	}
}

// isNothing reports whether a value is empty: its program never set it.
func isNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case int64:
		return v == 0
	case string:
		return slices.Contains([]string{"", "f", "false", "0", "{}", "[]", "null"}, v)
	case []byte:
		return len(v) == 0
	}
	return false
}

func isSecret(column string) bool {
	column = strings.ToLower(column)
	return slices.ContainsFunc([]string{"key", "secret", "token", "password", "proxy", "auth", "cred", "url", "qrcode"}, func(word string) bool { return strings.Contains(column, word) })
}

// webhook imports a webhook, unless it breaks a rule.
func (b *belonging) webhook(o *Options, url string, enabled bool, events map[event.Flag]bool) {
	if url == "" {
		return
	}
	c := webhooks.WebhookChange{URL: &url, Enabled: &enabled, Events: events}
	if err := o.Rules.Webhook(c); err != nil {
		b.leave("the webhook: %v", err)
		return
	}
	b.parts.Webhook = &c
	state := ""
	if !enabled {
		state = ", disabled"
	}
	b.keep("webhook with %s%s", plural.Of(len(events), "event"), state)
}

// headers imports the headers of a webhook, which are in JSON.
func (b *belonging) headers(o *Options, raw string) {
	if isNothing(raw) {
		return
	}
	var headers map[string]string
	if err := json.Unmarshal([]byte(raw), &headers); err != nil {
		b.leave("the webhook's headers: they are not a JSON object of texts")
		return
	}
	c := webhooks.OptionsChange{Headers: headers}
	if b.parts.Options != nil {
		c = *b.parts.Options
		c.Headers = headers
	}
	if err := o.Rules.Options(c); err != nil {
		b.leave("the webhook's headers: %v", err)
		return
	}
	b.parts.Options = &c
	b.keep("%s of the webhook", plural.Of(len(headers), "header"))
}

// proxy imports a proxy.
func (b *belonging) proxy(o *Options, url string) {
	if url == "" {
		return
	}
	c := instance.ProxyChange{URL: url}
	if err := o.Rules.Proxy(c); err != nil {
		b.leave("the proxy: %v", err)
		return
	}
	b.parts.Proxy = &c
	b.keep("proxy")
}

// settings imports settings, unless they are the defaults.
func (b *belonging) settings(o *Options, s instance.Settings, what ...string) {
	if len(what) == 0 {
		return
	}
	if err := o.Rules.Settings(s); err != nil {
		b.leave("the settings: %v", err)
		return
	}
	b.parts.Settings = &s
	b.keep("settings: %s", strings.Join(what, ", "))
}

// every returns all flags of events.
func every() map[event.Flag]bool {
	all := map[event.Flag]bool{}
	for _, d := range event.Catalogue() {
		if d.Flag != "" {
			all[d.Flag] = true
		}
	}
	return all
}

// flags maps a program's comma-separated event names to ours, and lists those
// without a counterpart. all is its name for all of them.
func (b *belonging) flags(names, all string, known map[string][]event.Flag) map[event.Flag]bool {
	set := map[event.Flag]bool{}
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		switch ours, has := known[name]; {
		case name == "":
		case strings.EqualFold(name, all):
			return every()
		case !has:
			b.leave("the webhook's event %s", cut(name, shownValue))
		default:
			for _, f := range ours {
				set[f] = true
			}
		}
	}
	return set
}

// text returns a message of which a program stored only the text.
func text(kind, content string) (messageType string, raw json.RawMessage) {
	body, err := json.Marshal(map[string]string{"text": content})
	if err != nil {
		return "", nil
	}
	if kind == "" {
		kind = "conversation"
	}
	return kind, body
}
