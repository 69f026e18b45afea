package dispatch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// million is how many entries the benchmarks of this file leave pending, with
// bodies of 1000 bytes in 1000 batches.
const million = 1_000_000

// BenchmarkMillionPending opens a file with a million pending entries and repeatedly
// finds the next due one, at rest and during delivery. It compares the rate of the
// delivery with a bare client.
func BenchmarkMillionPending(b *testing.B) {
	path := filepath.Join(b.TempDir(), "million.db")
	fillMillion(b, path)
	url, _ := sink(b)
	for b.Loop() {
		begin := time.Now()
		s := openFile(b, store.Options{Path: path})
		b.ReportMetric(time.Since(begin).Seconds(), "open-s")
		rest := picksAtRest(b, s)
		b.ReportMetric(float64(percentile(rest, 0.99).Microseconds())/1000, "pick-p99-ms")
		rate, busy := drainSome(b, s, url)
		b.ReportMetric(float64(percentile(busy, 0.99).Microseconds())/1000, "busy-pick-p99-ms")
		b.ReportMetric(rate, "deliveries/s")
		b.ReportMetric(rate/bare(b, url), "x-bare")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

func fillMillion(b *testing.B, path string) {
	b.Helper()
	s := openStore(b, path)
	batches := make([]uuid.UUID, 1000)
	for i := range batches {
		batches[i] = uuid.New()
	}
	for done := 0; done < million; done += 5000 {
		err := s.Update(b.Context(), func(tx *store.Tx) error {
			for i := range 5000 {
				e := outbox.Emission{Kind: event.BatchProgress, Owner: owner, Batch: batches[i%1000], Data: string(benchBody)}
				if err := s.Emit(tx, e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil { // else the first commit would write it all
		b.Fatal(err)
	}
}

// drainSome delivers for a while and returns the rate, and how long it took to find the
// next due entry in the file meanwhile.
func drainSome(b *testing.B, s *file, url string) (rate float64, picks []time.Duration) {
	b.Helper()
	r := startRelay(b, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: url, Workers: benchWorkers, Sender: NewSender(SenderConfig{Connections: benchWorkers})})
	begin := time.Now()
	for r.delivered.Load() < 10*benchDeliveries {
		from := time.Now()
		if err := pickNext(s); err != nil {
			b.Fatal(err)
		}
		picks = append(picks, time.Since(from))
		time.Sleep(5 * time.Millisecond)
	}
	rate = float64(r.delivered.Load()) / time.Since(begin).Seconds()
	stopRelay(b, r)
	return rate, picks
}

// picksAtRest finds the next due entry repeatedly while nothing else runs.
func picksAtRest(b *testing.B, s *file) (picks []time.Duration) {
	b.Helper()
	for range 10_000 {
		from := time.Now()
		if err := pickNext(s); err != nil {
			b.Fatal(err)
		}
		picks = append(picks, time.Since(from))
	}
	return picks
}

// pickNext reads the next due entry as the relay does.
func pickNext(s *file) error {
	return s.View(func(tx *store.Tx) error {
		rows, err := delivery.DueAfter(tx, delivery.OutboxLane, delivery.Due{}, 1)
		if err != nil {
			return err
		}
		_, _, err = outbox.Get(tx, rows[0].OutboxSeq)
		return err
	})
}

func percentile(all []time.Duration, p float64) time.Duration {
	slices.Sort(all)
	return all[min(len(all)-1, int(p*float64(len(all))))]
}
