package store

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
)

func TestLookSeesWhatAScanSees(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	change(t, s, func(tx *Tx) error {
		for i := range 5 {
			if err := tx.Put("entry", Key(i+1), []byte{byte(i + 1)}); err != nil {
				return err
			}
		}
		return tx.bolt.Bucket([]byte("entry")).Put(Key(3), []byte("0000wrong"))
	})
	for _, c := range []struct {
		r    Range
		want string
	}{
		{Range{}, "12-45"},
		{Range{Reverse: true}, "54-21"},
		{Range{From: Key(2), Before: Key(5)}, "2-4"},
		{Range{From: Key(4)}, "45"},
		{Range{Before: Key(2), Reverse: true}, "1"},
	} {
		var looked, skimmed []byte
		err := s.View(func(tx *Tx) error {
			if err := tx.Look("entry", c.r, func(k, v []byte) (bool, error) {
				if v == nil {
					looked = append(looked, '-')
				} else {
					looked = append(looked, v[0]+'0')
				}
				return true, nil
			}); err != nil {
				return err
			}
			return tx.Skim("entry", c.r, func(k, v []byte) (bool, error) {
				skimmed = append(skimmed, k[7]+'0')
				return true, nil
			})
		})
		whole := slices.Clone(looked)
		if i := slices.Index(whole, '-'); i >= 0 {
			whole[i] = '3' // the damaged one is handed out as it is
		}
		if err != nil || string(looked) != c.want || string(skimmed) != string(whole) {
			t.Errorf("%+v: %s and %s, want %s, %v", c.r, looked, skimmed, c.want, err)
		}
	}
}

func TestRowsAreKnownWithoutCountingThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	want := func(n uint64) {
		t.Helper()
		for _, bucket := range []string{"entry", "thing"} { // with guards, and without
			if got := view(t, s, func(tx *Tx) (uint64, error) { return tx.Rows(bucket) }); got != n {
				t.Errorf("%s has %d rows, want %d", bucket, got, n)
			}
		}
	}
	want(0)
	for i := range 4 {
		change(t, s, func(tx *Tx) error {
			return errors.Join(tx.Put("entry", Key(i+1), nil), tx.Put("thing", Key(i+1), nil))
		})
		want(uint64(i + 1))
	}
	change(t, s, func(tx *Tx) error {
		return errors.Join(tx.Delete("entry", Key(2)), tx.Delete("thing", Key(2)))
	})
	want(3)
	_ = s.Close()
	s = openTest(t, path)
	want(3)
}
