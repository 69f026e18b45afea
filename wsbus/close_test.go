package wsbus

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/event"
)

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
			w.waitForClients(t, 0)
		})
	}
}

func TestExpiryFollowsTheClockThatIsSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	var set atomic.Int64
	w.hub.now = func() time.Time { return time.Now().Round(0).Add(time.Duration(set.Load())) }
	w.expires = time.Now().Add(time.Hour)
	conn := w.dial(t, "/global")
	w.waitForClients(t, 1)
	set.Store(int64(time.Hour)) // or the machine slept
	at := time.Now()
	if got, took := closeCode(t, conn), time.Since(at); got != CodeExpired || took > 5*time.Second {
		t.Errorf("closed with %d after %s", got, took)
	}
}

func TestExpiredTokenClosesWith4001(t *testing.T) {
	w := newWorld(t, Config{})
	w.expires = time.Now().Add(50 * time.Millisecond)
	if got := closeCode(t, w.dial(t, "/global")); got != CodeExpired {
		t.Errorf("closed with %d", got)
	}
}

func TestTokenReplacedDuringHandshakeIsRefused(t *testing.T) {
	w := newWorld(t, Config{})
	replaced := errors.New("replaced")
	w.check = func() error {
		if n, _ := w.hub.Stats(); n != 1 {
			t.Error("asked before the client was registered: a revocation would miss it")
		}
		return replaced
	}
	if err := w.refusal(t, "/instance"); !errors.Is(err, replaced) {
		t.Error(err)
	}
	w.waitForClients(t, 0)
}

func TestSlowClientIsClosedAlone(t *testing.T) {
	w := newWorld(t, Config{SendBuffer: 8})
	slow, good := w.dial(t, "/instance"), w.dial(t, "/instance")
	body := []byte(strings.Repeat("x", 1<<20))
	for range 60 {
		w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, Body: body})
		read(t, good) // keeps up
	}
	if clients, slowOnes := w.hub.Stats(); clients > 2 || slowOnes != 1 {
		t.Errorf("%d clients, %d slow", clients, slowOnes)
	}
	if code := closeCode(t, slow); code != CodeSlow && code != -1 { // -1: cut off in the middle of a message
		t.Errorf("the slow client was closed with %d", code)
	}
	w.waitForClients(t, 1)
}

func TestWriteTimeoutClosesTheClient(t *testing.T) {
	w := newWorld(t, Config{WriteTimeout: 50 * time.Millisecond})
	w.dial(t, "/instance") // never reads
	w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, Body: make([]byte, 1<<24)})
	w.waitForClients(t, 0)
	if _, slow := w.hub.Stats(); slow != 1 {
		t.Errorf("%d slow clients", slow)
	}
}

func TestCloseDoesNotWaitForAnUnreadMessage(t *testing.T) {
	w := newWorld(t, Config{WriteTimeout: time.Minute})
	w.dial(t, "/instance") // never reads
	w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, Body: make([]byte, 1<<24)})
	waitFor(t, "the message to be under way", func() bool {
		w.hub.mu.Lock()
		defer w.hub.mu.Unlock()
		for c := range w.hub.instances[7] {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.queue == nil
		}
		return false
	})
	w.hub.RevokeInstance(7)
	w.waitForClients(t, 0)
}

func TestASlowClientThatStillReadsLearnsWhy(t *testing.T) {
	w := newWorld(t, Config{SendBuffer: 2})
	conn := w.dial(t, "/instance")
	for range 100 { // one after the other in no time
		for range 1000 {
			w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, Body: []byte("x")})
		}
	}
	if code := closeCode(t, conn); code != CodeSlow {
		t.Errorf("closed with %d", code)
	}
	if _, slow := w.hub.Stats(); slow != 1 {
		t.Errorf("one client counted as %d slow ones", slow)
	}
}

func TestPongTimeoutClosesTheClient(t *testing.T) {
	w := newWorld(t, Config{PingInterval: 20 * time.Millisecond, PongTimeout: 50 * time.Millisecond})
	w.dial(t, "/global") // never reads, so never answers a ping
	w.waitForClients(t, 0)
}

func TestPingIntervalIsConfigurable(t *testing.T) {
	if got := New(Config{}).cfg; got.PingInterval != 25*time.Second || got.PongTimeout != time.Minute ||
		got.WriteTimeout != 10*time.Second || got.SendBuffer != 256 {
		t.Errorf("defaults: %+v", got)
	}
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
	if err := w.refusal(t, "/global"); !errors.Is(err, ErrStopping) {
		t.Error(err)
	}
}

func TestStopSendsQueuedMessages(t *testing.T) {
	w := newWorld(t, Config{})
	conn := w.dial(t, "/instance")
	for range 200 {
		w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, Body: []byte("last words")})
	}
	go func() { _ = w.hub.Close(t.Context()) }()
	for range 200 {
		if got := read(t, conn); got != "last words" {
			t.Fatal(got)
		}
	}
	if code := closeCode(t, conn); code != 1001 {
		t.Errorf("closed with %d", code)
	}
}
