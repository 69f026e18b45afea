package wsbus

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"nhooyr.io/websocket"

	"postern/event"
)

func wantHeaders(t *testing.T, h http.Header, newest, since string) {
	t.Helper()
	if h.Get("x-event-sequence") != newest || h.Get("x-event-since") != since {
		t.Errorf("x-event-sequence %q, x-event-since %q; want %q and %q", h.Get("x-event-sequence"), h.Get("x-event-since"), newest, since)
	}
}

func TestSinceReplaysThenGoesLive(t *testing.T) {
	w := newWorld(t, Config{})
	stored := w.log.emit(t, event.BatchProgress, 200) // several pages
	conn, answer := w.dialAnswered(t, "/global?since=20")
	wantHeaders(t, answer, "200", "20")
	wantEvents(t, conn, stored[20:])
	live := w.log.emit(t, event.BatchPaused, 3)
	w.publish(stored[190:]...) // late: the client got them from the store
	w.publish(live...)
	wantEvents(t, conn, live)
}

func TestHandshakeReportsTheNewestSequence(t *testing.T) {
	w := newWorld(t, Config{})
	conn, answer := w.dialAnswered(t, "/global")
	wantHeaders(t, answer, "0", "")
	events := w.log.emit(t, event.BatchProgress, 9)
	later, answer := w.dialAnswered(t, "/global")
	wantHeaders(t, answer, "9", "")
	w.publish(events...)
	wantEvents(t, conn, events)
	// Published only now, but counted in x-event-sequence: once more would be
	// one too many for a client that counts.
	events = w.log.emit(t, event.BatchProgress, 1)
	w.publish(events...)
	wantEvents(t, later, events)
}

// TestAClientIsSentOnlyWhatItHears from the store and live; what it does not is passed over
// like events of other kinds.
func TestAClientIsSentOnlyWhatItHears(t *testing.T) {
	w := newWorld(t, Config{})
	asked := 0
	w.tells = func(body []byte) []byte {
		if asked++; asked%2 == 0 {
			return body
		}
		return nil
	}
	stored := w.log.emit(t, event.BatchProgress, 3)
	conn := w.dial(t, "/global?since=0")
	wantEvents(t, conn, stored[1:2])
	live := w.log.emit(t, event.BatchPaused, 4)
	w.publish(live...)
	wantEvents(t, conn, []Event{live[0], live[2]})
	last := w.log.emit(t, event.BatchResumed, 1)
	w.publish(last...)
	wantEvents(t, conn, last)
}

func TestSince0ReplaysAllThatIsKept(t *testing.T) {
	w := newWorld(t, Config{})
	conn, answer := w.dialAnswered(t, "/global?since=0")
	wantHeaders(t, answer, "0", "0")
	events := w.log.emit(t, event.BatchProgress, 150)
	w.publish(events...)
	wantEvents(t, conn, events)

	w.log.prune(t, 1, 2, 3, 5, 90, 91)
	conn, answer = w.dialAnswered(t, "/global?since=0")
	wantHeaders(t, answer, "150", "3")
	wantEvents(t, conn, slices.Concat(events[3:4], events[5:89], events[91:]))

	for i := range uint64(150) {
		if !slices.Contains([]uint64{0, 1, 2, 4, 89, 90}, i) {
			w.log.prune(t, i+1)
		}
	}
	_, answer = w.dialAnswered(t, "/global?since=0")
	wantHeaders(t, answer, "150", "150")
}

func TestSinceAheadOfTheNewestIsRefused(t *testing.T) {
	w := newWorld(t, Config{})
	w.log.emit(t, event.BatchProgress, 3)
	if err := w.refusal(t, "/global?since=4"); !errors.Is(err, ErrAhead) {
		t.Error(err)
	}
	_, answer := w.dialAnswered(t, "/global?since=3")
	wantHeaders(t, answer, "3", "3")
	w.waitForClients(t, 1)
}

func TestSinceOlderThanTheRetentionIsRefused(t *testing.T) {
	w := newWorld(t, Config{})
	events := w.log.emit(t, event.BatchProgress, 6)
	w.log.prune(t, 1, 2, 3)
	for _, since := range []string{"1", "2"} {
		if err := w.refusal(t, "/global?since="+since); !errors.Is(err, ErrGone) {
			t.Errorf("since=%s: %v", since, err)
		}
	}
	wantEvents(t, w.dial(t, "/global?since=3"), events[3:])
	w.log.prune(t, 4, 5, 6)
	if err := w.refusal(t, "/global?since=5"); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
	_, answer := w.dialAnswered(t, "/global?since=6") // misses nothing
	wantHeaders(t, answer, "6", "6")
}

func TestAReplayObeysTheEventFilter(t *testing.T) {
	w := newWorld(t, Config{})
	w.kinds = []event.Kind{event.BatchPaused, event.BatchStopped}
	var want []Event
	for range 40 {
		w.log.emit(t, event.BatchProgress, 3)
		want = append(want, w.log.emit(t, event.BatchPaused, 1)...)
	}
	conn := w.dial(t, "/global?since=0")
	wantEvents(t, conn, want)
	w.publish(w.log.emit(t, event.BatchProgress, 5)...)
	live := w.log.emit(t, event.BatchStopped, 1)
	w.publish(live...)
	wantEvents(t, conn, live)
}

// large makes a hundred events more than a connection's buffers hold.
var large = strings.Repeat("x", 200<<10)

func TestSlowReplayIsNotClosedAsSlow(t *testing.T) {
	w := newWorld(t, Config{SendBuffer: 2})
	want := w.log.emitText(t, event.BatchProgress, 100, large)
	conn := w.dial(t, "/global?since=0")
	for range 20 { // while the client reads nothing
		more := w.log.emit(t, event.BatchProgress, 10)
		w.publish(more...)
		want = append(want, more...)
	}
	wantEvents(t, conn, want)
	if clients, slow := w.hub.Stats(); clients != 1 || slow != 0 {
		t.Errorf("%d clients, %d slow", clients, slow)
	}
}

func TestAReplayQueuesNothingAndReadsByPages(t *testing.T) {
	pages := &pageCounter{}
	w := newWorld(t, Config{Events: pages})
	pages.Replayer = w.log
	w.log.emitText(t, event.BatchProgress, 200, large)
	w.dial(t, "/global?since=0") // reads nothing
	for range 5 {
		w.publish(w.log.emit(t, event.BatchProgress, 1)...)
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for c := range w.hub.owners[user] {
		c.mu.Lock()
		if c.live || len(c.queue) != 0 {
			t.Errorf("live: %t, %d queued", c.live, len(c.queue))
		}
		c.mu.Unlock()
	}
	pages.mu.Lock()
	defer pages.mu.Unlock()
	if pages.events > 3*pageEvents || pages.limit > pageEvents {
		t.Errorf("%d events were read for a client that takes none, %d at once", pages.events, pages.limit)
	}
}

// pageCounter counts what is read.
type pageCounter struct {
	Replayer[uuid.UUID]
	mu            sync.Mutex
	events, limit int
}

func (p *pageCounter) EventsAfter(owner uuid.UUID, seq uint64, limit int) ([]Event, error) {
	events, err := p.Replayer.EventsAfter(owner, seq, limit)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events += len(events)
	p.limit = max(p.limit, limit)
	return events, err
}

// Closing the file waits for the transactions that are open.
func TestSlowWriteHoldsNoTransaction(t *testing.T) {
	w := newWorld(t, Config{})
	events := w.log.emitText(t, event.BatchProgress, 200, large)
	conn := w.dial(t, "/global?since=0")
	wantEvents(t, conn, events[:1]) // the replay is under way, and will be stuck
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	if code := closeCode(t, conn); code != websocket.StatusInternalError {
		t.Errorf("closed with %d after the store failed", code)
	}
}

func TestEventPrunedDuringReplayIsNotSkipped(t *testing.T) {
	w := newWorld(t, Config{})
	events := w.log.emitText(t, event.BatchProgress, 200, large)
	conn := w.dial(t, "/global?since=1")
	wantEvents(t, conn, events[1:2])
	w.log.prune(t, 190)
	wantEvents(t, conn, events[2:189])
	if code := closeCode(t, conn); code != CodeSlow {
		t.Errorf("closed with %d", code)
	}
	if err := w.refusal(t, "/global?since=189"); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
}

func TestStopEndsAnUnreadReplay(t *testing.T) {
	w := newWorld(t, Config{})
	w.log.emitText(t, event.BatchProgress, 200, large)
	w.dial(t, "/global?since=0")
	if err := w.hub.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStopDoesNotWaitForAReplay(t *testing.T) {
	w := newWorld(t, Config{})
	events := w.log.emitText(t, event.BatchProgress, 200, large)
	conn := w.dial(t, "/global?since=0")
	wantEvents(t, conn, events[:1])
	go func() { _ = w.hub.Close(t.Context()) }()
	waitFor(t, "the stop", func() bool {
		w.hub.mu.Lock()
		defer w.hub.mu.Unlock()
		return w.hub.closed
	})
	for n := 1; ; n++ {
		if _, _, err := conn.Read(t.Context()); err != nil {
			if code := websocket.CloseStatus(err); code != 1001 || n == len(events) {
				t.Errorf("closed with %d after %d events", code, n)
			}
			return
		}
	}
}

// Clients come at random moments, from random positions, while events are
// stored, and published some time later. Each counts: what it got it starts
// from, and one for every message.
func TestReplayToLiveIsExactlyOnce(t *testing.T) {
	const total = 600
	w := newWorld(t, Config{SendBuffer: total})
	published := make(chan []Event, total)
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		for events := range published {
			w.publish(events...)
		}
	})
	for n := uint64(0); n < total; {
		batch := w.log.emitText(t, event.BatchProgress, 1+rand.IntN(4), fmt.Sprint(n))
		n = batch[len(batch)-1].Seq
		if rand.IntN(3) == 0 {
			since := fmt.Sprintf("?since=%d", rand.Uint64N(n+1))
			if rand.IntN(4) == 0 {
				since = ""
			}
			work.Go(func() { w.count(t, since, total) })
		}
		published <- batch
	}
	close(published)
}

// count reads until the event of the sequence last has come, and compares every
// message with the event that its position says.
func (w *world) count(t *testing.T, since string, last uint64) {
	conn, answer := w.dialAnswered(t, "/global"+since)
	from := answer.Get("x-event-since")
	if since == "" {
		from = answer.Get("x-event-sequence")
	}
	var position uint64
	if _, err := fmt.Sscan(from, &position); err != nil {
		t.Error(err)
		return
	}
	for position < last {
		_, body, err := conn.Read(t.Context())
		if err != nil {
			t.Errorf("since %q, position %d: %v", since, position, err)
			return
		}
		want, err := w.log.EventsAfter(user, position, 1)
		if err != nil || len(want) != 1 || string(body) != string(want[0].Body) {
			t.Errorf("since %q, position %d: got %s, want %v (%v)", since, position, body, want, err)
			return
		}
		position++
	}
	_ = conn.CloseNow()
}
