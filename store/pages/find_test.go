package pages

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// TestEachRecordIsFoundAndNoOther compares the results with bbolt, key by key, near each
// other and far apart, in a file whose pages were moved.
func TestEachRecordIsFoundAndNoOther(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	path := filepath.Join(t.TempDir(), "f.db")
	db := open(t, path)
	buckets := []string{"a", "b", "c", "big", "small", "empty"}
	update(t, db, func(tx *bolt.Tx) {
		for _, name := range buckets {
			_, err := tx.CreateBucket([]byte(name))
			must(t, err)
		}
	})
	for range 20 {
		for range 5 {
			update(t, db, func(tx *bolt.Tx) { shake(t, tx, r) })
		}
		image, err := os.ReadFile(path)
		must(t, err)
		f, err := Open(bytes.NewReader(image), int64(len(image)))
		must(t, err)
		x, err := f.NewFinder()
		must(t, err)
		if k, _, err := x.Seek("none", nil); k != nil || err != nil || x.Has("none") {
			t.Fatalf("a bucket that is not there: %q, %v", k, err)
		}
		must(t, db.View(func(tx *bolt.Tx) error {
			for range 3000 {
				name := buckets[r.IntN(len(buckets))]
				key := randomKey(r)[:1+r.IntN(4)]
				if r.IntN(2) == 0 {
					key = randomKey(r)
				}
				want, content := tx.Bucket([]byte(name)).Cursor().Seek(key)
				got, value, err := x.Seek(name, key)
				if err != nil || !bytes.Equal(got, want) || !bytes.Equal(value, content) {
					t.Fatalf("%s from %q: %q, %v, want %q", name, key, got, err, want)
				}
			}
			return nil
		}))
	}
}

// TestDamagedPageIsALookupError: no flipped bit makes a lookup crash or
// run forever.
func TestDamagedPageIsALookupError(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	path := filepath.Join(t.TempDir(), "f.db")
	db := open(t, path)
	update(t, db, func(tx *bolt.Tx) {
		for _, name := range []string{"a", "b", "c", "big", "small"} {
			_, err := tx.CreateBucket([]byte(name))
			must(t, err)
		}
		shake(t, tx, r)
	})
	image, err := os.ReadFile(path)
	must(t, err)
	failed := 0
	for range 3000 {
		damaged := bytes.Clone(image)
		for range 1 + r.IntN(3) {
			damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
		}
		f, err := Open(bytes.NewReader(damaged), int64(len(damaged)))
		if err != nil {
			continue
		}
		x, err := f.NewFinder()
		for i := 0; i < 20 && err == nil; i++ {
			_, _, err = x.Seek([]string{"a", "b", "c", "big", "small"}[i%5], randomKey(r))
		}
		if err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no damage was met")
	}
}
