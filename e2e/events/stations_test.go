package events

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// stations are the receivers of an instance's own destinations, "webhook" and
// "crm". The global webhook is the receiver of the scene.
type stations struct {
	s   *rig.Scene
	srv *httptest.Server

	mu       sync.Mutex
	accepted map[string][]consumer.Webhook
	attempts map[string][]consumer.Webhook
	answer   func(station string, w consumer.Webhook) int // nil: 200
}

// newStations starts the receivers, and tells the program of them, with options
// that both have in common, and makes the global webhook durable too. It is to be
// called before anything happens on the account.
func newStations(t *testing.T, s *rig.Scene, options string) *stations {
	t.Helper()
	st := &stations{s: s, accepted: map[string][]consumer.Webhook{}, attempts: map[string][]consumer.Webhook{}}
	mux := http.NewServeMux()
	for _, name := range []string{"webhook", "crm"} {
		mux.Handle("/"+name, consumer.Answer(func(_ context.Context, w consumer.Webhook) (int, string) { return st.take(name, w), "" }))
	}
	st.srv = httptest.NewServer(mux)
	t.Cleanup(st.srv.Close)
	events := map[event.Flag]bool{}
	for _, d := range event.Catalogue() {
		if d.Flag != "" {
			events[d.Flag] = true
		}
	}
	flags, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	s.Call(consumer.Key(s.Sec.GlobalAuthToken), http.MethodPut, "/webhook/options", map[string]any{"durable": true}, nil)
	put := func(path, body string) {
		s.Call(consumer.Bearer(s.Token), http.MethodPut, "/instance/"+rig.SceneName+path, json.RawMessage(body), nil)
	}
	put("/webhook/options", fmt.Sprintf(`{%s,"endpoints":[{"id":"crm","url":"%s/crm","events":%s}]}`, options, st.srv.URL, flags))
	put("/webhook", fmt.Sprintf(`{"url":"%s/webhook","events":%s}`, st.srv.URL, flags))
	return st
}

func (st *stations) take(station string, w consumer.Webhook) int {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.attempts[station] = append(st.attempts[station], w)
	if st.answer != nil {
		if status := st.answer(station, w); status != http.StatusOK {
			return status
		}
	}
	st.accepted[station] = append(st.accepted[station], w)
	return http.StatusOK
}

func (st *stations) answering(fn func(station string, w consumer.Webhook) int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.answer = fn
}

func (st *stations) tried(station string) int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.attempts[station])
}

// arrived returns the events that a destination accepted, in order.
func (st *stations) arrived(station string) []consumer.Webhook {
	if station == "global" {
		var all []consumer.Webhook
		for _, w := range st.s.Webhooks() {
			if !strings.HasPrefix(w.Event, "message.batch") {
				all = append(all, w)
			}
		}
		return all
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return append([]consumer.Webhook(nil), st.accepted[station]...)
}

// awaitAll waits until every destination has every event, and returns them by the
// id that each came under: the same everywhere, every time, and no other's. Two
// events may have the same bytes.
func (st *stations) awaitAll(t *testing.T, kept []string) (byID map[string]string) {
	t.Helper()
	want := map[string]int{}
	for _, body := range kept {
		want[body]++
	}
	byID = map[string]string{}
	for _, station := range []string{"webhook", "crm", "global"} {
		var ids map[string]string
		st.s.Await(station+" has every event", func() bool {
			ids = map[string]string{}
			count := map[string]int{}
			for _, w := range st.arrived(station) {
				if before, known := ids[w.ID]; known && before != string(w.Body) {
					t.Errorf("%s: %s and %s have the id %q", station, before, w.Body, w.ID)
				} else if !known {
					count[string(w.Body)]++
				}
				ids[w.ID] = string(w.Body)
			}
			for body, n := range want {
				if count[body] < n {
					return false
				}
			}
			return true
		})
		for id, body := range ids {
			if before, known := byID[id]; known && before != body {
				t.Errorf("%s: %s has the id %s, elsewhere %s", station, body, id, before)
			}
			byID[id] = body
		}
		if len(ids) != len(byID) || byID[""] != "" {
			t.Errorf("%s has events that others do not have under these ids, or some without", station)
		}
	}
	return byID
}

// settled returns the stored events once there come no more.
func settled(t *testing.T, s *rig.Scene) (all []string) {
	t.Helper()
	s.Await("an end of the events", func() bool {
		before := len(all)
		time.Sleep(300 * time.Millisecond)
		all = kept(t, s)
		return before == len(all)
	})
	return all
}

// kept returns the stored events of the scene's instance, from the first on.
func kept(t *testing.T, s *rig.Scene) (bodies []string) {
	t.Helper()
	conn, newest := listen(t, s, 0)
	if conn == nil {
		t.Fatal("no WebSocket")
	}
	defer func() { _ = conn.CloseNow() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range newest {
		_, body, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, string(body))
	}
	return bodies
}

// listen opens a WebSocket behind a position of the instance's events, nil when
// the program is not there. It returns the newest position too.
func listen(t *testing.T, s *rig.Scene, since int) (conn *websocket.Conn, newest int) {
	t.Helper()
	url := fmt.Sprintf("%s/ws/instance/events?event=*&since=%d", strings.Replace(s.API.Base, "http", "ws", 1), since)
	conn, resp, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + s.Token}}})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("a WebSocket since %d: %s", since, resp.Status)
		}
		return nil, 0
	}
	conn.SetReadLimit(1 << 24)
	if newest, err = strconv.Atoi(resp.Header.Get("X-Event-Sequence")); err != nil {
		t.Error(err)
	}
	return conn, newest
}

// reported is what tests read of an event.
type reported struct {
	Event string
	Data  json.RawMessage
}

func reportedBy(t *testing.T, body string) (e reported) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return e
}

// message is the data of messages.upsert and send.message.
type message struct {
	ID           any
	KeyID        string
	KeyRemoteJID string
	ChatJID      string
	MessageID    any
	JID          string
}

func messageOf(t *testing.T, e reported) (m message) {
	t.Helper()
	if len(e.Data) > 0 && e.Data[0] != '{' {
		return m
	}
	if err := json.Unmarshal(e.Data, &m); err != nil {
		t.Fatalf("%s: %v", e.Data, err)
	}
	return m
}
