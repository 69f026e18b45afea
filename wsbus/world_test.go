package wsbus

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"nhooyr.io/websocket"

	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

var user = uuid.MustParse("0196f0a0-0000-7000-8000-000000000001")

// world is a hub behind a real server, with a real store. The path chooses the
// client: /global or /durable with since in the query, or /instance.
type world struct {
	hub     *Hub
	srv     *httptest.Server
	log     *events
	kept    *kept
	expires time.Time
	kinds   []event.Kind
	tells   func([]byte) []byte
	check   func() error
	feed    func(http.ResponseWriter, *http.Request, Token) error // of the path /feed
	refused chan error                                            // what the hub refused last, size 1
}

func newWorld(t testing.TB, cfg Config) *world {
	t.Helper()
	w := &world{log: openOutbox(t), kept: &kept{}, refused: make(chan error, 1)}
	if cfg.Events == nil {
		cfg.Events = w.log
	}
	cfg.InstanceEvents = w.kept
	w.hub = New(cfg)
	w.srv = httptest.NewServer(w)
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

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var err error
	token := Token(sha256.Sum256([]byte(r.URL.Query().Get("token"))))
	var since *uint64
	if r.URL.Query().Has("since") {
		n, _ := strconv.ParseUint(r.URL.Query().Get("since"), 10, 64)
		since = &n
	}
	switch r.URL.Path {
	case "/feed":
		err = w.feed(rw, r, token)
	case "/global":
		err = w.hub.ServeGlobal(rw, r, GlobalClient{Owner: user, Kinds: w.kinds, Expires: w.expires, Token: token, Since: since, Tells: w.tells})
	default:
		err = w.hub.ServeInstance(rw, r, InstanceClient{
			Instance: 7, Durable: r.URL.Path == "/durable", Kinds: w.kinds, Expires: w.expires, Token: token, Since: since, Check: w.check,
		})
	}
	if err != nil {
		w.refused <- err
		http.Error(rw, "refused", http.StatusTeapot)
	}
}

func (w *world) url(path string) string { return strings.Replace(w.srv.URL, "http", "ws", 1) + path }

func (w *world) dial(t testing.TB, path string) *websocket.Conn {
	t.Helper()
	conn, _ := w.dialAnswered(t, path)
	return conn
}

// dialAnswered returns the headers of the upgrade too.
func (w *world) dialAnswered(t testing.TB, path string) (*websocket.Conn, http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, w.url(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 26)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn, resp.Header
}

// refusal dials and returns why the hub refused.
func (w *world) refusal(t *testing.T, path string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, resp, err := websocket.Dial(ctx, w.url(path), nil); err == nil || resp == nil || resp.StatusCode != http.StatusTeapot {
		t.Fatalf("not refused: %v, %v", resp, err)
	}
	return <-w.refused
}

// waitFor waits for a condition.
func waitFor(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (w *world) waitForClients(t testing.TB, want int) {
	t.Helper()
	waitFor(t, strconv.Itoa(want)+" clients", func() bool {
		n, _ := w.hub.Stats()
		return n == want
	})
}

// live reports whether all clients of the instance are.
func (w *world) live() bool {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for c := range w.hub.instances[7] {
		c.mu.Lock()
		live := c.live
		c.mu.Unlock()
		if !live {
			return false
		}
	}
	return true
}

func read(t testing.TB, conn *websocket.Conn) string {
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

// events is the outbox as a Replayer.
type events struct {
	*store.Store
	box *outbox.Outbox
}

func openOutbox(t testing.TB) *events {
	t.Helper()
	s, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "p.db"), Buckets: outbox.Buckets()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	box, err := outbox.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	box.SetDelivery(false)
	return &events{s, box}
}

func (o *events) Newest(owner uuid.UUID) (n uint64, err error) {
	err = o.View(func(tx *store.Tx) error {
		n, err = outbox.NewestOf(tx, owner)
		return err
	})
	return n, err
}

func (o *events) EventsAfter(owner uuid.UUID, seq uint64, limit int) (events []Event, err error) {
	err = o.View(func(tx *store.Tx) error {
		entries, err := outbox.Replay(tx, owner, seq, limit)
		for _, e := range entries {
			events = append(events, Event{e.OwnerSeq, e.Kind, e.Body})
		}
		return err
	})
	return events, err
}

func (o *events) Gaps(owner uuid.UUID, seq uint64, limit int) (gaps []Gap, err error) {
	err = o.View(func(tx *store.Tx) error {
		found, err := outbox.Gaps(tx, owner, seq, limit)
		for _, g := range found {
			gaps = append(gaps, Gap(g))
		}
		return err
	})
	return gaps, err
}

// emitOf commits n events of a batch of the user and returns them.
func (o *events) emitOf(t testing.TB, batch uuid.UUID, n int, text string) []Event {
	t.Helper()
	before, err := o.Newest(user)
	if err != nil {
		t.Fatal(err)
	}
	err = o.Update(t.Context(), func(tx *store.Tx) error {
		for range n {
			data := map[string]string{"text": text}
			if err := o.box.Emit(tx, outbox.Emission{Kind: event.BatchProgress, Owner: user, Batch: batch, Data: data}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	events, err := o.EventsAfter(user, before, n)
	if err != nil || len(events) != n {
		t.Fatalf("%d events, %v", len(events), err)
	}
	return events
}

// forget removes the events of a batch as its removal does.
func (o *events) forget(t testing.TB, batch uuid.UUID) {
	t.Helper()
	err := o.Update(t.Context(), func(tx *store.Tx) error {
		newest, err := outbox.Newest(tx)
		if err == nil {
			_, _, err = o.box.Sweep(tx, batch, 0, newest, 1<<20)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// emit commits n events of the user, of one kind, and returns them.
func (o *events) emit(t testing.TB, kind event.Kind, n int) []Event {
	t.Helper()
	return o.emitText(t, kind, n, "<é&>")
}

// emitText is emit with a text of the caller's.
func (o *events) emitText(t testing.TB, kind event.Kind, n int, text string) []Event {
	t.Helper()
	before, err := o.Newest(user)
	if err == nil {
		err = o.Update(t.Context(), func(tx *store.Tx) error {
			for range n {
				data := map[string]string{"text": text}
				if err := o.box.Emit(tx, outbox.Emission{Kind: kind, Owner: user, Batch: user, Data: data}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	events, err := o.EventsAfter(user, before, n)
	if err != nil || len(events) != n {
		t.Fatalf("%d events, %v", len(events), err)
	}
	return events
}

// prune removes entries by their sequence, which is the user's when there is no
// other user.
func (o *events) prune(t testing.TB, seqs ...uint64) {
	t.Helper()
	err := o.Update(t.Context(), func(tx *store.Tx) error {
		n, err := o.box.Remove(tx, seqs)
		if err == nil && n != len(seqs) {
			t.Errorf("%d of %d pruned", n, len(seqs))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// publish tells the hub of events.
func (w *world) publish(events ...Event) {
	for _, e := range events {
		w.hub.PublishBatch(e.Kind, user, e.Seq, e.Body)
	}
}

// wantEvents reads as many messages as there are events and compares them.
func wantEvents(t testing.TB, conn *websocket.Conn, events []Event) {
	t.Helper()
	for _, e := range events {
		if got := read(t, conn); got != string(e.Body) {
			t.Fatalf("want event %d %s, got %s", e.Seq, e.Body, got)
		}
	}
}
