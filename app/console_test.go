package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/cli/consumer"
	"postern/event"
	"postern/instance"
	"postern/instance/webhooks"
)

// listener is a page of the console.
type listener struct {
	s    *socketRig
	conn *websocket.Conn
}

// said is a message with its row as it came.
type said struct {
	Type, Name, ID            string
	Instance, Batch, Delivery map[string]any
	Figures                   map[string]any
	Items                     []map[string]any
	Changed                   int
	At                        time.Time
}

func (s *socketRig) page() *listener {
	s.t.Helper()
	conn, _, err := websocket.Dial(s.t.Context(), strings.Replace(s.url, "http", "ws", 1)+"/ws/console", &websocket.DialOptions{
		HTTPHeader: http.Header{s.key.Name: {s.key.Value}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return &listener{s, conn}
}

func (p *listener) next() (m said) {
	p.s.t.Helper()
	ctx, cancel := context.WithTimeout(p.s.t.Context(), 20*time.Second)
	defer cancel()
	_, body, err := p.conn.Read(ctx)
	if err != nil {
		p.s.t.Fatal(err)
	}
	if err := json.Unmarshal(body, &m); err != nil {
		p.s.t.Fatalf("%s: %v", body, err)
	}
	return m
}

// hears reads until the message that is waited for.
func (p *listener) hears(is func(said) bool) said {
	p.s.t.Helper()
	for over := time.Now().Add(30 * time.Second); ; {
		m := p.next()
		if is(m) {
			return m
		}
		if time.Now().After(over) {
			p.s.t.Fatal("it is not reported")
		}
	}
}

// rows returns those of a list of the interface.
func (s *socketRig) rows(path string) (all []map[string]any) {
	s.t.Helper()
	var raw json.RawMessage
	if err := s.api.Call(s.t.Context(), s.key, http.MethodGet, path, nil, &raw); err != nil {
		s.t.Fatal(err)
	}
	var list struct{ Records []map[string]any }
	if raw[0] == '{' {
		if err := json.Unmarshal(raw, &list); err != nil {
			s.t.Fatal(err)
		}
		return list.Records
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// TestOpenConsoleHearsOfTroublesAtOnce: long before the next look of a program without an open console.
func TestOpenConsoleHearsOfTroublesAtOnce(t *testing.T) {
	began := time.Now()
	s := newSockets(t)
	s.instance("shop")
	p := s.page()
	f := event.Fact{Kind: event.ConnectionUpdated, Status: event.LoggedOut, Data: event.ConnectionUpdate{}}
	if err := s.registry.Report(t.Context(), 1, f); err != nil {
		t.Fatal(err)
	}
	m := p.hears(func(m said) bool { return m.Type == "troubles" && len(m.Items) > 0 })
	if m.Items[0]["kind"] != "INSTANCE_LOGGED_OUT" || time.Since(began) > 9*time.Second {
		t.Errorf("after %s: %v", time.Since(began), m.Items)
	}
}

// TestFeedRowsEqualListRows: each row equals that of its list, but for
// the token of an instance, which is never sent.
func TestFeedRowsEqualListRows(t *testing.T) {
	var refuses atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuses.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(receiver.Close)
	s := newSocketsFor(t, receiver.URL)
	p := s.page()
	if first := p.next(); first.Type != "hello" || time.Since(first.At).Abs() > time.Minute {
		t.Errorf("the first message is %+v", first)
	}
	figures := p.next()
	if figures.Type != "figures" || figures.Figures["fileBytes"] == 0.0 || figures.Figures["at"] == nil {
		t.Errorf("then %+v", figures)
	}

	token := s.instance("shop")
	row := p.hears(func(m said) bool { return m.Type == "instance" })
	listed := s.rows("/instance")[0]
	if listed["Auth"] == nil || row.Instance["Auth"] != nil || row.Name != "shop" {
		t.Errorf("the list has %v, the feed %+v", listed, row)
	}
	listed["Auth"] = nil
	if !reflect.DeepEqual(row.Instance, listed) {
		t.Errorf("the feed has %v, the list %v", row.Instance, listed)
	}
	hook := map[string]any{"url": receiver.URL + "/hook?secret=1", "events": map[string]bool{"sendMessage": true}}
	if err := s.api.Call(t.Context(), consumer.Bearer(token), http.MethodPut, "/instance/shop/webhook", hook, nil); err != nil {
		t.Fatal(err)
	}
	row = p.hears(func(m said) bool { return m.Type == "instance" })
	if !reflect.DeepEqual(row.Instance["Webhook"], s.rows("/instance")[0]["Webhook"]) || row.Instance["Webhook"] == nil {
		t.Errorf("after its webhook was set: %v", row.Instance)
	}

	s.emit(event.BatchCreated)
	sent := p.hears(func(m said) bool { return m.Type == "delivery" && m.Delivery["state"] == "DELIVERED" })
	if all := s.rows("/webhook/deliveries"); len(all) != 1 || !reflect.DeepEqual(all[0], sent.Delivery) {
		t.Errorf("the feed has %v, the list %v", sent.Delivery, all)
	}
	refuses.Store(true)
	s.emit(event.BatchStarted)
	p.hears(func(m said) bool {
		return m.Type == "delivery" && m.Delivery["state"] == "PENDING" && m.Delivery["lastStatus"] == 500.0
	})

	var made struct{ ID string }
	user := consumer.Bearer(s.user)
	draft := map[string]any{
		"name": "spring", "instances": []string{"shop"}, "recipients": []string{"4915112345678"}, "autoStart": false,
		"message": map[string]any{"type": "text", "payload": map[string]string{"text": "<hello>"}},
	}
	if err := s.api.Call(t.Context(), user, http.MethodPost, "/message/batches", draft, &made); err != nil {
		t.Fatal(err)
	}
	sent = p.hears(func(m said) bool { return m.Type == "batch" })
	if all := s.rows("/admin/batches"); len(all) != 1 || sent.Batch["id"] != made.ID || !reflect.DeepEqual(all[0], sent.Batch) {
		t.Errorf("the feed has %v, the list %v", sent.Batch, all)
	}
	if err := s.api.Call(t.Context(), user, http.MethodPost, "/message/batches/"+made.ID+"/stop", nil, nil); err != nil {
		t.Fatal(err)
	}
	p.hears(func(m said) bool { return m.Type == "batch" && m.Batch["status"] == "STOPPED" })
	if err := s.api.Call(t.Context(), user, http.MethodDelete, "/message/batches/"+made.ID, nil, nil); err != nil {
		t.Fatal(err)
	}
	if gone := p.hears(func(m said) bool { return m.Type == "batchDeleted" }); gone.ID != made.ID {
		t.Errorf("deleted is %+v", gone)
	}
	if err := s.api.Call(t.Context(), consumer.Bearer(token), http.MethodDelete, "/instance/shop", nil, nil); err != nil {
		t.Fatal(err)
	}
	if gone := p.hears(func(m said) bool { return m.Type == "instanceDeleted" }); gone.Name != "shop" {
		t.Errorf("deleted is %+v", gone)
	}
}

func TestStopClosesTheFeedWith1001(t *testing.T) {
	s := newSockets(t)
	p := s.page()
	p.next()
	stopped := make(chan error)
	go func() { stopped <- s.Stop(context.Background()) }()
	if code := s.closedWith(p.conn); code != websocket.StatusGoingAway {
		t.Errorf("closed with %d", code)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestFeedChecksTheSameOrigins(t *testing.T) {
	s := newSockets(t)
	key := http.Header{}
	key.Set(s.key.Name, s.key.Value)
	key.Set("Origin", "https://evil.example")
	s.refused("/ws/console", key, http.StatusForbidden, "ORIGIN_REFUSED")
	s.refused("/ws/console", nil, http.StatusUnauthorized, "UNAUTHORIZED")
}

// TestFlappingInstancesDoNotDelayTheFeed: the page
// reads nothing while every instance changes, and then it gets the state of each.
func TestFlappingInstancesDoNotDelayTheFeed(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	const many = 2000
	s := newSockets(t)
	ids := make([]int64, many)
	for i := range ids {
		rec, err := s.registry.Create(t.Context(), instance.New{Name: fmt.Sprint("i", i), Mint: func(name string) (string, error) { return name, nil }})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = rec.ID
	}
	slow := s.page()
	slow.next()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for round := range 50 { // 100 000 changes, as the registry tells them
		for _, id := range ids {
			s.console.InstanceChanged(id)
		}
		for range 20 {
			url := fmt.Sprintf("http://127.0.0.1:1/%d", round)
			if _, err := s.registry.Webhooks().PutWebhook(t.Context(), ids[round], webhooks.WebhookChange{URL: &url}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if after := heap(); after > before+4<<20 {
		t.Errorf("a page that reads nothing holds %d KB", (after-before)>>10)
	}
	last := map[string]any{}
	for len(last) < many {
		if m := slow.next(); m.Type == "instance" {
			last[m.Name] = m.Instance["Webhook"]
		}
	}
	for round := range 50 {
		name, want := fmt.Sprint("i", round), fmt.Sprintf("http://127.0.0.1:1/%d", round)
		for hook, _ := last[name].(map[string]any); hook["url"] != want; hook, _ = last[name].(map[string]any) {
			if m := slow.next(); m.Type == "instance" {
				last[m.Name] = m.Instance["Webhook"]
			}
		}
	}
}
