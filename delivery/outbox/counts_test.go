package outbox

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

func TestBacklogCountsPendingEntriesAndKnowsTheOldest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	s := openTest(t, path)
	batch := uuid.New()
	for range 5 {
		emitOne(t, s, batch)
		time.Sleep(2 * time.Millisecond) // the entries' times shall differ
	}
	wantBacklog(t, s, 5, 1)
	settle := func(fn func(*store.Tx) error) {
		t.Helper()
		if err := s.Update(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	settle(func(tx *store.Tx) error { return s.Ended(tx, 3, 1, 200) })
	settle(func(tx *store.Tx) error { return s.Ended(tx, 3, 1, 200) }) // a second time changes nothing
	wantBacklog(t, s, 4, 1)
	settle(func(tx *store.Tx) error { return s.Ended(tx, 1, 1, 200) })
	wantBacklog(t, s, 3, 2)

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path)
	wantBacklog(t, s, 3, 2)
	for _, seq := range []uint64{2, 4, 5} {
		settle(func(tx *store.Tx) error { return s.Ended(tx, seq, 1, 200) })
	}
	if n, oldest, err := s.Backlog(); n != 0 || !oldest.IsZero() || err != nil {
		t.Errorf("empty backlog: %d %v %v", n, oldest, err)
	}
}

func TestFailedUpdateDoesNotCountInBacklog(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "t.db"))
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		if err := s.Emit(tx, Emission{Kind: event.BatchCreated, Owner: uuid.New(), Batch: uuid.New(), Data: struct{}{}}); err != nil {
			return err
		}
		return store.ErrDiskFull
	})
	if err == nil {
		t.Fatal("no error")
	}
	if n, _, _ := s.Backlog(); n != 0 {
		t.Errorf("%d pending", n)
	}
}

func emitOne(t *testing.T, s *opened, batch uuid.UUID) {
	t.Helper()
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		return s.Emit(tx, Emission{Kind: event.BatchCreated, Owner: batch, Batch: batch, Data: struct{}{}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantBacklog compares the backlog with the time at which the entry seq was made.
func wantBacklog(t *testing.T, s *opened, want int64, seq uint64) {
	t.Helper()
	n, oldest, err := s.Backlog()
	if err != nil {
		t.Fatal(err)
	}
	var made time.Time
	err = s.View(func(tx *store.Tx) error {
		e, _, err := Get(tx, seq)
		made = e.CreatedAt
		return err
	})
	if n != want || !oldest.Equal(made) || err != nil {
		t.Errorf("backlog %d since %v, want %d since %v (%v)", n, oldest, want, made, err)
	}
}

// TestOutboxIsCountedByReadingStartsOnly: other starts have the same result.
func TestOutboxIsCountedByReadingStartsOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("every start reads the file here")
	}
	path := filepath.Join(t.TempDir(), "p.db")
	rnd := rand.New(rand.NewPCG(27, 5))
	s := openLarge(t, path)
	for round := range 20 {
		s.SetDelivery(round%3 != 0)
		change(t, s, func(tx *store.Tx) error {
			for range rnd.IntN(20) {
				if err := s.Emit(tx, Emission{Kind: event.BatchProgress, Owner: uuid.UUID{1}, Batch: uuid.UUID{2}, Data: 1}); err != nil {
					return err
				}
			}
			for range rnd.IntN(20) {
				if err := s.Ended(tx, 1+rnd.Uint64N(newest(tx)+1), 1, 200); err != nil {
					return err
				}
			}
			gone, _, _, err := Expired(tx, Delivered, 0, tx.Now().Add(time.Hour), rnd.IntN(3))
			if err == nil {
				_, err = s.Remove(tx, gone)
			}
			return err
		})
		was := s.Counts()
		closed(t, s)
		s = openLarge(t, path)
		counted, err := recount(s)
		if err != nil || s.Counts() != counted || counted != was {
			t.Fatalf("round %d: %+v, counted %+v, %v; it was %+v", round, s.Counts(), counted, err, was)
		}
	}
	s.committed(Counts{Pending: 1000}, false)
	wrong := s.Counts()
	closed(t, s)
	if s = openLarge(t, path); s.Counts() != wrong {
		t.Error("it was counted")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path + ".stopped"); err != nil {
		t.Fatal(err)
	}
	if s = openLarge(t, path); s.Counts() == wrong {
		t.Error("a start that read the file did not count")
	}
}

func recount(s *opened) (counts Counts, err error) {
	err = s.View(func(tx *store.Tx) error {
		counts, err = countStates(tx)
		return err
	})
	return counts, err
}

// openLarge opens a file as if it were too large to be read at the start.
func openLarge(t *testing.T, path string) *opened {
	return openWith(t, store.Options{Path: path, SurveyFrom: 1})
}

func closed(t *testing.T, s *opened) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
