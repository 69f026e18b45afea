//go:build unix

package dispatch

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postern/event"
)

// BenchmarkSlowOfFive commits 200 events a second of 50 instances, each for five
// receivers that all instances share. One of these takes two seconds for an answer, or
// none is slow. It reports the processor time of each event, including the receivers, as
// a ratio to the run without a slow one, and the median number of goroutines.
func BenchmarkSlowOfFive(b *testing.B) {
	for _, order := range []event.Order{event.OrderNone, event.OrderChat} {
		b.Run("order="+string(order), func(b *testing.B) {
			for b.Loop() {
				alone, few := offerBesideSlow(b, 0, order)
				with, many := offerBesideSlow(b, 1, order)
				b.ReportMetric(ms(with.cpu)/float64(with.n), "ms-cpu/event")
				b.ReportMetric(float64(with.cpu)/float64(alone.cpu), "x-alone-cpu")
				b.ReportMetric(float64(many), "goroutines")
				b.ReportMetric(float64(few), "alone-goroutines")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func offerBesideSlow(b *testing.B, slow int, order event.Order) (c costs, goroutines int) {
	b.Helper()
	const receivers, instances, rate, lasts = 5, 50, 200, 12
	life, end := context.WithCancel(context.Background())
	var arrived atomic.Int64 // at those that are not slow
	var urls []string
	for i := range receivers {
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if i >= slow {
				arrived.Add(1)
				return
			}
			select {
			case <-time.After(2 * time.Second):
			case <-life.Done():
			}
		}))
		defer srv.Close()
		urls = append(urls, srv.URL)
	}
	u := openBench(b, urls, order)
	for n := range instances {
		for _, to := range u.to {
			u.lanes[endpointLane(int64(n)+1, to.Endpoint)] = to
		}
	}
	u.start(b)
	defer u.stop(b)
	defer end()
	var wg sync.WaitGroup
	var counts []int
	begin := time.Now()
	done := watch(b, rate*lasts)
	for n := range rate * lasts {
		time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / time.Duration(rate))))
		wg.Go(func() { u.emitFor(b, int64(n%instances)+1, strconv.Itoa(n%200), benchBody) })
		counts = append(counts, runtime.NumGoroutine())
	}
	wg.Wait()
	for arrived.Load() < int64(rate*lasts*(receivers-slow)) {
		time.Sleep(time.Millisecond)
	}
	c = done()
	slices.Sort(counts)
	return c, counts[len(counts)/2]
}
