package events

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// dial opens a WebSocket of the scene's instance. It returns the answer to the
// handshake, whatever that is.
func dial(t *testing.T, s *rig.Scene, query string) (*websocket.Conn, *http.Response) {
	t.Helper()
	url := strings.Replace(s.API.Base, "http", "ws", 1) + "/ws/instance/events?event=" + query
	conn, resp, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + s.Token}}})
	if resp == nil {
		t.Fatal(err)
	}
	if err != nil {
		return nil, resp
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(1 << 24)
	return conn, resp
}

// answer is that to a handshake for an unused connection.
func answer(t *testing.T, s *rig.Scene, query string) *http.Response {
	t.Helper()
	conn, resp := dial(t, s, query)
	if conn != nil {
		_ = conn.CloseNow()
	}
	return resp
}

// texts reads so many messages.upsert, and returns what they say.
func texts(t *testing.T, conn *websocket.Conn, n int) (all []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for len(all) < n {
		_, body, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("after %v: %v", all, err)
		}
		var e struct {
			Data struct{ Content struct{ Text string } }
		}
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		all = append(all, e.Data.Content.Text)
	}
	return all
}

// choose puts options of the scene's webhook.
func choose(s *rig.Scene, options string) {
	s.Call(consumer.Bearer(s.Token), http.MethodPut, "/instance/"+rig.SceneName+"/webhook/options", raw(options), nil)
}

// say lets Anne write a text, and waits until it is stored and reported.
func say(t *testing.T, s *rig.Scene, text string) {
	t.Helper()
	s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"text","to":"$own","text":%q}`, text)))
	s.AwaitEvent(t, 0, event.MessagesUpsert, fmt.Sprintf(`{"content":{"text":%q}}`, text))
}

// TestClientsSurviveChangesOfDurable: one that was there all
// the time gets each event once, and the numbers continue where they were.
func TestClientsSurviveChangesOfDurable(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a program")
	}
	s := rig.NewScene(t)
	s.Online(t)
	const upserts = "messages.upsert"
	first, resp := dial(t, s, upserts)
	if got := resp.Header.Get("x-event-sequence"); got != "" {
		t.Errorf("without durable the newest number is %q", got)
	}
	if resp := answer(t, s, upserts+"&since=999"); resp.StatusCode != http.StatusConflict {
		t.Errorf("since without durable: %s", resp.Status)
	}
	say(t, s, "old")
	choose(s, `{"durable":true}`)
	say(t, s, "one")
	second, resp := dial(t, s, upserts)
	at := resp.Header.Get("x-event-sequence")
	if at == "" || at == "0" {
		t.Errorf("the newest number is %q", at)
	}
	say(t, s, "two")
	choose(s, `{"durable":false}`)
	if resp := answer(t, s, upserts+"&since=0"); resp.StatusCode != http.StatusConflict {
		t.Errorf("since after durable: %s", resp.Status)
	}
	say(t, s, "between")
	choose(s, `{"durable":true}`)
	say(t, s, "three")
	// The old way and the file are two ways: across them only "once" is promised.
	for name, c := range map[string]struct {
		conn *websocket.Conn
		want string
	}{"from before": {first, "between old one three two"}, "from between": {second, "between three two"}} {
		if got := strings.Join(slices.Sorted(slices.Values(texts(t, c.conn, len(strings.Fields(c.want))))), " "); got != c.want {
			t.Errorf("a client %s got %q, want %q", name, got, c.want)
		}
	}
	since, resp := dial(t, s, upserts+"&since="+at)
	if got := strings.Join(texts(t, since, 2), " "); got != "two three" || resp.Header.Get("x-event-since") != at {
		t.Errorf("since %s: %q from %q", at, got, resp.Header.Get("x-event-since"))
	}
	if resp := answer(t, s, upserts+"&since=999"); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("ahead of the newest: %s", resp.Status)
	}
	say(t, s, "four")
	for name, conn := range map[string]*websocket.Conn{"first": first, "second": second, "since": since} {
		if got := texts(t, conn, 1); got[0] != "four" {
			t.Errorf("%s: the next one is %v", name, got)
		}
	}
	s.Stop()
}

// TestDurableEventsAreKeptForMaxAge, and no longer.
func TestDurableEventsAreKeptForMaxAge(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a program")
	}
	t.Parallel() // it waits more than it works
	s := rig.NewScene(t)
	s.Online(t)
	choose(s, `{"durable":true,"maxAge":"2s"}`)
	say(t, s, "short")
	conn, resp := dial(t, s, "*&since=0")
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(resp.Status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, _, err := conn.Read(ctx); err != nil {
		t.Errorf("nothing is kept: %v", err)
	}
	s.Await("the end of its time", func() bool {
		resp := answer(t, s, "*&since=0")
		return resp.StatusCode == http.StatusSwitchingProtocols && resp.Header.Get("x-event-since") == resp.Header.Get("x-event-sequence")
	})
	newest := answer(t, s, "*&since=0").Header.Get("x-event-sequence")
	if resp := answer(t, s, "*&since="+newest); resp.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("since the newest: %s", resp.Status)
	}
	if resp := answer(t, s, "*&since=1"); newest != "1" && resp.StatusCode != http.StatusGone {
		t.Errorf("since 1 of %s: %s", newest, resp.Status)
	}
	choose(s, `{"durable":true,"maxAge":"1h"}`)
	say(t, s, "long")
	conn, resp = dial(t, s, "messages.upsert&since="+newest)
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(resp.Status)
	}
	if got := texts(t, conn, 1); got[0] != "long" {
		t.Errorf("got %v", got)
	}
	s.Stop()
}
