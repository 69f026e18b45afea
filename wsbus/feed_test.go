package wsbus

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nhooyr.io/websocket"
)

// counter sends the numbers up to most, each only when the client took the one before.
type counter struct {
	wake   func()
	most   atomic.Int64
	at     int64
	fails  atomic.Bool
	closed atomic.Int64
	pad    string
}

func (c *counter) Next() ([]byte, error) {
	if c.fails.Load() {
		return nil, errors.New("too far behind")
	}
	if c.at == c.most.Load() {
		return nil, nil
	}
	c.at++
	return []byte(strconv.FormatInt(c.at, 10) + c.pad), nil
}

func (c *counter) Close() { c.closed.Add(1) }

func (c *counter) add(n int64) {
	c.most.Add(n)
	c.wake()
}

// feeding returns a world whose path /feed has the counters.
func feeding(t *testing.T, cfg Config) (w *world, last func() *counter) {
	t.Helper()
	var mu sync.Mutex
	var newest *counter
	w = newWorld(t, cfg)
	w.feed = func(rw http.ResponseWriter, r *http.Request, token Token) error {
		return w.hub.ServeFeed(rw, r, FeedClient{Token: token, Expires: w.expires, Check: w.check, Open: func(wake func()) Messages {
			mu.Lock()
			defer mu.Unlock()
			newest = &counter{wake: wake}
			return newest
		}})
	}
	return w, func() *counter {
		mu.Lock()
		defer mu.Unlock()
		return newest
	}
}

func TestFeedMessagesArriveInOrder(t *testing.T) {
	w, last := feeding(t, Config{SendBuffer: 2})
	conn := w.dial(t, "/feed")
	c := last()
	c.add(1000)
	for i := range 1000 {
		if got := read(t, conn); got != strconv.Itoa(i+1) {
			t.Fatalf("message %d is %s", i+1, got)
		}
	}
	c.add(1)
	if got := read(t, conn); got != "1001" {
		t.Errorf("then %s", got)
	}
	_ = conn.CloseNow()
	w.waitForClients(t, 0)
	if n := c.closed.Load(); n != 1 {
		t.Errorf("its messages were closed %d times", n)
	}
}

func TestFeedCloseCodes(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		do   func(t *testing.T, w *world, conn *websocket.Conn, c *counter)
		want websocket.StatusCode
	}{
		"the program stops": {Config{}, func(t *testing.T, w *world, _ *websocket.Conn, c *counter) {
			c.add(1 << 40) // which is not waited for
			go func() { _ = w.hub.Close(t.Context()) }()
		}, 1001},
		"it did not keep up": {Config{}, func(_ *testing.T, _ *world, _ *websocket.Conn, c *counter) {
			c.fails.Store(true)
			c.wake()
		}, CodeSlow},
		"it sends data": {Config{}, func(t *testing.T, _ *world, conn *websocket.Conn, _ *counter) {
			if err := conn.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
				t.Error(err)
			}
		}, 1008},
		"it answers no ping": {Config{PingInterval: 20 * time.Millisecond, PongTimeout: 50 * time.Millisecond}, func(*testing.T, *world, *websocket.Conn, *counter) {}, CodeSlow},
	} {
		t.Run(name, func(t *testing.T) {
			w, last := feeding(t, c.cfg)
			conn := w.dial(t, "/feed")
			messages := last()
			c.do(t, w, conn, messages)
			if name == "it answers no ping" {
				w.waitForClients(t, 0) // no client reads, so none answers
			} else if got := closeCode(t, conn); got != c.want {
				t.Errorf("closed with %d, want %d", got, c.want)
			}
			w.waitForClients(t, 0)
			waitFor(t, "the end of its messages", func() bool { return messages.closed.Load() == 1 })
		})
	}
}

func TestFeedClientsCountTowardsTheQuota(t *testing.T) {
	w, last := feeding(t, Config{MaxPerToken: 1})
	w.dial(t, "/feed")
	if err := w.refusal(t, "/feed"); !errors.Is(err, ErrTooMany) {
		t.Errorf("a second one: %v", err)
	}
	first := last()
	gone := errors.New("gone")
	w.check = func() error { return gone }
	if err := w.refusal(t, "/feed?token=other"); !errors.Is(err, gone) {
		t.Errorf("with a credential that does not count: %v", err)
	}
	if last() != first {
		t.Error("messages were begun for a client that was refused")
	}
	w.waitForClients(t, 1)
}
