package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"

	"postern/batch"
	"postern/console/feed"
	"postern/delivery"
	"postern/httpapi/instances"
	"postern/httpapi/openapi"
	"postern/httpapi/sockets"
)

func TestConsoleSocketChecksAreInOrder(t *testing.T) {
	r := newRig(t)
	key := func(h http.Header) { h.Set("Apikey", testKey) }
	bearing := func(token string) func(http.Header) {
		return func(h http.Header) { h.Set("Authorization", "Bearer "+token) }
	}
	for _, c := range []struct {
		name, target string
		edit         func(http.Header)
		status       int
		code         string
	}{
		{"no key and nothing else right", "/ws/console?x=1", func(h http.Header) { h.Del("Upgrade") }, 401, "UNAUTHORIZED"},
		{"a wrong key", "/ws/console", func(h http.Header) { h.Set("Apikey", "wrong") }, 401, "UNAUTHORIZED"},
		{"a user's token", "/ws/console", bearing(r.token), 401, "UNAUTHORIZED"},
		{"an instance's token", "/ws/console", bearing(r.instance("a")), 401, "UNAUTHORIZED"},
		{"the key in the query, where logs of proxies have it", "/ws/console?apikey=" + testKey, nil, 401, "UNAUTHORIZED"},
		{"no upgrade", "/ws/console?x=1", func(h http.Header) { key(h); h.Del("Upgrade") }, 426, "UPGRADE_REQUIRED"},
		{"a query", "/ws/console?x=1", key, 400, "INVALID_QUERY"},
		{"a foreign origin", "/ws/console", func(h http.Header) { key(h); h.Set("Origin", "https://evil.example") }, 403, "ORIGIN_REFUSED"},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, do(r.h, handshakeOf(c.target, c.edit)), c.status, c.code) })
	}
	r.hub.err = sockets.ErrTooManySockets
	wantError(t, do(r.h, handshakeOf("/ws/console", key)), 429, "LIMIT_REACHED")
	r.hub.err = nil
	if res := do(r.h, handshakeOf("/ws/console", key)); res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("with everything right: %d", res.StatusCode)
	}
	if v := r.hub.viewer; !v.Figures || !v.Webhooks || v.Instance == nil || !v.Instance("a") || r.hub.stream.Token != sha256.Sum256([]byte(testKey)) {
		t.Errorf("the operator is let see %+v", v)
	}
	for instances, figures := range map[string]bool{`["a"]`: false, `["*"]`: true} {
		k := r.newKey(`{"name":"k","instances":` + instances + `,"scopes":["read","metrics"]}`)
		if res := do(r.h, handshakeOf("/ws/console", bearing(k.Key))); res.StatusCode != http.StatusSwitchingProtocols || r.hub.viewer.Figures != figures {
			t.Errorf("a key of %s: %s, sees the program's figures: %v", instances, res.Status, r.hub.viewer.Figures)
		}
	}
}

// TestConsoleMessagesMatchTheDocument: every message matches the type from which the document is made, and no instance
// includes its token.
func TestConsoleMessagesMatchTheDocument(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	rec, err := r.registry.ByName("a")
	if err != nil {
		t.Fatal(err)
	}
	made := decoded[batch.View](t, r.do("POST", "/message/batches", batchBody("", "")))
	f := feed.New(feed.Config{
		Instance: func(int64, bool) (string, any, bool) {
			return rec.Name, ConsoleInstance(rec, nil, instances.Facts{}), true
		},
		Batch:      func(uuid.UUID, func(int64) bool) (uuid.UUID, any, bool) { return r.user, made, true },
		Deliveries: func([]uint64) []any { return []any{ConsoleDelivery(delivery.Listed{})} },
		Figures:    func() any { return ConsoleFigures(r.samples().Running()) },
	})
	woke := make(chan struct{}, 1)
	s := f.Open(feed.Operator(), func() {
		select {
		case woke <- struct{}{}:
		default:
		}
	})
	defer s.Close()
	f.InstanceChanged(rec.ID)
	f.InstanceDeleted(rec.ID, rec.Name)
	f.BatchChanged(made.ID)
	f.BatchDeleted(made.ID, r.user)
	deliveries := func(n uint64) iter.Seq[feed.Delivery] {
		return func(yield func(feed.Delivery) bool) {
			for id := range n {
				yield(feed.Delivery{ID: id})
			}
		}
	}
	f.DeliveriesChanged(deliveries(1))
	payloads := consolePayloads(t)
	sent := map[string]bool{}
	for !sent["deliveries"] {
		body, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if body == nil {
			<-woke
			continue
		}
		var m consoleMessage
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(&m); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		if bytes.Contains(body, []byte(rec.Token.Value)) {
			t.Errorf("the token is sent: %s", body)
		}
		if again, err := json.Marshal(m); err != nil || !reflect.DeepEqual(value(t, again), value(t, body)) {
			t.Errorf("%s is by its type %s, %v", body, again, err)
		}
		sent[m.Type] = true
		var fields map[string]any
		if err := json.Unmarshal(body, &fields); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, payloads[m.Type]) {
			t.Errorf("%s has %v, and the AsyncAPI document requires %v", m.Type, got, payloads[m.Type])
		}
		if m.Type == "delivery" {
			f.DeliveriesChanged(deliveries(feed.MostDeliveries + 1))
		}
	}
	field := consoleFields()["ConsoleMessage.type"]
	for _, name := range field.Rules["enum"].([]any) {
		if !sent[name.(string)] {
			t.Errorf("%s is documented but was not sent", name)
		}
		delete(sent, name.(string))
	}
	if len(sent) > 0 {
		t.Errorf("sent but not documented: %v", sent)
	}
}

// consolePayloads are the fields that the AsyncAPI document requires of each message of
// /ws/console.
func consolePayloads(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := json.Marshal(openapi.Build(describe("", "", "test")).AsyncAPI)
	if err != nil {
		t.Fatal(err)
	}
	type ref struct {
		Ref string `json:"$ref"`
	}
	var doc struct {
		Channels map[string]struct {
			Address  string
			Messages map[string]ref
		}
		Operations map[string]struct{ Security []ref }
		Components struct {
			Messages map[string]struct {
				Name    string
				Payload struct {
					AllOf []struct {
						Ref        string `json:"$ref"`
						Required   []string
						Properties map[string]struct{ Const string }
					}
				}
			}
			SecuritySchemes map[string]struct{ Type string }
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	channel := doc.Channels["console"]
	if channel.Address != "/ws/console" {
		t.Errorf("channel %+v", channel)
	}
	if doors := doc.Operations["sendConsole"].Security; len(doors) != 3 || doc.Components.SecuritySchemes["GlobalApiKey"].Type != "httpApiKey" || doc.Components.SecuritySchemes["ScopedKey"].Type != "http" {
		t.Errorf("%v of %v open it", doors, doc.Components.SecuritySchemes)
	}
	all := map[string][]string{}
	for _, to := range channel.Messages {
		m := doc.Components.Messages[path.Base(to.Ref)]
		parts := m.Payload.AllOf
		if len(parts) != 2 || path.Base(parts[0].Ref) != "ConsoleMessage" || parts[1].Properties["type"].Const != m.Name {
			t.Errorf("%s: %+v", to.Ref, m)
			continue
		}
		all[m.Name] = slices.Sorted(slices.Values(parts[1].Required))
	}
	return all
}

// value returns a decoded JSON value.
func value(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
