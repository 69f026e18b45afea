package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCheckTellsWhatManyNeedOnce: if a record is missing that many others need, and if a
// whole bucket is missing.
func TestCheckTellsWhatManyNeedOnce(t *testing.T) {
	many := thing
	many.Needs = func(*Lookup) Needs {
		return func(key, value []byte) []Need {
			if key == nil {
				return nil
			}
			if string(value) == "all" {
				return []Need{{Bucket: "thing", Key: []byte("lost"), Value: []byte{}, Why: "all need it"}}
			}
			return []Need{{Bucket: "thing", Key: append([]byte("of "), key...), Why: "it is alone"}}
		}
	}
	path := filepath.Join(t.TempDir(), "p.db")
	s, err := Open(Options{Path: path, Buckets: []Bucket{many}, NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	change(t, s, func(tx *Tx) (err error) {
		for i := range 3 * maxLacksTold {
			if i%3 == 0 {
				err = tx.Put("thing", Key(i), []byte("all"))
			} else {
				err = tx.Put("thing", Key(i), []byte("one"))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Check(t.Context(), path, []Bucket{many})
	if err != nil || len(r.Faults) != maxLacksTold+1 {
		t.Fatalf("%d faults, %v", len(r.Faults), err)
	}
	once := slices.DeleteFunc(slices.Clone(r.Faults), func(f string) bool { return !strings.Contains(f, "all need it") })
	if len(once) != 1 || r.Faults[maxLacksTold] != fmt.Sprintf("and %d more of the kind", maxLacksTold+1) {
		t.Errorf("%q, %q", once, r.Faults[maxLacksTold])
	}
}
