package dispatch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// The figures of BENCHMARKS.md: deliveries per second to a loopback receiver
// that answers at once, as a ratio to a bare http.Client loop with the same
// ten workers, measured in turns in the same run.

const (
	benchWorkers    = 10
	benchDeliveries = 4000
)

var benchBody = []byte(`"` + strings.Repeat("x", 998) + `"`)

func sink(b *testing.B) (url string, count *atomic.Int64) {
	b.Helper()
	count = &atomic.Int64{}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		count.Add(1)
	}))
	b.Cleanup(srv.Close)
	return srv.URL, count
}

// bare posts with nothing but an http.Client and returns deliveries per second.
func bare(b *testing.B, url string) float64 {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchWorkers}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range benchWorkers {
		wg.Go(func() {
			for next.Add(1) <= benchDeliveries {
				resp, err := client.Post(url, "application/json", bytes.NewReader(benchBody))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	return benchDeliveries / time.Since(begin).Seconds()
}

func BenchmarkQueue(b *testing.B) {
	url, count := sink(b)
	sender := NewSender(SenderConfig{Connections: benchWorkers})
	queued := func() float64 {
		q := NewQueue(QueueConfig{Sender: sender, Workers: benchWorkers, Size: benchDeliveries})
		count.Store(0)
		begin := time.Now()
		for range benchDeliveries {
			n := event.Notice{Kind: event.MessagesUpsert, Body: benchBody, InstanceName: "n", InstanceID: 1, RequestID: "r", To: []event.Destination{{URL: url}}}
			if err := q.Enqueue(n); err != nil {
				b.Fatal(err)
			}
		}
		if err := q.Close(b.Context()); err != nil || count.Load() != benchDeliveries {
			b.Fatal(err, count.Load())
		}
		return benchDeliveries / time.Since(begin).Seconds()
	}
	compare(b, url, queued)
}

// BenchmarkOutbox starts with committed entries and ends when all are acknowledged in the
// file.
func BenchmarkOutbox(b *testing.B) { benchmarkOutbox(b, false) }

// BenchmarkOutboxLive has 200 batches commit one entry at a time during the run, so that
// their commits are part of the time.
func BenchmarkOutboxLive(b *testing.B) { benchmarkOutbox(b, true) }

func benchmarkOutbox(b *testing.B, live bool) {
	url, _ := sink(b)
	run := 0
	relayed := func() float64 {
		run++
		s := openFile(b, store.Options{Path: filepath.Join(b.TempDir(), fmt.Sprint(run, ".db"))})
		defer s.Close()
		r := NewRelay(RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: url, Workers: benchWorkers, Sender: NewSender(SenderConfig{Connections: benchWorkers})})
		if !live {
			emitAll(b, s)
		}
		if err := r.Start(); err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		if live {
			emitAll(b, s)
		}
		for r.delivered.Load() < benchDeliveries {
			time.Sleep(100 * time.Microsecond)
		}
		took := time.Since(begin)
		stopRelay(b, r)
		stats := s.Stats()
		b.ReportMetric(float64(stats.Commits)/benchDeliveries, "commits/event")
		b.ReportMetric(float64(stats.Pages)/benchDeliveries, "pages/event")
		return benchDeliveries / took.Seconds()
	}
	compare(b, url, relayed)
}

// emitAll commits the entries of 200 batches, one at a time each.
func emitAll(b *testing.B, s *file) {
	const batches = 200
	var wg sync.WaitGroup
	for range batches {
		wg.Go(func() {
			batch := uuid.New()
			for range benchDeliveries / batches {
				emitBench(b, s, batch)
			}
		})
	}
	wg.Wait()
}

func emitBench(b *testing.B, s *file, batch uuid.UUID) {
	err := s.Update(b.Context(), func(tx *store.Tx) error {
		return s.Emit(tx, outbox.Emission{Kind: event.BatchProgress, Owner: owner, Batch: batch, Data: string(benchBody)})
	})
	if err != nil {
		b.Error(err)
	}
}

func compare(b *testing.B, url string, ours func() float64) {
	b.Helper()
	var rate, reference float64
	rounds := 0
	for b.Loop() {
		rate += ours()
		reference += bare(b, url)
		rounds++
	}
	b.ReportMetric(rate/float64(rounds), "deliveries/s")
	b.ReportMetric(rate/reference, "x-bare")
	b.ReportMetric(0, "ns/op")
}
