package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"postern/store/files"
	"postern/store/schema"
	"postern/store/survey"
)

// TestEarlierReleasesFileIsCopiedBeforeChanges, whether the schema is older or a
// bucket is missing, and again after a start that was killed. A file of this release is
// not copied.
func TestEarlierReleasesFileIsCopiedBeforeChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*bolt.Tx) error
		buckets []schema.Bucket
		kept    bool
	}{
		"this release": {func(*bolt.Tx) error { return nil }, []schema.Bucket{thing, entry, other}, false},
		"a schema of before": {func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("meta")).Put(survey.Version, schema.Seal(survey.Version, []byte{0, 0, 0, schema.Version - 1}))
		}, []schema.Bucket{thing, entry, other}, true},
		"a bucket more": {func(*bolt.Tx) error { return nil }, []schema.Bucket{thing, entry, other, {Name: "another", Owner: "test"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t, c.change)
			link := filepath.Join(t.TempDir(), "link.db")
			if err := errors.Join(os.Symlink(path, link), os.WriteFile(path+leftoverSuffix+"1", nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			open := func() {
				t.Helper()
				s, err := Open(Options{Path: path, Buckets: c.buckets, NoSync: true, KeepBefore: true, MinFree: 1})
				if err != nil {
					t.Fatal(err)
				}
				put(t, s, "a", "of today")
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the second finds a file of today
				open()
				kept, err := os.ReadFile(path + beforeSuffix)
				if c.kept != (err == nil) || c.kept && !bytes.Equal(kept, before) {
					t.Errorf("kept: %v, %v", err == nil, err)
				}
			}
			if info, err := os.Stat(path + beforeSuffix); err == nil && info.Mode().Perm() != files.Mode {
				t.Errorf("others may read it: %v", info.Mode())
			}
			if err := DropBefore(link); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(path + beforeSuffix); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is there still: %v", err)
			}
			if err := DropBefore(path); err != nil {
				t.Errorf("none to be removed: %v", err)
			}
		})
	}
}

func TestWithoutACopyEarlierReleasesFileStays(t *testing.T) {
	path := filled(t, func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put(survey.Version, schema.Seal(survey.Version, []byte{0, 0, 0, schema.Version - 1}))
	})
	before, err := os.ReadFile(path)
	if err == nil {
		err = os.MkdirAll(filepath.Join(path+beforeSuffix, "in the way"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Path: path, Buckets: []schema.Bucket{thing, entry, other}, NoSync: true, KeepBefore: true, MinFree: 1}
	if _, err := Open(o); !errors.Is(err, errOlder) {
		t.Errorf("opened without a copy: %v", err)
	}
	o.MinFree = 1 << 62
	if _, err := Open(o); !errors.Is(err, errOlder) || !strings.Contains(err.Error(), "make room first, or set store.keep_before_migration to false") {
		t.Errorf("opened without room for a copy: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file was changed: %v", err)
	}
	o.KeepBefore = false
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}

// TestSecondUpgradeKeepsTheFirstOnesCopy when no orderly stop is between them.
func TestSecondUpgradeKeepsTheFirstOnesCopy(t *testing.T) {
	path := filled(t, func(*bolt.Tx) error { return nil })
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	buckets := []schema.Bucket{thing, entry, other}
	for _, name := range []string{"another", "a third"} {
		buckets = append(buckets, schema.Bucket{Name: name, Owner: "test"})
		s, err := Open(Options{Path: path, Buckets: buckets, NoSync: true, KeepBefore: true, MinFree: 1})
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, "a", name)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if kept, err := os.ReadFile(path + beforeSuffix); err != nil || !bytes.Equal(kept, before) {
			t.Errorf("%s: not the file from before the first upgrade: %v", name, err)
		}
	}
}
