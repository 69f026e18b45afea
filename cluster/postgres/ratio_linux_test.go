package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postern/cluster"
	"postern/cluster/postgres/pgtest"
	"postern/store"
)

var ratioBucket = store.Bucket{Name: "thing", Owner: "test", Key: "number", Value: "200 bytes"}

// lead returns a store that owns a new cell, whose commits wait for a second server.
func lead(b *testing.B, url string) *store.Store {
	b.Helper()
	db := open(b, url)
	n := cluster.New(cluster.Config{
		Database: db, Cell: "main", Name: "bench", Lease: 30 * time.Second, Logger: slog.New(slog.DiscardHandler), Ended: func(err error) { b.Error(err) },
		File: store.Options{Path: filepath.Join(b.TempDir(), "cell.db"), Buckets: []store.Bucket{ratioBucket}, MinFree: 1},
	})
	s, err := n.Lead(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = s.Close()
		_ = n.Stop(context.Background())
	})
	return s
}

// updates makes n changes by a number of callers, and returns how many a second were made.
func updates(b *testing.B, s *store.Store, callers, n int) float64 {
	b.Helper()
	value := make([]byte, 200)
	var next atomic.Int64
	var work sync.WaitGroup
	began := time.Now()
	for range callers {
		work.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				err := s.Update(context.Background(), func(tx *store.Tx) error {
					return tx.Put("thing", store.Key(uint64(i%5000)), value) //nolint:gosec // small
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	return float64(n) / time.Since(began).Seconds()
}

// BenchmarkCellAgainstFile compares changes of a cell, with a synchronous second server,
// with those of a file alone, in turns in the same run.
func BenchmarkCellAgainstFile(b *testing.B) {
	server := pgtest.Start(b)
	server.AddStandby(b, "second")
	alone, err := store.Open(store.Options{Path: filepath.Join(b.TempDir(), "alone.db"), Buckets: []store.Bucket{ratioBucket}, MinFree: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer alone.Close()
	cell := lead(b, pgtest.URL(server.Database(b), server))
	for _, row := range []struct{ callers, changes int }{{1, 1000}, {8, 4000}, {64, 20_000}} {
		b.Run(fmt.Sprintf("callers=%d", row.callers), func(b *testing.B) {
			var file, shared float64
			for b.Loop() {
				file += updates(b, alone, row.callers, row.changes)
				shared += updates(b, cell, row.callers, row.changes)
			}
			b.ReportMetric(file/float64(b.N), "file/s")
			b.ReportMetric(shared/float64(b.N), "cell/s")
			b.ReportMetric(shared/file, "x-file")
			b.ReportMetric(0, "ns/op")
		})
	}
}
