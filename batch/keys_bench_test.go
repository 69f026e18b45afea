package batch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/batch/table"
	"postern/store"
)

// BenchmarkStopOfKey reports how long 100 000 unfinished batches, half of them of one key,
// take to be looked through and to be stopped, and how long another write waits meanwhile.
func BenchmarkStopOfKey(b *testing.B) {
	const many, step = 100_000, 500
	var found, took, waited time.Duration
	for b.Loop() {
		b.StopTimer()
		s, e := benchEngine(b)
		key := uuid.New()
		for range many / step {
			err := s.Update(b.Context(), func(tx *store.Tx) (err error) {
				for i := range step {
					err = errors.Join(err, putDraft(tx, e, map[int]uuid.UUID{0: key}[i%2]))
				}
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		begin := time.Now()
		if _, n, err := e.OfKey(key, 1000); err != nil || n != many/2 {
			b.Fatal(n, err)
		}
		found = time.Since(begin)
		ctx, cancel := context.WithCancel(b.Context())
		var others sync.WaitGroup
		others.Go(func() {
			for n := byte(0); ctx.Err() == nil; n++ {
				at := time.Now()
				if err := s.Update(ctx, func(tx *store.Tx) error { return tx.Put(record.BucketNumber, []byte("x"), []byte{n}) }); err == nil {
					waited = max(waited, time.Since(at))
				}
			}
		})
		begin = time.Now()
		if _, n, err := e.StopOfKey(b.Context(), key, 1000); err != nil || n != many/2 {
			b.Fatal(n, err)
		}
		took = time.Since(begin)
		cancel()
		others.Wait()
	}
	b.ReportMetric(float64(found.Milliseconds()), "ms/found")
	b.ReportMetric(took.Seconds(), "s/stopped")
	b.ReportMetric(float64(waited.Milliseconds()), "ms/other-write-max")
	b.ReportMetric(0, "ns/op")
}

// putDraft stores a draft without the commit of its own that Create takes.
func putDraft(tx *store.Tx, e *Engine, key uuid.UUID) error {
	b, to, err := e.prepare(context.Background(), owner, draftOf(1), nil)
	if err != nil {
		return err
	}
	items, err := encodeItems(b.id, to, 0, 1)
	return errors.Join(
		err,
		putItems(tx, items),
		store.PutJSON(tx, record.BucketSpec, b.id[:], b.spec),
		store.PutJSON(tx, record.BucketMessage, b.id[:], b.message),
		tx.Put(record.BucketOwner, store.Key(owner, b.id), record.EncodeRow(b.spec)),
		tx.Put(record.BucketOpen, b.id[:], runsFor{created: key}.encode()),
		e.step(tx, b, table.Input{On: table.OnDraft}, e.states(b.spec), nil),
	)
}
