package app

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/config"
	"postern/event"
)

// configured returns the program in this process with a changed configuration.
func configured(t *testing.T, change func(*config.Config)) *socketRig {
	t.Helper()
	cfg := config.Default()
	cfg.Server.Listen = "127.0.0.1:0"
	cfg.Store.Path = filepath.Join(t.TempDir(), "p.db")
	change(cfg)
	sec := config.NewSecrets()
	s := &socketRig{t: t, key: consumer.Key(sec.GlobalAuthToken), owner: uuid.New()}
	s.run(cfg, sec)
	return s
}

func (s *socketRig) must(cred consumer.Credential, method, path string, in, out any) {
	s.t.Helper()
	if err := s.api.Call(s.t.Context(), cred, method, path, in, out); err != nil {
		s.t.Fatal(err)
	}
}

func TestInstanceTokenExpiresAsConfigured(t *testing.T) {
	s := configured(t, func(c *config.Config) { c.Authentication.JWTExpiresIn = 60 })
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(s.instance("a"), ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ Iat, Exp int64 }
	if err := json.Unmarshal(raw, &c); err != nil || c.Iat == 0 || c.Exp-c.Iat != 60 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestDenyPrivateRefusesPrivateReceivers(t *testing.T) {
	var reached atomic.Int32
	witness := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer witness.Close()
	named := strings.Replace(witness.URL, "127.0.0.1", "localhost", 1)
	for _, deny := range []bool{false, true} {
		s := configured(t, func(c *config.Config) { c.Webhook.DenyPrivate = deny })
		token := consumer.Bearer(s.instance("a"))
		if err := s.api.Call(t.Context(), token, http.MethodPut, "/instance/a/webhook", map[string]string{"url": witness.URL}, nil); (err != nil) != deny {
			t.Errorf("deny_private %t: a literal address: %v", deny, err)
		}
		s.must(token, http.MethodPut, "/instance/a/webhook", map[string]string{"url": named}, nil) // judged when it is dialled
		before := reached.Load()
		var got struct{ Delivered bool }
		s.must(token, http.MethodPost, "/instance/a/webhook/test", map[string]string{"event": "call.upsert"}, &got)
		if got.Delivered == deny || (reached.Load() > before) == deny {
			t.Errorf("deny_private %t: delivered %t, reached %d times", deny, got.Delivered, reached.Load()-before)
		}
	}
}

func TestBatchEventsWithoutGlobalWebhookAreDisabled(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		s := configured(t, func(c *config.Config) {
			c.Webhook.GlobalURL, c.Webhook.GlobalEnabled = "http://127.0.0.1:1/", enabled
		})
		s.emit(event.BatchCreated)
		var disabled, pending struct{ TotalRecords int }
		s.must(s.key, http.MethodGet, "/outbox?state=disabled", nil, &disabled)
		s.must(s.key, http.MethodGet, "/outbox?state=pending", nil, &pending)
		if disabled.TotalRecords == 1 == enabled || pending.TotalRecords == 1 != enabled {
			t.Errorf("enabled %t: %d disabled, %d pending", enabled, disabled.TotalRecords, pending.TotalRecords)
		}
	}
}

// TestPersistenceSettingsGateTheirEvents reports a message, a
// receipt for it and a contact, with one gate shut after the other.
func TestPersistenceSettingsGateTheirEvents(t *testing.T) {
	all := []event.Kind{event.MessagesUpsert, event.MessagesUpdate, event.ContactsUpsert}
	for name, c := range map[string]struct {
		shut   func(*config.Config)
		closed []event.Kind
	}{
		"none":           {func(*config.Config) {}, nil},
		"new messages":   {func(c *config.Config) { c.Database.SaveNewMessage = false }, []event.Kind{event.MessagesUpsert, event.MessagesUpdate}},
		"message update": {func(c *config.Config) { c.Database.SaveMessageUpdate = false }, []event.Kind{event.MessagesUpdate}},
		"contacts":       {func(c *config.Config) { c.Database.SaveContacts = false }, []event.Kind{event.ContactsUpsert}},
	} {
		t.Run(name, func(t *testing.T) {
			reported := map[string]int{}
			var mu sync.Mutex
			hook := httptest.NewServer(consumer.Receive(http.StatusOK, func(r consumer.Webhook) {
				mu.Lock()
				defer mu.Unlock()
				reported[r.Event]++
			}))
			defer hook.Close()
			s := configured(t, func(cfg *config.Config) {
				cfg.Webhook.GlobalURL, cfg.Webhook.GlobalEnabled = hook.URL, true
				c.shut(cfg)
			})
			s.instance("a")
			anne, jid := "Anne", "4915155500002@"+event.UserServer
			for _, f := range []event.Fact{
				{Kind: event.MessagesUpsert, Data: &event.Message{KeyID: "K", KeyRemoteJID: &jid, KeyFromMe: true, MessageType: "conversation", Content: json.RawMessage(`{"text":"x"}`)}},
				{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"K"}, Status: event.StatusRead}},
				{Kind: event.ContactsUpsert, Data: event.ContactChange{JID: jid, Source: event.SourcePushName, PushName: &anne}},
			} {
				_ = s.registry.Report(t.Context(), 1, f) // a shut gate is no error of the test
			}
			if err := s.Stop(t.Context()); err != nil { // delivers what is queued
				t.Fatal(err)
			}
			for _, k := range all {
				want := 1
				if slices.Contains(c.closed, k) {
					want = 0
				}
				if got := reported[string(k)]; got != want {
					t.Errorf("%s: reported %d times, want %d", k, got, want)
				}
			}
		})
	}
}
