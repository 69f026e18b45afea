package store

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// The figures of BENCHMARKS.md: durable commits per second with group commit, as a ratio
// to bare db.Update and db.Batch with the same bbolt options, measured in the same run.

func BenchmarkUpdateOneCaller(b *testing.B)   { benchmarkUpdate(b, 1) }
func BenchmarkUpdateManyCallers(b *testing.B) { benchmarkUpdate(b, 64) }

func benchmarkUpdate(b *testing.B, callers int) {
	value := make([]byte, 200)
	s, err := Open(Options{Path: filepath.Join(b.TempDir(), "s.db"), Buckets: declared})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	db := bareBolt(b)

	perSecond := func(calls int, call func(key []byte) error) float64 {
		start := time.Now()
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for i := range calls / callers {
					if err := call(Key(c, i)); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		return float64(calls/callers*callers) / time.Since(start).Seconds()
	}
	// The three take turns in rounds, so that a slow moment of the machine
	// hits all of them.
	var grouped, bare, batch float64
	rounds := 0
	for b.Loop() {
		n := 64 * callers
		grouped += perSecond(n, func(key []byte) error {
			return s.Update(b.Context(), func(tx *Tx) error { return tx.Put("thing", key, value) })
		})
		bare += perSecond(64, func(key []byte) error {
			return db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("thing")).Put(key, value) })
		})
		batch += perSecond(64, func(key []byte) error {
			return db.Batch(func(tx *bolt.Tx) error { return tx.Bucket([]byte("thing")).Put(key, value) })
		})
		rounds++
	}
	b.ReportMetric(grouped/float64(rounds), "updates/s")
	b.ReportMetric(grouped/bare, "x-db.Update")
	b.ReportMetric(grouped/batch, "x-db.Batch")
	b.ReportMetric(0, "ns/op")
}

func bareBolt(b *testing.B) *bolt.DB {
	b.Helper()
	db, err := openBolt(filepath.Join(b.TempDir(), "bare.db"), false, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte("thing"))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return db
}
