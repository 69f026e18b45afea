package store

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"postern/store/schema"
)

// leaves opens the file like a program that leaves a value about the bucket thing.
func leaves(t *testing.T, path, value string) (s *Store, was string) {
	t.Helper()
	s = openTest(t, path, large)
	s.AtStop("test", []string{"thing"}, func() []byte { return []byte(value) })
	raw, ok := s.Left("test", []string{"thing"})
	if !ok {
		return s, ""
	}
	return s, string(raw)
}

func closed(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOrderlyStopLeavesOnlyItsRecords(t *testing.T) {
	for name, c := range map[string]struct {
		run   func(t *testing.T, path string)
		found string
	}{
		"nothing happens":            {func(*testing.T, string) {}, "first"},
		"another release opens it":   {func(t *testing.T, path string) { closed(t, openTest(t, path, large)) }, "first"},
		"another release changes it": {func(t *testing.T, path string) { s := openTest(t, path, large); put(t, s, "k", "other"); closed(t, s) }, ""},
		"another release adds to it": {func(t *testing.T, path string) { s := openTest(t, path, large); put(t, s, "l", "v"); closed(t, s) }, ""},
		"it is changed and changed back": {func(t *testing.T, path string) {
			s := openTest(t, path, large)
			put(t, s, "k", "other")
			put(t, s, "k", "v")
			closed(t, s)
		}, "first"},
		"the next stop leaves another": {func(t *testing.T, path string) { s, _ := leaves(t, path, "second"); put(t, s, "k", "w"); closed(t, s) }, "second"},
		"the next stop leaves nothing": {func(t *testing.T, path string) {
			s := openTest(t, path, large)
			s.AtStop("test", []string{"thing"}, func() []byte { return nil })
			closed(t, s)
		}, ""},
		"the file is read": {func(t *testing.T, path string) {
			if err := os.Remove(notePath(path)); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("every start reads the file here")
			}
			path := filepath.Join(t.TempDir(), "p.db")
			s, was := leaves(t, path, "first")
			if was != "" {
				t.Errorf("a new file has %q", was)
			}
			put(t, s, "k", "v")
			closed(t, s)
			c.run(t, path)
			s, was = leaves(t, path, "third")
			if was != c.found {
				t.Errorf("found %q, want %q", was, c.found)
			}
			if _, ok := s.Left("test", []string{"thing", schema.Meta.Name}); ok {
				t.Error("it is found for other buckets")
			}
			closed(t, s)
		})
	}
}

// TestStandbyUsesNothingLeftBeforeItsChanges: what its own last stop left describes the
// file as it was then.
func TestStandbyUsesNothingLeftBeforeItsChanges(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("every start reads the file here")
	}
	d, path := newDatabase(), filepath.Join(t.TempDir(), "p.db")
	s := d.owner(t, path, large)
	s.AtStop("test", []string{"thing"}, func() []byte { return []byte("first") })
	put(t, s, "k", "v")
	closed(t, s)
	left := func(changed bool) {
		t.Helper()
		s := openTest(t, path, large, follow)
		d.catchUp(t, s)
		if err := s.Lead(t.Context(), d, d.version(), d.stamp); err != nil {
			t.Fatal(err)
		}
		if raw, ok := s.Left("test", []string{"thing"}); ok == changed {
			t.Errorf("left %q %v", raw, ok)
		}
		closed(t, s)
	}
	left(false)
	other := d.owner(t, filepath.Join(t.TempDir(), "other.db"))
	put(t, other, "l", "v")
	closed(t, other)
	left(true)
}
