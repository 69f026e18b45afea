package instance

import (
	"strings"
	"sync"
	"testing"

	"postern/event"
	"postern/instance/webhooks"
)

func TestEventGoesToInstanceAndGlobalWebhook(t *testing.T) {
	for name, c := range map[string]struct {
		global  string
		enabled *bool
		flag    event.Flag
		want    string
	}{
		"both":                          {"http://global", nil, "connectionUpdated", "http://own http://global"},
		"own only":                      {"", nil, "connectionUpdated", "http://own"},
		"the global ignores the flags":  {"http://global", nil, "sendMessage", "http://global"},
		"the global ignores enabled":    {"http://global", new(false), "connectionUpdated", "http://global"},
		"no destination drops silently": {"", new(false), "connectionUpdated", ""},
		"unset flag":                    {"", nil, "sendMessage", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(cfg *Config) { cfg.Webhooks = webhooks.New(webhooks.Config{Store: cfg.Store, GlobalURL: c.global}) }, nil)
			defer r.stop()
			id := r.create("a").ID
			if _, err := r.reg.Webhooks().PutWebhook(bg, id, webhooks.WebhookChange{URL: new("http://own"), Enabled: c.enabled, Events: map[event.Flag]bool{c.flag: true}}); err != nil {
				t.Fatal(err)
			}
			r.report(id, connection(event.TypeConnected, event.ConnectionOpen, event.Online))
			if got := strings.Join(urls(r.one()), " "); got != c.want {
				t.Errorf("went to %q, want %q", got, c.want)
			}
		})
	}
}

func urls(n event.Notice) (urls []string) {
	for _, to := range n.To {
		urls = append(urls, to.URL)
	}
	return urls
}

func TestChangedWebhookAppliesToNextEvent(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	for _, u := range []string{"http://one", "http://two"} {
		r.hook(id, u, "messagesUpsert")
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text(u, "1@s.whatsapp.net", false)})
		if n := urls(r.one()); len(n) != 1 || n[0] != u {
			t.Errorf("%s: went to %v", u, n)
		}
	}
	if _, err := r.reg.Webhooks().PutWebhook(bg, id, webhooks.WebhookChange{Enabled: new(false)}); err != nil {
		t.Fatal(err)
	}
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("three", "1@s.whatsapp.net", false)})
	if n := urls(r.one()); len(n) != 0 {
		t.Errorf("disabled: went to %v", n)
	}
}

// TestOptionsApplyFromTheResponseOn while events are published: no event uses the former options
// after the response.
func TestOptionsApplyFromTheResponseOn(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	r.hook(id, "http://own", "presenceUpdated")
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					r.report(id, event.Fact{Kind: event.PresenceUpdated, Data: event.PresenceUpdate{JID: aPerson}})
				}
			}
		})
	}
	flag := map[event.Flag]bool{"presenceUpdated": true}
	for i := range 50 {
		to := []string{"http://even", "http://odd"}[i%2]
		r.options(id, webhooks.OptionsChange{Endpoints: []webhooks.EndpointChange{{ID: "e", URL: to, Events: flag}}})
		destinations := r.reg.entry(id).Destinations(event.PresenceUpdated, event.About{})
		if len(destinations) != 2 || destinations[1].URL != to {
			t.Fatalf("after the answer an event goes to %+v, want %s", destinations, to)
		}
	}
	close(stop)
	all.Wait()
}
