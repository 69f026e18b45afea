package wsbus

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"nhooyr.io/websocket"

	"postern/event"
)

// kept is the stored events of instance 7.
type kept struct {
	mu     sync.Mutex
	events []Event
	gone   uint64 // those up to it are expired
	asked  func() // after the newest was read; nil: nothing
}

func (k *kept) Newest(int64) (uint64, error) {
	k.mu.Lock()
	newest := uint64(len(k.events))
	k.mu.Unlock()
	if k.asked != nil {
		k.asked()
	}
	return newest, nil
}

func (k *kept) EventsAfter(id int64, seq uint64, limit int) ([]Event, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id != 7 {
		return nil, errors.New("asked for another instance")
	}
	from := max(seq, k.gone)
	return slices.Clone(k.events[from:min(from+uint64(limit), uint64(len(k.events)))]), nil
}

func (k *kept) Gaps(int64, uint64, int) ([]Gap, error) { return nil, nil }

// store commits n events without publishing them.
func (k *kept) store(n int) (fresh []Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for range n {
		seq := uint64(len(k.events)) + 1
		k.events = append(k.events, Event{seq, event.MessagesUpsert, []byte(strconv.FormatUint(seq, 10))})
	}
	return k.events[len(k.events)-n:]
}

// expire removes the events up to one.
func (k *kept) expire(to uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = to
}

// tell publishes stored events as the relay does.
func (w *world) tell(events ...Event) {
	for _, e := range events {
		w.hub.PublishInstance(event.Notice{Kind: e.Kind, InstanceID: 7, Sequence: e.Seq, Body: e.Body})
	}
}

// tellUnstored publishes an event that is in no file.
func (w *world) tellUnstored(text string) {
	w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, Body: []byte(text)})
}

func TestSinceReplaysDurableEventsThenGoesLive(t *testing.T) {
	w := newWorld(t, Config{})
	stored := w.kept.store(200)
	conn, answer := w.dialAnswered(t, "/durable?since=20")
	wantHeaders(t, answer, "200", "20")
	wantEvents(t, conn, stored[20:])
	live := w.kept.store(3)
	w.tell(stored[190:]...) // late: the client got them from the store
	w.tell(live...)
	wantEvents(t, conn, live)
}

func TestSinceOfDurableInstanceIsValidated(t *testing.T) {
	w := newWorld(t, Config{})
	stored := w.kept.store(9)
	if err := w.refusal(t, "/durable?since=10"); !errors.Is(err, ErrAhead) {
		t.Errorf("ahead: %v", err)
	}
	w.kept.expire(4)
	if err := w.refusal(t, "/durable?since=3"); !errors.Is(err, ErrGone) {
		t.Errorf("expired: %v", err)
	}
	wantEvents(t, w.dial(t, "/durable?since=4"), stored[4:])
	conn, answer := w.dialAnswered(t, "/durable?since=0")
	wantHeaders(t, answer, "9", "4")
	wantEvents(t, conn, stored[4:])
	w.kept.expire(9)
	_, answer = w.dialAnswered(t, "/durable?since=0")
	wantHeaders(t, answer, "9", "9")
	_, answer = w.dialAnswered(t, "/durable?since=9")
	wantHeaders(t, answer, "9", "9")
}

func TestDurableClientWithoutSinceGetsNewEventsOnce(t *testing.T) {
	w := newWorld(t, Config{})
	stored := w.kept.store(5)
	conn, answer := w.dialAnswered(t, "/durable")
	wantHeaders(t, answer, "5", "")
	later := w.kept.store(2)
	w.tell(stored...) // published only now, but counted in the answer
	w.tell(later...)
	w.tell(later...)
	wantEvents(t, conn, later[:1])
	wantEvents(t, conn, later[1:])
}

func TestHandshakeWithoutDurableHasNoSequence(t *testing.T) {
	w := newWorld(t, Config{})
	w.kept.store(3)
	_, answer := w.dialAnswered(t, "/instance")
	for name := range answer {
		if strings.HasPrefix(name, http.CanonicalHeaderKey("x-event")) {
			t.Errorf("%s: %s", name, answer.Get(name))
		}
	}
}

func TestClientFromBeforeDurableGetsEventsOnce(t *testing.T) {
	w := newWorld(t, Config{})
	conn := w.dial(t, "/instance")
	w.tellUnstored("a")
	w.tell(w.kept.store(1)...)
	w.tellUnstored("b")
	w.tell(w.kept.store(1)...)
	for _, want := range []string{"a", "1", "b", "2"} {
		if got := read(t, conn); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestUnnumberedEventReachesLaggingClientWithoutSince(t *testing.T) {
	w := newWorld(t, Config{})
	var stored []Event
	w.kept.asked = func() {
		stored = w.kept.store(2)
		for i := range stored {
			stored[i].Body = []byte(strings.Repeat(strconv.Itoa(i), 8<<20))
		}
		w.tell(stored...)
		w.tellUnstored("of no file")
	}
	conn := w.dial(t, "/durable")
	wantEvents(t, conn, stored)
	if got := read(t, conn); got != "of no file" {
		t.Errorf("got %.20s", got)
	}
}

func TestExpiredEventIsNotSkippedForSlowReader(t *testing.T) {
	w := newWorld(t, Config{})
	stored := w.kept.store(200)
	for i := range stored {
		stored[i].Body = []byte(strings.Repeat("x", 256<<10))
	}
	conn := w.dial(t, "/durable?since=1")
	wantEvents(t, conn, stored[1:2])
	w.kept.expire(190)
	if code := closeCode(t, conn); code != CodeSlow {
		t.Errorf("closed with %d", code)
	}
}

// Clients come at random moments, from random positions, while events are stored,
// and published some time later. Each counts them.
func TestDurableEventsArriveExactlyOnce(t *testing.T) {
	const total = 600
	w := newWorld(t, Config{SendBuffer: 2 * total})
	published := make(chan []Event, total)
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		for events := range published {
			w.tell(events...)
		}
	})
	for n := 0; n < total; {
		fresh := w.kept.store(1 + rand.IntN(4))
		n += len(fresh)
		if rand.IntN(3) == 0 {
			since := "?since=" + strconv.Itoa(rand.IntN(n+1))
			if rand.IntN(4) == 0 {
				since = ""
			}
			conn, answer := w.dialAnswered(t, "/durable"+since)
			at, err := strconv.Atoi(answer.Get("x-event-sequence"))
			if from := strings.TrimPrefix(since, "?since="); since != "" && from != "0" {
				at, err = strconv.Atoi(from)
			} else if since != "" {
				at = 0
			}
			if err != nil {
				t.Fatal(err)
			}
			work.Go(func() { count(t, conn, at, total) })
		}
		published <- fresh
	}
	close(published)
}

// count reads until the event number total, or a later one.
func count(t *testing.T, conn *websocket.Conn, at, total int) {
	for at < total {
		_, body, err := conn.Read(t.Context())
		if err != nil {
			t.Errorf("after %d: %v", at, err)
			return
		}
		if at++; string(body) != fmt.Sprint(at) {
			t.Errorf("got %s, want %d", body, at)
			return
		}
	}
}
