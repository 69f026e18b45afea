package dispatch

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postern/event"
)

// deadFor is how long BenchmarkDeadReceivers offers events. The dead receivers time out
// at 15 s, so that it covers two rounds of them.
const deadFor = 35 * time.Second

// BenchmarkDeadReceivers offers 200 events a second to ten receivers on
// loopback of which some accept the connection and never answer. It reports
// the p99 from Enqueue to arrival at the healthy ones, as a ratio to the same
// without the events for the dead ones, and how many of theirs were lost.
func BenchmarkDeadReceivers(b *testing.B) {
	for _, dead := range []int{1, 3, 9} {
		b.Run(fmt.Sprint(dead, "-of-10"), func(b *testing.B) {
			for b.Loop() {
				with, lost := offerBesideDead(b, dead, false)
				alone, _ := offerBesideDead(b, dead, true)
				b.ReportMetric(float64(with.Microseconds())/1000, "p99-ms")
				b.ReportMetric(float64(with)/float64(alone), "x-alone")
				b.ReportMetric(float64(lost), "lost")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func offerBesideDead(b *testing.B, dead int, alone bool) (p99 time.Duration, lost int) {
	b.Helper()
	var mu sync.Mutex
	enqueued := map[int]time.Time{}
	var took []time.Duration
	life, end := context.WithCancel(context.Background())
	var urls []string
	for i := range destinations {
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			now := time.Now()
			if i < dead {
				<-life.Done()
				return
			}
			n, _ := strconv.Atoi(r.Header.Get("X-Request-Id"))
			mu.Lock()
			defer mu.Unlock()
			took = append(took, now.Sub(enqueued[n]))
			delete(enqueued, n)
		}))
		defer srv.Close()
		urls = append(urls, srv.URL)
	}
	defer end()
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{})})
	begin := time.Now()
	for n := range int(deadFor.Seconds()) * perSecond {
		time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / perSecond)))
		i := n % destinations
		if i < dead && alone {
			continue
		}
		e := numbered("", n)
		e.To = []event.Destination{{URL: urls[i]}}
		if i >= dead {
			mu.Lock()
			enqueued[n] = time.Now()
			mu.Unlock()
		}
		_ = q.Enqueue(e)
	}
	time.Sleep(time.Second)
	mu.Lock()
	defer mu.Unlock()
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	go func() { _ = q.Close(stopped) }()
	return percentileOf(took, 0.99), len(enqueued)
}

// BenchmarkEnqueueFull measures taking a place when none is left and every waiting
// delivery goes to a different destination, except those of the one that loses.
func BenchmarkEnqueueFull(b *testing.B) {
	for _, size := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(size, "-places"), func(b *testing.B) {
			q := NewQueue(QueueConfig{Size: size, Workers: 1, Sender: &Sender{timeout: time.Hour, wire: tripper(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})}})
			stopped, cancel := context.WithCancel(context.Background())
			cancel()
			defer func() { _ = q.Close(stopped) }()
			for n := range size / 2 {
				_ = q.Enqueue(numbered(fmt.Sprint("h", n), n))
				_ = q.Enqueue(numbered("dead", n))
			}
			n := 0
			for b.Loop() {
				n++
				_ = q.Enqueue(numbered(fmt.Sprint("h", n%(size/2)), n))
			}
		})
	}
}

// BenchmarkFirstSecond is BenchmarkDeadReceivers in the second after receivers stop
// answering, ten times over.
func BenchmarkFirstSecond(b *testing.B) {
	for _, dead := range []int{1, 3} {
		b.Run(fmt.Sprint(dead, "-of-10"), func(b *testing.B) {
			for b.Loop() {
				var with, alone []time.Duration
				for range 10 {
					with = append(with, offerAsTheyDie(b, dead, false)...)
					alone = append(alone, offerAsTheyDie(b, dead, true)...)
				}
				p99, base := percentileOf(with, 0.99), percentileOf(alone, 0.99)
				b.ReportMetric(ms(p99), "p99-ms")
				b.ReportMetric(ms(slices.Max(with)), "longest-ms")
				b.ReportMetric(float64(p99)/float64(base), "x-alone")
				b.ReportMetric(ms(slices.Max(alone)), "alone-longest-ms")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// offerAsTheyDie offers 200 events a second for a second before the first receivers die
// and for a second after, and returns how long the events of the second second took to
// the other receivers.
func offerAsTheyDie(b *testing.B, dead int, alone bool) (took []time.Duration) {
	b.Helper()
	var mu sync.Mutex
	enqueued := map[int]time.Time{}
	var died atomic.Bool
	life, end := context.WithCancel(context.Background())
	var urls []string
	for i := range destinations {
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			now := time.Now()
			if i < dead && died.Load() {
				<-life.Done()
				return
			}
			n, _ := strconv.Atoi(r.Header.Get("X-Request-Id"))
			mu.Lock()
			defer mu.Unlock()
			if at, late := enqueued[n]; late {
				took = append(took, now.Sub(at))
			}
		}))
		defer srv.Close()
		urls = append(urls, srv.URL)
	}
	defer end()
	q := NewQueue(QueueConfig{Sender: NewSender(SenderConfig{})})
	begin := time.Now()
	for n := range 2 * perSecond {
		time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / perSecond)))
		died.Store(n >= perSecond)
		i := n % destinations
		switch {
		case i < dead && alone && died.Load():
			continue
		case i >= dead && died.Load():
			mu.Lock()
			enqueued[n] = time.Now()
			mu.Unlock()
		}
		e := numbered("", n)
		e.To = []event.Destination{{URL: urls[i]}}
		if err := q.Enqueue(e); err != nil {
			b.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond)
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	end()
	if err := q.Close(stopped); err != nil {
		b.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return took
}
