package store

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// The cost of showing readers only what is on disk, as a ratio to the same reads in a
// plain bbolt transaction, which sees commits that a power cut may undo. Both are
// measured in turns in the same run.

func BenchmarkViewAlone(b *testing.B)              { benchmarkView(b, 0, 1) }
func BenchmarkViewBeside64Writers(b *testing.B)    { benchmarkView(b, 64, 1) }
func BenchmarkViews16Beside64Writers(b *testing.B) { benchmarkView(b, 64, 16) }
func BenchmarkViews64Beside64Writers(b *testing.B) { benchmarkView(b, 64, 64) }

const viewedKeys = 10_000

func benchmarkView(b *testing.B, writers, readers int) {
	s, err := Open(Options{Path: filepath.Join(b.TempDir(), "s.db"), Buckets: declared})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	value := make([]byte, 200)
	err = s.Update(b.Context(), func(tx *Tx) error {
		for i := range viewedKeys {
			if err := tx.Put("thing", Key(i), value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for !stop.Load() {
				key := Key(rand.IntN(viewedKeys))
				if err := s.Update(b.Context(), func(tx *Tx) error { return tx.Put("thing", key, value) }); err != nil {
					b.Error(err)
				}
			}
		})
	}
	plain := func(fn func(*Tx) error) error {
		tx := &Tx{schema: s.schema, now: stamp(s.opts.Now())}
		err := s.db.View(func(btx *bolt.Tx) error {
			tx.bolt, tx.openings = btx, &openings{}
			return fn(tx)
		})
		s.reportDamage(tx)
		return err
	}
	var ours, bare float64
	for b.Loop() {
		ours += viewsPerSecond(b, readers, s.View)
		bare += viewsPerSecond(b, readers, plain)
	}
	stop.Store(true)
	wg.Wait()
	b.ReportMetric(ours/float64(b.N), "views/s")
	b.ReportMetric(ours/bare, "x-bolt.View")
	b.ReportMetric(0, "ns/op")
}

func viewsPerSecond(b *testing.B, readers int, view func(func(*Tx) error) error) float64 {
	var views atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range readers {
		wg.Go(func() {
			for time.Since(start) < 20*time.Millisecond {
				key := Key(rand.IntN(viewedKeys))
				err := view(func(tx *Tx) error {
					v, err := tx.Get("thing", key)
					if v == nil && err == nil {
						err = errors.New("a record is missing")
					}
					return err
				})
				if err != nil {
					b.Error(err)
				}
				views.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(views.Load()) / time.Since(start).Seconds()
}
