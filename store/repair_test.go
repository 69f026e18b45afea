package store

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/store/schema"
)

// halves are pairs of records: each needs the other.
func halves(*schema.Lookup) schema.Needs {
	return func(key, _ []byte) []schema.Need {
		if len(key) != 2 {
			return nil
		}
		return []schema.Need{{Bucket: "thing", Key: []byte{key[0] ^ 1, key[1]}, Value: []byte{}, Why: "it is alone"}}
	}
}

// brokenFile is a file in which a record lacks another one, its buckets and its image.
func brokenFile(t *testing.T) (path string, buckets []schema.Bucket, image []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "p.db")
	pairs := thing
	pairs.Needs = halves
	s := openTest(t, path)
	for _, key := range []string{"0a", "1a", "0b"} {
		put(t, s, key, "")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, []schema.Bucket{pairs, entry}, image
}

func TestARepairMakesWhatIsMissing(t *testing.T) {
	path, buckets, image := brokenFile(t)
	id, err := FileID(path)
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	done, err := Repair(t.Context(), path, buckets, ".old")
	if err != nil || done.Made != 1 || done.Removed != 0 || done.Kept != path+".old" {
		t.Fatalf("%+v, %v", done, err)
	}
	if kept, err := os.ReadFile(done.Kept); err != nil || !bytes.Equal(kept, image) {
		t.Error("the file that was there is not kept", err)
	}
	s := openTest(t, path)
	defer s.Close()
	if s.ID() != id || !view(t, s, func(tx *Tx) (bool, error) { return tx.Has("thing", []byte("1b")), nil }) {
		t.Errorf("the ID is %q instead of %q, or the record was not made", s.ID(), id)
	}
}

// TestFailedRepairLeavesTheFile: interrupted, in a folder that is not
// writable, beside a file with the name of the kept one, while a program has it open.
func TestFailedRepairLeavesTheFile(t *testing.T) {
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("interrupted"))
	for name, c := range map[string]struct {
		ctx    context.Context
		before func(path string) error
		is     func(error) bool
	}{
		"interrupted": {ended, nil, func(err error) bool { return strings.Contains(err.Error(), "interrupted") }},
		"the name is taken": {
			t.Context(), func(path string) error { return os.WriteFile(path+".old", nil, 0o600) },
			func(err error) bool { return errors.Is(err, fs.ErrExist) },
		},
		"there is none": {t.Context(), os.Remove, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
	} {
		path, buckets, image := brokenFile(t)
		if c.before != nil {
			if err := c.before(path); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Repair(c.ctx, path, buckets, ".old"); err == nil || !c.is(err) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path); err == nil && !bytes.Equal(after, image) {
			t.Errorf("%s: the file was changed", name)
		}
		if left, _ := filepath.Glob(path + leftoverSuffix + "*"); len(left) > 0 {
			t.Errorf("%s: there is %q", name, left)
		}
	}
	path, buckets, _ := brokenFile(t)
	s := openTest(t, path)
	defer s.Close()
	if _, err := Repair(t.Context(), path, buckets, ".old"); !errors.Is(err, ErrLocked) {
		t.Errorf("under a program: %v", err)
	}
}

// TestRepairOfContradictingRecordsEnds: a contradiction is refused, instead of
// repaired forever.
func TestRepairOfContradictingRecordsEnds(t *testing.T) {
	torn := thing
	torn.Needs = func(*schema.Lookup) schema.Needs {
		return func(key, _ []byte) []schema.Need {
			if key == nil {
				return nil
			}
			return []schema.Need{{Bucket: "thing", Key: []byte("x"), Value: []byte("never right"), Is: func([]byte) bool { return false }, Why: "it cannot be"}}
		}
	}
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	change(t, s, func(tx *Tx) error { return tx.Put("thing", []byte("a"), nil) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Repair(t.Context(), path, []schema.Bucket{torn}, ".old"); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	onlyFile(t, path)
}
