package store

import (
	"fmt"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
)

func TestDeletePrefixRemovesDamagedRecordsToo(t *testing.T) {
	s, err := Open(Options{Path: filepath.Join(t.TempDir(), "t.db"), Buckets: []schema.Bucket{{Name: "thing", Owner: "test", Key: "k", Value: "v"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	update := func(fn func(*Tx) error) {
		t.Helper()
		if err := s.Update(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	update(func(tx *Tx) error {
		for i := range 300 {
			for _, owner := range []string{"a", "b", "c"} {
				if err := tx.Put("thing", fmt.Appendf(nil, "%s%03d", owner, i), []byte("value")); err != nil {
					return err
				}
			}
		}
		return tx.bolt.Bucket([]byte("thing")).Put([]byte("b150"), []byte("damaged"))
	})
	var removed int
	update(func(tx *Tx) (err error) {
		removed, err = tx.DeletePrefix("thing", []byte("b"))
		return err
	})
	left := map[byte]int{}
	err = s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("thing")).ForEach(func(k, _ []byte) error {
			left[k[0]]++
			return nil
		})
	})
	if err != nil || removed != 300 || left['a'] != 300 || left['b'] != 0 || left['c'] != 300 {
		t.Errorf("removed %d, left %v (%v)", removed, left, err)
	}
	update(func(tx *Tx) (err error) {
		removed, err = tx.DeletePrefix("thing", []byte("nothing"))
		return err
	})
	if removed != 0 {
		t.Errorf("removed %d of nothing", removed)
	}
}
