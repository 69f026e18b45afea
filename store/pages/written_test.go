package pages

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// A copy that receives only the pages that Written reports, and the heads, equals the
// file.
func TestWrittenPagesCompleteAnEarlierCopy(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	path := filepath.Join(t.TempDir(), "f.db")
	db := open(t, path)
	update(t, db, func(tx *bolt.Tx) {
		for _, name := range []string{"a", "b", "big", "c", "empty", "small"} {
			_, err := tx.CreateBucket([]byte(name))
			must(t, err)
		}
	})
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	before := current(t, f)
	var c Comparison
	image, err := os.ReadFile(path)
	must(t, err)
	m := &mirror{image}
	rounds := 200
	if testing.Short() {
		rounds = 40
	}
	for round := range rounds {
		made := pagesMade(db)
		update(t, db, func(tx *bolt.Tx) {
			switch {
			case round%20 == 19: // from some levels to none
				b := tx.Bucket([]byte([]string{"a", "b", "c"}[round/20%3]))
				clearFrom(t, b, nil, 1_000_000)
			case round%3 == 0:
				must(t, tx.Bucket([]byte("small")).Put([]byte("one"), fmt.Append(nil, round)))
			default:
				shake(t, tx, r)
			}
		})
		made = pagesMade(db) - made
		after, told := current(t, f), 0
		must(t, c.Written(before, after, func(id uint64, pages int) {
			told += pages
			data := make([]byte, after.size(uint32(pages-1)))
			_, err := f.ReadAt(data, int64(id)*after.size(0))
			must(t, err)
			_, _ = m.WriteAt(data, int64(id)*after.size(0))
		}))
		must(t, after.WriteHeads(m))
		got, faults := read(m.image)
		if len(faults) > 0 {
			t.Fatalf("round %d: %v", round, faults)
		}
		want := stored(t, db)
		if len(got) != len(want) {
			t.Fatalf("round %d: the copy has %d things, the file %d", round, len(got), len(want))
		}
		for k, v := range want {
			if got[k] != v {
				t.Fatalf("round %d: %s differs", round, k)
			}
		}
		if int64(told) > made {
			t.Fatalf("round %d: %d pages were told of, and the commit made %d", round, told, made)
		}
		before = after
	}
}

func pagesMade(db *bolt.DB) int64 {
	stats := db.Stats()
	return stats.TxStats.GetPageCount()
}

// mirror is a file in memory.
type mirror struct{ image []byte }

func (m *mirror) WriteAt(p []byte, at int64) (int, error) {
	if end := int(at) + len(p); end > len(m.image) {
		m.image = append(m.image, make([]byte, end-len(m.image))...)
	}
	return copy(m.image[at:], p), nil
}

func current(t testing.TB, f *os.File) *File {
	t.Helper()
	info, err := f.Stat()
	must(t, err)
	file, err := Open(f, info.Size())
	must(t, err)
	return file
}

func TestBboltOpensCopyWithNewHeads(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "f.db")
	db := open(t, path)
	for i := range 5 {
		update(t, db, func(tx *bolt.Tx) {
			b, err := tx.CreateBucketIfNotExists([]byte("a"))
			must(t, err)
			for n := range 300 {
				must(t, b.Put(fmt.Appendf(nil, "%d-%d", i, n), bytes.Repeat([]byte{7}, 100)))
			}
		})
		image, err := os.ReadFile(path)
		must(t, err)
		m := &mirror{image}
		f, err := os.Open(path)
		must(t, err)
		must(t, current(t, f).WriteHeads(m))
		must(t, f.Close())
		copied := filepath.Join(folder, fmt.Sprint(i))
		must(t, os.WriteFile(copied, m.image, 0o600))
		again := open(t, copied)
		update(t, again, func(tx *bolt.Tx) { // the first commit takes the older head
			if n := tx.Bucket([]byte("a")).Stats().KeyN; n != 300*(i+1) {
				t.Errorf("%d records of %d", n, 300*(i+1))
			}
			must(t, tx.Bucket([]byte("a")).Put([]byte("more"), []byte("x")))
		})
		must(t, again.View(func(tx *bolt.Tx) error {
			for err := range tx.Check() {
				t.Error(err)
			}
			return nil
		}))
	}
}

// BenchmarkWhatACommitWrote measures a commit of one record to a file that claims a size
// of 5 GB.
func BenchmarkWhatACommitWrote(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f.db")
	db := open(b, path)
	put := func(value string) {
		update(b, db, func(tx *bolt.Tx) {
			bucket, err := tx.CreateBucketIfNotExists([]byte("a"))
			must(b, err)
			must(b, bucket.Put([]byte("key"), []byte(value)))
		})
	}
	put("one")
	f, err := os.Open(path)
	must(b, err)
	defer f.Close()
	before := current(b, f)
	put("two")
	after := current(b, f)
	before.head.pages, after.head.pages = 5<<30/4096, 5<<30/4096
	var c Comparison
	b.ReportAllocs()
	for b.Loop() {
		must(b, c.Written(before, after, func(uint64, int) {}))
	}
}
