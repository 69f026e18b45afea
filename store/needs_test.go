package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/store/schema"
)

// TestCheckTellsWhatManyNeedOnce: if a record is missing that many others need, and if a
// whole bucket is missing.
func TestCheckTellsWhatManyNeedOnce(t *testing.T) {
	many := thing
	many.Needs = func(*schema.Lookup) schema.Needs {
		return func(key, value []byte) []schema.Need {
			if key == nil {
				return nil
			}
			if string(value) == "all" {
				return []schema.Need{{Bucket: "thing", Key: []byte("lost"), Value: []byte{}, Why: "all need it"}}
			}
			return []schema.Need{{Bucket: "thing", Key: append([]byte("of "), key...), Why: "it is alone"}}
		}
	}
	path := filepath.Join(t.TempDir(), "p.db")
	s, err := Open(Options{Path: path, Buckets: []schema.Bucket{many}, NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	change(t, s, func(tx *Tx) (err error) {
		for i := range 3 * schema.MaxLacksTold {
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
	r, err := Check(t.Context(), path, []schema.Bucket{many})
	if err != nil || len(r.Faults) != schema.MaxLacksTold+1 {
		t.Fatalf("%d faults, %v", len(r.Faults), err)
	}
	once := slices.DeleteFunc(slices.Clone(r.Faults), func(f string) bool { return !strings.Contains(f, "all need it") })
	if len(once) != 1 || r.Faults[schema.MaxLacksTold] != fmt.Sprintf("and %d more of the kind", schema.MaxLacksTold+1) {
		t.Errorf("%q, %q", once, r.Faults[schema.MaxLacksTold])
	}
}
