package instance

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"postern/event"
	"postern/instance/webhooks"
	"postern/messages"
)

const (
	aGroup      = "120363000000000001@g.us"
	aNewsletter = "120363012345678901@newsletter"
	aList       = "1700000000@broadcast"
	aPerson     = "4915112345678@s.whatsapp.net"
	aHidden     = "133742133742133@lid"
)

// inChat returns an incoming message of a chat.
func inChat(keyID, chat string, mine bool) *event.Message { return text(keyID, chat, mine) }

// byList returns a message that a person sent to a broadcast list.
func byList(keyID string) *event.Message {
	m := text(keyID, aPerson, false)
	m.Metadata = json.RawMessage(`{"broadcast":"` + aList + `"}`)
	return m
}

// TestFilterExcludesEvents from the webhook and the endpoints. The event still goes to the global
// webhook, and the message is stored.
func TestFilterExcludesEvents(t *testing.T) {
	all := webhooks.Filter{Groups: true, Status: true, Newsletters: true, Broadcasts: true, FromMe: true}
	without := func(change func(*webhooks.Filter)) webhooks.Filter {
		f := all
		change(&f)
		return f
	}
	filters := map[string]webhooks.Filter{
		"groups":      without(func(f *webhooks.Filter) { f.Groups = false }),
		"status":      without(func(f *webhooks.Filter) { f.Status = false }),
		"newsletters": without(func(f *webhooks.Filter) { f.Newsletters = false }),
		"broadcasts":  without(func(f *webhooks.Filter) { f.Broadcasts = false }),
		"fromMe":      without(func(f *webhooks.Filter) { f.FromMe = false }),
	}
	upsert := func(m *event.Message) event.Fact { return event.Fact{Kind: event.MessagesUpsert, Data: m} }
	cases := map[string]struct {
		fact event.Fact
		by   []string // the filters that keep it back
	}{
		"a message of a person":            {upsert(inChat("1", aPerson, false)), nil},
		"a message of a hidden person":     {upsert(inChat("2", aHidden, false)), nil},
		"a message in a group":             {upsert(inChat("3", aGroup, false)), []string{"groups"}},
		"an own message in a group":        {upsert(inChat("4", aGroup, true)), []string{"groups", "fromMe"}},
		"an own message to a person":       {upsert(inChat("5", aPerson, true)), []string{"fromMe"}},
		"a status":                         {upsert(inChat("6", event.StatusBroadcast, false)), []string{"status"}},
		"an own status":                    {upsert(inChat("7", event.StatusBroadcast, true)), []string{"status", "fromMe"}},
		"a message in a newsletter":        {upsert(inChat("8", aNewsletter, false)), []string{"newsletters"}},
		"an own message to a list":         {upsert(inChat("9", aList, true)), []string{"broadcasts", "fromMe"}},
		"a person's message by a list":     {upsert(byList("10")), []string{"broadcasts"}},
		"what the API sends to a person":   {event.Fact{Kind: event.SendMessage, Data: inChat("11", aPerson, true)}, nil},
		"news of a newsletter":             {event.Fact{Kind: event.NewsLetter, Data: event.NewsletterUpdate{Type: event.NewsletterJoin, NewsletterJID: aNewsletter}}, []string{"newsletters"}},
		"news of a newsletter not named":   {event.Fact{Kind: event.NewsLetter, Data: event.NewsletterUpdate{Type: event.NewsletterJoin}}, []string{"newsletters"}},
		"a group's new subject":            {event.Fact{Kind: event.GroupsUpdate, Data: []event.GroupUpdate{{Partial: event.GroupPartial{ID: aGroup, Subject: "s"}}}}, []string{"groups"}},
		"somebody who types in a group":    {event.Fact{Kind: event.PresenceUpdated, Data: event.PresenceUpdate{ChatJID: aGroup, JID: aPerson}}, []string{"groups"}},
		"somebody who types":               {event.Fact{Kind: event.PresenceUpdated, Data: event.PresenceUpdate{JID: aPerson}}, nil},
		"a deleted message of one's own":   {event.Fact{Kind: event.MessagesDelete, Data: event.MessageDelete{ChatJID: aPerson, MessageID: "5", KeyFromMe: true}}, nil},
		"a connection":                     {connection(event.TypeConnected, event.ConnectionOpen, event.Online), nil},
		"a call in a group":                {event.Fact{Kind: event.CallUpsert, Data: event.Call{ChatID: aGroup}}, []string{"groups"}},
		"a chat that was archived, a list": {event.Fact{Kind: event.ChatsUpdated, Data: event.ChatUpdate{ChatJID: aList}}, []string{"broadcasts"}},
	}
	flags := map[event.Flag]bool{}
	for _, d := range event.Catalogue() {
		if d.Family == event.Instance {
			flags[d.Flag] = true
		}
	}
	for filter, f := range filters {
		r := newRig(t, func(cfg *Config) {
			cfg.Webhooks = webhooks.New(webhooks.Config{Store: cfg.Store, GlobalURL: "http://global"})
		}, nil)
		id := r.create("a").ID
		if _, err := r.reg.Webhooks().PutWebhook(bg, id, webhooks.WebhookChange{URL: new("http://own"), Events: flags}); err != nil {
			t.Fatal(err)
		}
		r.options(id, webhooks.OptionsChange{Filter: &f, Endpoints: []webhooks.EndpointChange{{ID: "e", URL: "http://further", Events: flags}}})
		for name, c := range cases {
			r.report(id, c.fact)
			want := "http://own http://further http://global"
			if slices.Contains(c.by, filter) {
				want = "http://global"
			}
			if got := strings.Join(urls(r.one()), " "); got != want {
				t.Errorf("without %s, %s goes to %q, want %q", filter, name, got, want)
			}
			if m, ok := c.fact.Data.(*event.Message); ok && !r.has(id, m.KeyID) {
				t.Errorf("without %s, %s is not stored", filter, name)
			}
		}
		r.stop()
	}
}

// has reports whether a message is stored.
func (r *rig) has(id int64, keyID string) (found bool) {
	r.Helper()
	_, err := r.archive.MessageByKey(id, keyID)
	if err != nil && !errors.Is(err, messages.ErrNoMessage) {
		r.Fatal(err)
	}
	return err == nil
}
