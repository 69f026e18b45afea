package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStatsHaveWriteTimeAndFreePages(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"))
	put(t, s, "large", strings.Repeat("x", 100*s.Stats().PageSize))
	before := s.Stats()
	put(t, s, "large", "small")
	after := s.Stats()
	if after.FreePages < before.FreePages+100 {
		t.Errorf("%d free pages after 100 were given back, %d before", after.FreePages, before.FreePages)
	}
	if after.WriteTime <= before.WriteTime || before.WriteTime <= 0 {
		t.Errorf("%v were spent writing, %v before", after.WriteTime, before.WriteTime)
	}
}

// TestStatsCountThePagesThatACommitWrote compares the count with the pages of the file
// that changed.
func TestStatsCountThePagesThatACommitWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	s := openTest(t, path)
	for _, value := range []string{"small", strings.Repeat("x", 100*s.Stats().PageSize)} {
		old, before := file(t, path), s.Stats()
		put(t, s, "one", value)
		changed, page := 0, before.PageSize
		for now := file(t, path); len(now) > 0; now, old = now[page:], old[min(page, len(old)):] {
			if !bytes.Equal(now[:page], old[:min(page, len(old))]) && bytes.ContainsFunc(now[:page], func(r rune) bool { return r != 0 }) {
				changed++
			}
		}
		after := s.Stats()
		if got := after.Pages - before.Pages; got != uint64(changed) || changed*page < len(value) {
			t.Errorf("%d pages are counted, %d changed", got, changed)
		}
		if got := after.Writes - before.Writes; got < 2 || got > uint64(changed) { // data and meta
			t.Errorf("%d writes of %d pages", got, changed)
		}
	}
}

func file(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestWriterWakesOncePerChangeNotForReads(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"))
	before := s.Stats()
	for range 10 {
		put(t, s, "key", "value")
	}
	after := s.Stats()
	if n := after.Wakes - before.Wakes; n < 1 || n > 10 || after.Commits-before.Commits != 10 {
		t.Errorf("woken %d times for %d commits", n, after.Commits-before.Commits)
	}
	_ = get(t, s, "key")
	if n := s.Stats().Wakes - after.Wakes; n != 0 {
		t.Errorf("woken %d times by a read", n)
	}
}

func TestRowsCountsTheRecordsOfABucket(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"))
	for i := range 3 {
		put(t, s, fmt.Sprint(i), "x")
	}
	if n, err := s.Rows("thing"); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := s.Rows("nothing"); !errors.Is(err, ErrUnknownBucket) {
		t.Errorf("an unknown bucket: %v", err)
	}
}
