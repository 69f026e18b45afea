package store

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"postern/store/schema"
	"postern/store/survey"
)

// Puts of one commit count each record once, whether its key is new, in order, before a
// guard or written before.
func TestPutsInAnyOrderAreCountedRight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "o.db")
	buckets := []schema.Bucket{
		{Name: "log", Owner: "test", Append: true, Series: 8, Guards: true},
		{Name: "series", Owner: "test", Append: true, Guards: true},
		{Name: "thing", Owner: "test"},
	}
	opened := func() *Store {
		t.Helper()
		s, err := Open(Options{Path: path, NoSync: true, MinFree: 1, Buckets: buckets})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s, rng := opened(), rand.New(rand.NewPCG(7, 7))
	for range 20 {
		err := s.Update(context.Background(), func(tx *Tx) error {
			for range 300 {
				bucket, series, from := buckets[rng.IntN(len(buckets))].Name, rng.IntN(3), rng.IntN(400)
				for i := range rng.IntN(12) {
					key := Key(uint64(series), uint64(from+i*(1+rng.IntN(2)))) //nolint:gosec // small
					switch rng.IntN(6) {
					case 0:
						if err := tx.Delete(bucket, key); err != nil {
							return err
						}
					default:
						if err := tx.Put(bucket, key, []byte{byte(rng.IntN(256))}); err != nil {
							return err
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range buckets {
			got, bare := s.tallies[b.Name], survey.Tally{}
			err := s.View(func(tx *Tx) error {
				c := tx.bolt.Bucket([]byte(b.Name)).Cursor()
				for k, v := c.First(); k != nil; k, v = c.Next() {
					bare.Add(v)
				}
				return nil
			})
			if err != nil || got.Rows != bare.Rows || got.Sum != bare.Sum {
				t.Fatalf("%s has %+v, and was counted as %+v, %v", b.Name, bare, got, err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := opened().Close(); err != nil {
		t.Fatal(err)
	}
}
