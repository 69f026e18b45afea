package dispatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postern/event"
)

// gate is a receiver that holds every request until it is opened.
type gate struct {
	*httptest.Server
	open    chan struct{}
	flying  atomic.Int32
	most    atomic.Int32
	arrived atomic.Int32
}

func newGate(t *testing.T) *gate {
	g := &gate{open: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		g.arrived.Add(1)
		n := g.flying.Add(1)
		for m := g.most.Load(); n > m && !g.most.CompareAndSwap(m, n); m = g.most.Load() {
		}
		<-g.open
		g.flying.Add(-1)
	}))
	t.Cleanup(g.Close)
	t.Cleanup(g.release)
	return g
}

func (g *gate) release() {
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

func counting(t *testing.T) (srv *httptest.Server, count *atomic.Int32) {
	count = &atomic.Int32{}
	srv = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { count.Add(1) }))
	t.Cleanup(srv.Close)
	return srv, count
}

func notice(urls ...string) event.Notice {
	n := event.Notice{Kind: event.MessagesUpsert, Body: []byte("{}"), InstanceName: "n"}
	for _, u := range urls {
		n.To = append(n.To, event.Destination{URL: u})
	}
	return n
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: never", what)
		}
	}
}

func TestADestinationThatHangsCostsItsNeighboursNothing(t *testing.T) {
	dead := newGate(t)
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{})})
	for range 100 {
		if err := q.Enqueue(notice(dead.URL)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the dead one is tried", func() bool { return dead.arrived.Load() > 0 })
	var healthy []*atomic.Int32
	for range 19 {
		srv, count := counting(t)
		healthy = append(healthy, count)
		for range 20 {
			if err := q.Enqueue(notice(srv.URL)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, count := range healthy {
		eventually(t, fmt.Sprint("neighbour ", i), func() bool { return count.Load() == 20 })
	}
	if n := dead.most.Load(); n > 10 {
		t.Errorf("%d deliveries in flight to the one that hangs, ten workers", n)
	}
	dead.release()
	if err := q.Close(t.Context()); err != nil || q.Stats().Delivered != 100+19*20 {
		t.Errorf("%v, %+v", err, q.Stats())
	}
}

func TestADestinationAloneMayUseAllWorkers(t *testing.T) {
	g := newGate(t)
	g.release() // accepts at first
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{})})
	if err := q.Enqueue(notice(g.URL)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first delivery", func() bool { return q.Stats().Delivered == 1 })
	// A lane that is empty is forgotten, so the good word must come from the same lane.
	slow := make(chan struct{})
	var most, flying atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n := flying.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n > 2 {
			<-slow
		} else {
			time.Sleep(20 * time.Millisecond)
		}
		flying.Add(-1)
	}))
	defer srv.Close()
	for range 40 {
		if err := q.Enqueue(notice(srv.URL)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "ten in flight", func() bool { return most.Load() >= 9 })
	close(slow)
	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := most.Load(); n > 10 {
		t.Errorf("%d in flight, 10 workers", n)
	}
}

func TestFullQueueJudgesEachDestinationAlone(t *testing.T) {
	g := newGate(t)
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{}), Workers: 1, Size: 3})
	if err := q.Enqueue(notice(g.URL)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "one in flight", func() bool { return q.Stats().InFlight == 1 })
	if err := q.Enqueue(notice(g.URL, g.URL)); err != nil {
		t.Fatal(err)
	}
	err := q.Enqueue(notice(g.URL, g.URL, g.URL)) // one slot is left
	if !errors.Is(err, ErrQueueFull) {
		t.Errorf("Enqueue: %v", err)
	}
	if s := q.Stats(); s.Waiting != 3 || s.Full != 2 {
		t.Errorf("%+v", s)
	}
	g.release()
	if err := q.Close(t.Context()); err != nil || q.Stats().Delivered != 4 {
		t.Errorf("%v, %+v", err, q.Stats())
	}
}

func TestThereIsNoRetryAndFailuresAreCounted(t *testing.T) {
	var tries atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tries.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer srv.Close()
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{})})
	if err := q.Enqueue(notice(srv.URL, "http://127.0.0.1:1/")); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := q.Stats(); tries.Load() != 1 || s.Refused != 1 || s.Failed != 1 || s.Delivered != 0 {
		t.Errorf("%d tries, %+v", tries.Load(), s)
	}
}

func TestCloseDrainsAndThenRefuses(t *testing.T) {
	srv, count := counting(t)
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{})})
	for range 200 {
		if err := q.Enqueue(notice(srv.URL)); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Close(t.Context()); err != nil || count.Load() != 200 {
		t.Errorf("%v, %d delivered", err, count.Load())
	}
	if err := q.Enqueue(notice(srv.URL)); !errors.Is(err, ErrQueueClosed) {
		t.Errorf("Enqueue after Close: %v", err)
	}
}

func TestCloseGivesUpWhenItsContextEnds(t *testing.T) {
	g := newGate(t)
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{}), Workers: 2})
	for range 10 {
		if err := q.Enqueue(notice(g.URL)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "two in flight", func() bool { return q.Stats().InFlight == 2 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := q.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if s := q.Stats(); s.Closed != 8 || s.Failed != 2 || s.Waiting != 0 || s.InFlight != 0 {
		t.Errorf("%+v", s)
	}
}

func TestEnqueueIsSafeFromManyGoroutines(t *testing.T) {
	srv, count := counting(t)
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{}), Size: 10_000})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 50 {
				if err := q.Enqueue(notice(srv.URL)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := q.Close(t.Context()); err != nil || count.Load() != 1000 {
		t.Errorf("%v, %d delivered", err, count.Load())
	}
}

func TestDestinationMayUseWorkersThatOthersLeave(t *testing.T) {
	dead := newGate(t)
	defer dead.release()
	healthy := newGate(t)
	defer healthy.release()
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{})})
	for range 2 {
		if err := q.Enqueue(notice(dead.URL)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "two hang", func() bool { return dead.arrived.Load() == 2 })
	for range 20 {
		if err := q.Enqueue(notice(healthy.URL)); err != nil {
			t.Fatal(err)
		}
	}
	healthy.open <- struct{}{} // accepted once: it may have more than its share
	eventually(t, "the other eight work", func() bool { return q.Stats().InFlight == 10 })
	healthy.release()
	dead.release()
	if err := q.Close(t.Context()); err != nil || q.Stats().Delivered != 22 {
		t.Errorf("%v, %+v", err, q.Stats())
	}
}

// TestNineDeadReceiversLoseNothingOfTheTenth floods nine receivers that hang on real
// sockets; every event for the tenth arrives, and none waits for the others.
func TestNineDeadReceiversLoseNothingOfTheTenth(t *testing.T) {
	var urls []string
	for range 9 {
		g := newGate(t)
		urls = append(urls, g.URL)
	}
	healthy, count := counting(t)
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{})})
	for round := range int32(300) {
		for range 3 {
			for _, u := range urls {
				_ = q.Enqueue(notice(u))
			}
		}
		if err := q.Enqueue(notice(healthy.URL)); err != nil {
			t.Fatal(err)
		}
		eventually(t, fmt.Sprint("event ", round), func() bool { return count.Load() == round+1 })
	}
	if s := q.Stats(); s.Full == 0 || s.Waiting < 900 {
		t.Errorf("%+v: it was never full, this shows nothing", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Close(ctx); err != nil {
		t.Fatal(err)
	}
}
