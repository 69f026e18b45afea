package batch

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// BenchmarkOneBatch reports a batch's items per second as a share of the bare
// commits per second that one caller gets from the same file.
func BenchmarkOneBatch(b *testing.B) {
	const items = 3000
	var ratio, rate float64
	for b.Loop() {
		s, e := benchEngine(b)
		before := bareRate(b, s)
		rate = batchRate(b, s, e, 1, items)
		ratio = rate / ((before + bareRate(b, s)) / 2)
	}
	b.ReportMetric(rate, "items/s")
	b.ReportMetric(ratio, "of-bare-commits")
}

// BenchmarkEightBatches reports the items per second of eight batches as a
// multiple of those of one.
func BenchmarkEightBatches(b *testing.B) {
	const items = 2000
	var ratio, rate, shared float64
	for b.Loop() {
		s, e := benchEngine(b)
		one := batchRate(b, s, e, 1, items)
		before := s.Stats().Commits
		rate = batchRate(b, s, e, 8, items)
		ratio, shared = rate/one, 8*items/float64(s.Stats().Commits-before)
	}
	b.ReportMetric(shared, "items/commit")
	b.ReportMetric(rate, "items/s")
	b.ReportMetric(ratio, "of-one-batch")
}

func benchEngine(b *testing.B) (*store.Store, *Engine) {
	b.Helper()
	s, err := store.Open(store.Options{Path: filepath.Join(b.TempDir(), "b.db"), Buckets: withOutbox()})
	if err != nil {
		b.Fatal(err)
	}
	e := startEngine(b, s)
	b.Cleanup(func() { stopEngine(b, s, e) })
	return s, e
}

// bareRate returns how many one-record commits a second one caller gets.
func bareRate(b *testing.B, s *store.Store) float64 {
	b.Helper()
	const n = 1000
	value := make([]byte, 200)
	begin := time.Now()
	for i := range n {
		err := s.Update(b.Context(), func(tx *store.Tx) error {
			return tx.Put(record.BucketOwner, store.Key("bench", i), value)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return n / time.Since(begin).Seconds()
}

func batchRate(b *testing.B, s *store.Store, e *Engine, batches, items int) float64 {
	b.Helper()
	var made []uuid.UUID
	for n := range batches {
		req, no := request(items), false
		req.AutoStart, req.Name = &no, fmt.Sprint("bench ", n)
		req.Message = event.BatchMessage{Type: "text", Payload: json.RawMessage(`{"text":"hello"}`)}
		v, err := e.Create(b.Context(), owner, req)
		if err != nil {
			b.Fatal(err)
		}
		made = append(made, v.ID)
	}
	begin := time.Now()
	for _, id := range made {
		if _, err := e.StartBatch(b.Context(), owner, id); err != nil {
			b.Fatal(err)
		}
	}
	for _, id := range made { // the last one that ends is what counts
		await(b, s, e, id)
	}
	return float64(batches*items) / time.Since(begin).Seconds()
}

// await waits for the end of a batch, looking at it after each event only.
func await(b *testing.B, s *store.Store, e *Engine, id uuid.UUID) {
	b.Helper()
	awaitStatus(b, s, e, id, table.Final)
}

func awaitStatus(b *testing.B, s *store.Store, e *Engine, id uuid.UUID, is func(event.BatchStatus) bool) {
	b.Helper()
	for {
		wake := e.cfg.Outbox.Emitted()
		v, err := e.Batch(owner, id)
		if err != nil {
			b.Fatal(err)
		}
		if is(v.Status) {
			return
		}
		<-wake
	}
}
