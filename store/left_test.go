package store

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// leaves opens the file as a program that leaves a value about the bucket thing.
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

func TestWhatAStopLeavesIsOfThoseRecordsOnly(t *testing.T) {
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
			if _, ok := s.Left("test", []string{"thing", metaBucket.Name}); ok {
				t.Error("it is found for other buckets")
			}
			closed(t, s)
		})
	}
}

// TestTheOutboxIsCountedOnlyByAStartThatReadsTheFile, with the same result.
func TestTheOutboxIsCountedOnlyByAStartThatReadsTheFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("every start reads the file here")
	}
	path := filepath.Join(t.TempDir(), "p.db")
	rnd := rand.New(rand.NewPCG(27, 5))
	s := openTest(t, path, large)
	for round := range 20 {
		s.SetOutboxDelivery(round%3 != 0)
		change(t, s, func(tx *Tx) error {
			for range rnd.IntN(20) {
				if err := tx.Emit(Emission{Kind: event.BatchProgress, Owner: uuid.UUID{1}, Batch: uuid.UUID{2}, Data: 1}); err != nil {
					return err
				}
			}
			for range rnd.IntN(20) {
				if err := tx.OutboxDelivered(1+rnd.Uint64N(tx.OutboxNewest()+1), 200); err != nil {
					return err
				}
			}
			gone, _, _, err := tx.OutboxExpired(OutboxDelivered, 0, tx.Now().Add(time.Hour), rnd.IntN(3))
			if err == nil {
				_, err = tx.OutboxRemove(gone)
			}
			return err
		})
		was := s.OutboxCounts()
		closed(t, s)
		s = openTest(t, path, large)
		counted, err := countOutbox(s.db)
		if err != nil || s.OutboxCounts() != counted || counted != was {
			t.Fatalf("round %d: %+v, counted %+v, %v; it was %+v", round, s.OutboxCounts(), counted, err, was)
		}
	}
	s.backlog.add(OutboxCounts{Pending: 1000})
	wrong := s.OutboxCounts()
	closed(t, s)
	if s = openTest(t, path, large); s.OutboxCounts() != wrong {
		t.Error("it was counted")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(notePath(path)); err != nil {
		t.Fatal(err)
	}
	if s = openTest(t, path, large); s.OutboxCounts() == wrong {
		t.Error("a start that read the file did not count")
	}
}
