package store

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"postern/internal/nightly"
	"postern/store/schema"
)

func guardedStore(t *testing.T, series int) *Store {
	t.Helper()
	s, err := Open(Options{
		Path: filepath.Join(t.TempDir(), "g.db"), NoSync: true, MinFree: 1,
		Buckets: []schema.Bucket{{Name: "log", Owner: "test", Append: true, Series: series, Guards: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Records that are added one per commit, in many series at once, fill their pages
// whatever their size.
func TestSequentialRecordsFillTheirPages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const count, most = 4000, 1.6
	for _, series := range []int{1, 20} {
		for _, size := range nightly.Or([]int{150, 1500}, []int{150, 400, 700, 1000, 1500}) {
			t.Run(fmt.Sprintf("%d series, %d bytes", series, size), func(t *testing.T) {
				s := guardedStore(t, 8)
				rng := rand.New(rand.NewPCG(1, uint64(size)))
				for i := range count {
					key := Key(rng.IntN(series), i)
					value := make([]byte, size/2+rng.IntN(size))
					if err := s.Update(context.Background(), func(tx *Tx) error { return tx.Put("log", key, value) }); err != nil {
						t.Fatal(err)
					}
				}
				u, err := s.Usage("log")
				if err != nil || u.Rows != count {
					t.Fatalf("%+v, %v", u, err)
				}
				if fill := float64(u.Pages) / float64(u.Records); fill > most {
					t.Errorf("%d bytes of records take %d bytes of the file, %.2f times as much; at most %.1f", u.Records, u.Pages, fill, most)
				}
			})
		}
	}
}

func TestNoReaderSeesAGuard(t *testing.T) {
	s := guardedStore(t, 8)
	var want [][]byte
	err := s.Update(context.Background(), func(tx *Tx) error {
		for series := range 3 {
			for n := range 2 {
				want = append(want, Key(series, n))
				if err := tx.Put("log", Key(series, n), []byte("v")); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func(r Range) (scanned, walked [][]byte) {
		t.Helper()
		err := s.View(func(tx *Tx) error {
			err := tx.Scan("log", r, func(k, _ []byte) (bool, error) {
				scanned = append(scanned, k)
				return true, nil
			})
			if err != nil {
				return err
			}
			return tx.Walk("log", r, func(k []byte) (bool, error) {
				walked = append(walked, bytes.Clone(k))
				return true, nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return scanned, walked
	}
	backwards := make([][]byte, len(want))
	for i, k := range want {
		backwards[len(want)-1-i] = k
	}
	for name, c := range map[string]struct {
		r    Range
		want [][]byte
	}{
		"all":                     {Range{}, want},
		"all backwards":           {Range{Reverse: true}, backwards},
		"a series":                {Range{Prefix: Key(1)}, want[2:4]},
		"a series backwards":      {Range{Prefix: Key(1), Reverse: true}, [][]byte{want[3], want[2]}},
		"beginning at its middle": {Range{Prefix: Key(1), From: Key(1, 1)}, want[3:4]},
	} {
		scanned, walked := read(c.r)
		if fmt.Sprint(scanned) != fmt.Sprint(c.want) || fmt.Sprint(walked) != fmt.Sprint(c.want) {
			t.Errorf("%s: scanned %x, walked %x, want %x", name, scanned, walked, c.want)
		}
	}
	if n, err := s.Rows("log"); err != nil || n != len(want) {
		t.Errorf("%d rows, %v", n, err)
	}
	var removed int
	err = s.Update(context.Background(), func(tx *Tx) (err error) {
		removed, err = tx.DeletePrefix("log", Key(1))
		return err
	})
	if err != nil || removed != 2 {
		t.Errorf("removed %d, %v", removed, err)
	}
	if left, _ := read(Range{Prefix: Key(1)}); left != nil {
		t.Errorf("left are %x", left)
	}
}

// TestGuardsComeBackWithTheNextRecord, also in the transaction that removed them.
func TestGuardsComeBackWithTheNextRecord(t *testing.T) {
	for _, series := range []int{0, 8} {
		s := guardedStore(t, series)
		first, second := Key(1, 1)[8-series:], Key(1, 2)[8-series:]
		var guards int
		change(t, s, func(tx *Tx) error {
			if err := tx.Put("log", first, nil); err != nil {
				return err
			}
			if _, err := tx.DeletePrefix("log", nil); err != nil {
				return err
			}
			if err := tx.Put("log", second, nil); err != nil {
				return err
			}
			b, err := tx.bucket("log")
			if err != nil {
				return err
			}
			c := b.Cursor()
			for k, _ := c.First(); k != nil; k, _ = c.Next() {
				if b.declared.IsGuard(k) {
					guards++
				}
			}
			return nil
		})
		if guards != 3 {
			t.Errorf("a series of %d bytes: %d guards of 3", series, guards)
		}
	}
}
