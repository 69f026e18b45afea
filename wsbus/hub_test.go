package wsbus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"nhooyr.io/websocket"

	"postern/event"
)

var user = uuid.MustParse("0196f0a0-0000-7000-8000-000000000001")

// world is a hub behind a real server. The path chooses the client: /global or
// /instance.
type world struct {
	hub     *Hub
	srv     *httptest.Server
	expires time.Time
	kinds   []event.Kind
}

func newWorld(t *testing.T, cfg Config) *world {
	t.Helper()
	w := &world{hub: New(cfg)}
	w.srv = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/global" {
			w.hub.ServeGlobal(rw, r, GlobalClient{Owner: user, Kinds: w.kinds, Expires: w.expires})
			return
		}
		w.hub.ServeInstance(rw, r, InstanceClient{Instance: 7, Kinds: w.kinds, Expires: w.expires})
	}))
	t.Cleanup(w.srv.Close)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := w.hub.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) dial(t *testing.T, path string) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, strings.Replace(w.srv.URL, "http", "ws", 1)+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 24)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

func read(t *testing.T, conn *websocket.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, body, err := conn.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// closeCode reads until the connection ends.
func closeCode(t *testing.T, conn *websocket.Conn) websocket.StatusCode {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		if _, _, err := conn.Read(ctx); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				t.Fatal("never closed")
			}
			return websocket.CloseStatus(err)
		}
	}
}

func TestAClientGetsItsOwnEventsInOrderByteForByte(t *testing.T) {
	w := newWorld(t, Config{})
	w.kinds = []event.Kind{event.BatchCreated, event.BatchProgress}
	conn := w.dial(t, "/global")
	want := ""
	for i := range 50 {
		body := fmt.Sprintf(`{"n":%d,"s":"<é>"}`, i)
		w.hub.PublishBatch(event.BatchProgress, user, uint64(i), []byte(body))
		w.hub.PublishBatch(event.BatchProgress, uuid.New(), 1, []byte("another user's"))
		w.hub.PublishBatch(event.BatchPaused, user, 1, []byte("not subscribed"))
		w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, Body: []byte("another family")})
		want += body
	}
	got := ""
	for range 50 {
		got += read(t, conn)
	}
	if got != want {
		t.Errorf("got %s", got)
	}
}

func TestAnInstanceClientGetsThatInstancesEvents(t *testing.T) {
	w := newWorld(t, Config{})
	conn := w.dial(t, "/instance")
	w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 8, Body: []byte("other")})
	w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, Body: []byte("mine")})
	if got := read(t, conn); got != "mine" {
		t.Errorf("got %q", got)
	}
}

func TestEachEndHasItsCloseCode(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		do   func(t *testing.T, w *world, conn *websocket.Conn)
		want websocket.StatusCode
	}{
		"shutdown": {"/global", func(t *testing.T, w *world, _ *websocket.Conn) {
			go func() { _ = w.hub.Close(t.Context()) }()
		}, 1001},
		"the client sends data": {"/global", func(t *testing.T, _ *world, conn *websocket.Conn) {
			if err := conn.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
				t.Error(err)
			}
		}, 1008},
		"token revoked": {"/instance", func(_ *testing.T, w *world, _ *websocket.Conn) { w.hub.RevokeInstance(7) }, 4003},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Config{})
			conn := w.dial(t, c.path)
			c.do(t, w, conn)
			if got := closeCode(t, conn); got != c.want {
				t.Errorf("closed with %d, want %d", got, c.want)
			}
		})
	}
}

func TestAConnectionEndsWith4001WhenItsTokenExpires(t *testing.T) {
	w := newWorld(t, Config{})
	w.expires = time.Now().Add(50 * time.Millisecond)
	if got := closeCode(t, w.dial(t, "/global")); got != CodeExpired {
		t.Errorf("closed with %d", got)
	}
}

func TestAClientThatDoesNotReadIsClosedAndTheOthersGoOn(t *testing.T) {
	w := newWorld(t, Config{SendBuffer: 8})
	slow, good := w.dial(t, "/global"), w.dial(t, "/global")
	body := []byte(strings.Repeat("x", 1<<20))
	for i := range 60 {
		w.hub.PublishBatch(event.BatchProgress, user, uint64(i), body)
		read(t, good) // keeps up
	}
	if clients, slowOnes := w.hub.Stats(); clients > 2 || slowOnes != 1 {
		t.Errorf("%d clients, %d slow", clients, slowOnes)
	}
	if code := closeCode(t, slow); code != CodeSlow && code != -1 { // -1: cut off in the middle of a message
		t.Errorf("the slow client was closed with %d", code)
	}
}

func TestASlowClientThatStillReadsLearnsWhy(t *testing.T) {
	c := newClient(Config{SendBuffer: 2}, nil, time.Time{})
	for i := range 2 {
		if !c.offer(event.BatchCreated, []byte{byte(i)}) {
			t.Fatal("refused with room left")
		}
	}
	if c.offer(event.BatchCreated, nil) || c.code != CodeSlow {
		t.Errorf("code %d", c.code)
	}
	if !c.offer(event.BatchCreated, nil) {
		t.Error("a closed client is reported twice")
	}
}

func TestASilentClientIsClosedAfterThePongTimeout(t *testing.T) {
	w := newWorld(t, Config{PingInterval: 20 * time.Millisecond, PongTimeout: 50 * time.Millisecond})
	conn := w.dial(t, "/global") // never reads, so never answers a ping
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if n, _ := w.hub.Stats(); n == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the silent client stays")
		}
	}
	_ = conn.CloseNow()
}

func TestCloseEndsAllClientsAndRefusesNewOnes(t *testing.T) {
	w := newWorld(t, Config{})
	for range 20 { // none of them reads, so none answers a close frame
		w.dial(t, "/global")
		w.dial(t, "/instance")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	begin := time.Now()
	if err := w.hub.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if n, _ := w.hub.Stats(); n != 0 || time.Since(begin) > 10*time.Second {
		t.Errorf("%d clients after Close, which took %v", n, time.Since(begin))
	}
	if _, resp, err := websocket.Dial(ctx, strings.Replace(w.srv.URL, "http", "ws", 1)+"/global", nil); err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a client after Close: %v, %v", resp, err)
	}
}

func TestOriginsFollowTheSettings(t *testing.T) {
	for _, c := range []struct {
		cfg    Config
		origin string
		want   bool
	}{
		{Config{AllowEmptyOrigin: true}, "", true},
		{Config{}, "", false},
		{Config{}, "https://me.example", true},
		{Config{}, "https://ME.example", true},
		{Config{}, "https://evil.example", false},
		{Config{}, "https://me.example:8443", false},
		{Config{}, "null", false},
		{Config{AllowedOrigins: []string{"https://app.example"}}, "https://app.example", true},
		{Config{AllowedOrigins: []string{"https://app.example"}}, "https://me.example", false},
		{Config{AllowedOrigins: []string{"https://app.example"}}, "http://app.example", false},
	} {
		if got := New(c.cfg).OriginAllowed(c.origin, "me.example"); got != c.want {
			t.Errorf("%+v, origin %q: %t", c.cfg, c.origin, got)
		}
	}
}
