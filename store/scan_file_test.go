package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"postern/store/schema"
)

// TestLookIntoReadsOneBucketAndChangesNothing also checks the
// errors that say what to do.
func TestLookIntoReadsOneBucketAndChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	buckets := []schema.Bucket{{Name: "a", Owner: "test", Key: "k", Value: "v"}, {Name: "b", Owner: "test", Key: "k", Value: "v"}}
	st, err := Open(Options{Path: path, Buckets: buckets})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Update(t.Context(), func(tx *Tx) error {
		return errors.Join(tx.Put("a", []byte("1"), []byte("one")), tx.Put("a", []byte("2"), nil), tx.Put("b", []byte("3"), []byte("three")))
	})
	if err != nil {
		t.Fatal(err)
	}
	look := func() (seen map[string]string, err error) {
		seen = map[string]string{}
		err = ScanFile(path, buckets, "a", func(k, v []byte) error {
			seen[string(k)] = string(v)
			return nil
		})
		return seen, err
	}
	if _, err := look(); !errors.Is(err, ErrLocked) {
		t.Errorf("of a file in use: %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := look()
	if err != nil || len(seen) != 2 || seen["1"] != "one" {
		t.Errorf("%v, %v", seen, err)
	}
	if after, _ := os.ReadFile(path); string(before) != string(after) {
		t.Error("the file changed")
	}
	stop := errors.New("stop")
	if err := ScanFile(path, buckets, "a", func(_, _ []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := look(); !errors.Is(err, ErrForeign) {
		t.Errorf("of another file: %v", err)
	}
}
