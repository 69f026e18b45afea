package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"postern/internal/nightly"
)

// held is the contents of a file: bucket/key -> value, and bucket -> sequence.
type held map[string]string

func TestWholeFileHasNoFaults(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), "f.db")
	db := open(t, path)
	buckets := []string{"a", "b", "big", "c", "empty", "small"}
	update(t, db, func(tx *bolt.Tx) {
		for _, name := range buckets {
			_, err := tx.CreateBucket([]byte(name))
			must(t, err)
		}
	})
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	for round := range rounds {
		update(t, db, func(tx *bolt.Tx) { shake(t, tx, r) })
		whole, want := walked(t, path), stored(t, db)
		if len(whole) != len(want) {
			t.Fatalf("round %d: %d things read, bbolt has %d", round, len(whole), len(want))
		}
		for k, v := range want {
			if whole[k] != v {
				t.Fatalf("round %d: %s differs", round, k)
			}
		}
	}
}

// shake makes changes that move pages: puts in all places, deletions of single keys and
// of ranges, long values, numbers.
func shake(t *testing.T, tx *bolt.Tx, r *rand.Rand) {
	t.Helper()
	for _, name := range []string{"a", "b", "c"} {
		b := tx.Bucket([]byte(name))
		b.FillPercent = []float64{0.5, 0.95}[r.IntN(2)]
		for range r.IntN(400) {
			must(t, b.Put(randomKey(r), bytes.Repeat([]byte{1}, r.IntN(300))))
		}
		for range r.IntN(200) {
			must(t, b.Delete(randomKey(r)))
		}
		if r.IntN(4) == 0 {
			clearFrom(t, b, randomKey(r), r.IntN(2000))
		}
		_, err := b.NextSequence()
		must(t, err)
	}
	small, big := tx.Bucket([]byte("small")), tx.Bucket([]byte("big"))
	must(t, small.Put([]byte{'k', byte(r.IntN(6))}, []byte("v")))
	must(t, small.Delete([]byte{'k', byte(r.IntN(6))}))
	must(t, big.Put(randomKey(r)[:1], bytes.Repeat([]byte{2}, r.IntN(50_000))))
	must(t, big.Delete(randomKey(r)[:1]))
}

func randomKey(r *rand.Rand) []byte {
	return fmt.Appendf(nil, "%04d%s", r.IntN(5000), bytes.Repeat([]byte{'x'}, r.IntN(3)*20))
}

func clearFrom(t *testing.T, b *bolt.Bucket, from []byte, n int) {
	t.Helper()
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.Seek(from); k != nil && len(keys) < n; k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	for _, k := range keys {
		must(t, b.Delete(k))
	}
}

func TestFlippedBitIsAFaultOrOneRecord(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	path := filepath.Join(t.TempDir(), "f.db")
	db := open(t, path)
	update(t, db, func(tx *bolt.Tx) {
		for _, name := range []string{"a", "b", "big", "c", "empty", "small"} {
			_, err := tx.CreateBucket([]byte(name))
			must(t, err)
		}
	})
	for range 20 {
		update(t, db, func(tx *bolt.Tx) { shake(t, tx, r) })
	}
	must(t, db.Close())
	image, err := os.ReadFile(path)
	must(t, err)
	want, faults := read(image)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	seen := map[string]int{}
	for range nightly.Or(400, 1_500) {
		bit := r.IntN(8 * len(image))
		image[bit/8] ^= 1 << (bit % 8)
		got, faults := read(image)
		image[bit/8] ^= 1 << (bit % 8)
		switch lost := missing(want, got); {
		case len(faults) > 0:
			seen["faults"]++
		case lost == 0:
			seen["nothing"]++
		case lost == 1 && len(got) >= len(want)-1:
			seen["a record, a key or a number"]++
		default:
			seen["an older page"]++ // only the caller can tell
		}
	}
	t.Log(seen)
	if seen["faults"] == 0 || seen["a record, a key or a number"] == 0 || seen["an older page"] > 2 {
		t.Errorf("flips: %v", seen)
	}
}

func missing(want, got held) (n int) {
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			n++
		}
	}
	return n
}

func read(image []byte) (held, []*Fault) {
	f, err := Open(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		return nil, []*Fault{{What: err.Error()}}
	}
	all, bucket := held{}, ""
	faults, err := f.Walk(Visitor{
		Bucket: func(name string, sequence uint64) error {
			bucket = name
			all[name] = fmt.Sprint(sequence)
			return nil
		},
		Record: func(r Record) error {
			key, value := r.Key, r.Value
			if !bytes.HasPrefix(image[r.At:], append(bytes.Clone(key), value...)) || !bytes.HasPrefix(image[r.At:], r.Room) ||
				binary.NativeEndian.Uint32(image[r.Sizes:]) != uint32(len(key)) {
				panic("a record does not lie where it is said to")
			}
			all[bucket+"/"+string(key)] = string(value)
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	return all, faults
}

func walked(t *testing.T, path string) held {
	t.Helper()
	image, err := os.ReadFile(path)
	must(t, err)
	all, faults := read(image)
	if len(faults) > 0 {
		t.Fatalf("faults of a whole file: %v", faults)
	}
	return all
}

func stored(t *testing.T, db *bolt.DB) held {
	t.Helper()
	all := held{}
	must(t, db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			all[string(name)] = fmt.Sprint(b.Sequence())
			return b.ForEach(func(k, v []byte) error {
				all[string(name)+"/"+string(k)] = string(v)
				return nil
			})
		})
	}))
	return all
}

func open(t testing.TB, path string) *bolt.DB {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType, NoSync: true})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func update(t testing.TB, db *bolt.DB, fn func(*bolt.Tx)) {
	t.Helper()
	must(t, db.Update(func(tx *bolt.Tx) error {
		fn(tx)
		return nil
	}))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
