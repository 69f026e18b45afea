package store

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func attach(t *testing.T, s *Store, key, value string) *Submitted {
	t.Helper()
	a, err := s.Attach(func(tx *Tx) error { return tx.Put("thing", []byte(key), []byte(value)) })
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestWhatIsAttachedCausesNoCommit and is part of the next one, in its place.
func TestWhatIsAttachedCausesNoCommit(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	before := s.Stats().Commits
	for range 2 * maxGroup {
		attach(t, s, "a", "old")
	}
	last := attach(t, s, "a", "new")
	time.Sleep(20 * time.Millisecond)
	if got := s.Stats().Commits; got != before || last.Done() || get(t, s, "a") != "" {
		t.Fatalf("%d commits before anybody asked for one", got-before)
	}
	put(t, s, "b", "1")
	if err := last.Wait(); err != nil || get(t, s, "a") != "new" || get(t, s, "b") != "1" {
		t.Errorf("a is %q, b is %q, %v", get(t, s, "a"), get(t, s, "b"), err)
	}
	if got := s.Stats().Commits - before; got != 3 {
		t.Errorf("%d commits for %d calls of which at most %d share one", got, 2*maxGroup+2, maxGroup)
	}
}

// TestWhatIsAttachedKeepsItsPlace among the calls before and after it.
func TestWhatIsAttachedKeepsItsPlace(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	for range 50 {
		if _, err := s.Submit(func(tx *Tx) error { return tx.Put("thing", []byte("k"), []byte("first")) }); err != nil {
			t.Fatal(err)
		}
		attach(t, s, "k", "second")
		put(t, s, "other", "x")
		if got := get(t, s, "k"); got != "second" {
			t.Fatalf("k is %q", got)
		}
	}
}

// TestCloseCommitsWhatIsAttached, without a request for a commit.
func TestCloseCommitsWhatIsAttached(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	a := attach(t, s, "a", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Wait(); err != nil {
		t.Error(err)
	}
	if got := get(t, openTest(t, path), "a"); got != "1" {
		t.Errorf("a is %q after reopening", got)
	}
	if _, err := s.Attach(func(*Tx) error { return nil }); err == nil {
		t.Error("a closed store took a call")
	}
}

// TestHurryAsksForACommit of attached calls, once.
func TestHurryAsksForACommit(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	before := s.Stats().Commits
	first, second := attach(t, s, "a", "1"), attach(t, s, "b", "2")
	for range 2 {
		s.Hurry(second)
	}
	if err := errors.Join(first.Wait(), second.Wait()); err != nil || get(t, s, "a") != "1" || get(t, s, "b") != "2" {
		t.Errorf("a is %q, b is %q, %v", get(t, s, "a"), get(t, s, "b"), err)
	}
	s.Hurry(first)
	if got := s.Stats().Commits - before; got != 1 {
		t.Errorf("%d commits, want 1", got)
	}
	attach(t, s, "c", "3")
	put(t, s, "d", "4")
	if got := s.Stats().Commits - before; got != 2 || s.waiting() != 0 {
		t.Errorf("%d commits, want 2, and %d ask for one more", got, s.waiting())
	}
}
