package batch

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"postern/batch/record"
	"postern/batch/table"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// BenchmarkStart reports how long a process waits for its file and for the
// engine when 100 000 finished items and as many undelivered events are in it.
func BenchmarkStart(b *testing.B) {
	const batches, itemsEach, eventsEach = 100, 1000, 1000
	path := filepath.Join(b.TempDir(), "b.db")
	s := openStore(b, path)
	e := startEngine(b, s)
	for range batches {
		finishedBatch(b, s, e, itemsEach, eventsEach)
	}
	stopEngine(b, s, e)

	for b.Loop() {
		s := openStore(b, path)
		e := startEngine(b, s)
		b.StopTimer()
		stopEngine(b, s, e)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/start")
}

// finishedBatch writes what is left of a batch whose items were all sent.
func finishedBatch(b *testing.B, s *store.Store, e *Engine, items, events int) {
	b.Helper()
	made, to, err := e.prepare(b.Context(), owner, request(items), nil)
	if err != nil {
		b.Fatal(err)
	}
	made.Status, made.Counts = event.BatchIsCompleted, table.Counts{Total: items, Success: items}
	states := e.states(made.spec)
	err = s.Update(b.Context(), func(tx *store.Tx) error {
		err := errors.Join(
			record.PutHeader(tx, made.id, &made.Header),
			store.PutJSON(tx, record.BucketSpec, made.id[:], made.spec),
			store.PutJSON(tx, record.BucketMessage, made.id[:], made.message),
			tx.Put(record.BucketOwner, store.Key(owner, made.id), nil),
		)
		for i := range to.Len() {
			r := record.Item{Input: to.Given.At(i)}
			r.Status, r.Instance, r.ClientID, r.Attempts = record.ItemSuccess, 1, "3EB0C7A1D2E3F4051627", 1
			r.WhatsApp, r.JID = r.ClientID, r.Recipient()+"@"+event.UserServer
			err = errors.Join(err, tx.Put(record.BucketItem, record.ItemKey(made.id, i), r.Encode()))
		}
		for range events {
			progress := made.payload(event.BatchProgress, states, &subject{0, record.Item{Input: to.Given.At(0)}}, "")
			err = errors.Join(err, e.cfg.Outbox.Emit(tx, outbox.Emission{Kind: event.BatchProgress, Owner: owner, Batch: made.id, Data: progress}))
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

func startEngine(b testing.TB, s *store.Store) *Engine {
	b.Helper()
	f := newFleet(1, 2)
	e, err := New(Config{Store: s, Outbox: replayOnly(b, s), Fleet: f, Enabled: true, NewMessageID: f.messageID})
	if err != nil {
		b.Fatal(err)
	}
	if err := e.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	return e
}

func stopEngine(b testing.TB, s *store.Store, e *Engine) {
	b.Helper()
	if err := e.Stop(context.Background()); err != nil {
		b.Error(err)
	}
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}
