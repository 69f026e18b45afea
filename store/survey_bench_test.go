package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"postern/store/schema"
	"postern/store/survey"
)

// BenchmarkSurvey reads a file of a million records before bbolt does, as each start
// does, and compares the time with that of bbolt's own walk through the pages.
func BenchmarkSurvey(b *testing.B) {
	path := filepath.Join(b.TempDir(), "p.db")
	appended := thing
	appended.Append = true
	s, err := Open(Options{Path: path, Buckets: []schema.Bucket{appended}, NoSync: true, MinFree: 1})
	if err != nil {
		b.Fatal(err)
	}
	const records, step = 1_000_000, 10_000
	value := bytes.Repeat([]byte{7}, 300)
	for i := 0; i < records; i += step {
		err := s.Update(b.Context(), func(tx *Tx) error {
			for n := range step {
				if err := tx.Put("thing", Key(i+n), value); err != nil {
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
	var ours, theirs time.Duration
	var size int64
	for b.Loop() {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		found, err := survey.Read(f, info.Size())
		ours += time.Since(begun)
		if err != nil || len(found.Faults)+len(found.Damaged) > 0 || found.Buckets["thing"].Rows != records {
			b.Fatal(err, found)
		}
		size = int64(found.File.Pages()) * int64(os.Getpagesize())
		_ = f.Close()
		begun = time.Now()
		db, err := openBolt(path, true, nil)
		theirs += time.Since(begun)
		if err != nil {
			b.Fatal(err)
		}
		_ = db.Close()
	}
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms/survey")
	b.ReportMetric(ours.Seconds()/float64(b.N)/float64(size)*(1<<30), "s/GiB")
	b.ReportMetric(float64(ours)/float64(theirs), "x-bbolt's-open")
	b.ReportMetric(0, "ns/op")
}
