package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// writtenSoFar returns the bytes that the process has written, and its calls that wrote them.
func writtenSoFar(b *testing.B) (written, calls float64) {
	b.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Fatal(err)
	}
	var read, reads float64
	if _, err := fmt.Sscanf(string(text), "rchar: %g\nwchar: %g\nsyscr: %g\nsyscw: %g", &read, &written, &reads, &calls); err != nil {
		b.Fatal(err)
	}
	return written, calls
}

// BenchmarkCounted makes the same commits by one caller in each run, of n records that are put,
// read and deleted, without waiting for the disk. What it counts depends on no other process:
// allocations, commits, and what is written.
func BenchmarkCounted(b *testing.B) {
	value := make([]byte, 200)
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			s, err := Open(Options{Path: filepath.Join(b.TempDir(), "s.db"), Buckets: declared, NoSync: true})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			written, calls := writtenSoFar(b)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if err := s.Update(b.Context(), func(tx *Tx) error {
					for k := range n {
						if err := tx.Put("thing", Key(i%5000, k), value); err != nil {
							return err
						}
					}
					if _, err := tx.Get("thing", Key(i%5000, 0)); err != nil {
						return err
					}
					return tx.Delete("thing", Key((i+2500)%5000, 0))
				}); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			writtenNow, callsNow := writtenSoFar(b)
			b.ReportMetric((writtenNow-written)/float64(b.N), "written-B/op")
			b.ReportMetric((callsNow-calls)/float64(b.N), "writes/op")
			b.ReportMetric(float64(s.Stats().Commits)/float64(b.N), "commits/op")
		})
	}
}
