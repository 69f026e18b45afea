package dispatch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// offered is how long the benchmark offers events at a steady rate.
const offered = 30 * time.Second

// BenchmarkCommitToReceipt offers events of 50 batches at a steady rate and
// measures from the return of the commit to the receiver's handler. Every
// event must arrive, and none twice.
func BenchmarkCommitToReceipt(b *testing.B) {
	for _, rate := range []int{200, 1000} {
		b.Run(fmt.Sprint(rate, "-per-s"), func(b *testing.B) {
			for b.Loop() {
				took := offer(b, rate)
				b.ReportMetric(float64(percentile(took, 0.5).Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(percentile(took, 0.99).Microseconds())/1000, "p99-ms")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// clocked is when each event was committed and when it arrived.
type clocked struct {
	mu        sync.Mutex
	committed []time.Time
	arrived   [][]time.Time
}

func (c *clocked) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var body struct{ Data emitted }
	_ = json.NewDecoder(r.Body).Decode(&body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arrived[body.Data.N] = append(c.arrived[body.Data.N], now)
}

func (c *clocked) commit(n int) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.committed[n] = now
}

func offer(b *testing.B, rate int) (took []time.Duration) {
	b.Helper()
	n := int(offered.Seconds()) * rate
	c := &clocked{committed: make([]time.Time, n), arrived: make([][]time.Time, n)}
	srv := httptest.NewServer(c)
	defer srv.Close()
	s := openFile(b, store.Options{Path: filepath.Join(b.TempDir(), "p.db")})
	defer s.Close()
	r := startRelay(b, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: srv.URL, Workers: benchWorkers, Sender: NewSender(SenderConfig{Connections: benchWorkers})})
	c.emitAll(b, s, rate)
	for r.delivered.Load() < uint64(n) {
		time.Sleep(time.Millisecond)
	}
	stopRelay(b, r)
	return c.took(b)
}

// emitAll commits each event separately and at its time, whether or not earlier ones are
// done.
func (c *clocked) emitAll(b *testing.B, s *file, rate int) {
	batches := make([]uuid.UUID, 50)
	for i := range batches {
		batches[i] = uuid.New()
	}
	var wg sync.WaitGroup
	begin := time.Now()
	for n := range c.committed {
		time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / time.Duration(rate))))
		wg.Go(func() {
			batch := batches[n%len(batches)]
			err := s.Update(b.Context(), func(tx *store.Tx) error {
				return s.Emit(tx, outbox.Emission{Kind: event.BatchProgress, Owner: owner, Batch: batch, Data: emitted{batch.String(), n}})
			})
			if err != nil {
				b.Error(err)
			}
			c.commit(n)
		})
	}
	wg.Wait()
}

func (c *clocked) took(b *testing.B) (took []time.Duration) {
	b.Helper()
	for n, at := range c.committed {
		if len(c.arrived[n]) != 1 {
			b.Fatalf("event %d arrived %d times", n, len(c.arrived[n]))
		}
		// The relay hears of a commit before its caller goes on.
		took = append(took, max(0, c.arrived[n][0].Sub(at)))
	}
	return took
}
