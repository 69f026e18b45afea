package store

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

func TestBacklogCountsPendingEntriesAndKnowsTheOldest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	s, err := Open(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	batch := uuid.New()
	for range 5 {
		emitOne(t, s, batch)
		time.Sleep(2 * time.Millisecond) // the entries' times shall differ
	}
	wantBacklog(t, s, 5, 1)
	settle := func(fn func(*Tx) error) {
		t.Helper()
		if err := s.Update(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	settle(func(tx *Tx) error { return tx.OutboxDelivered(3, 200) })
	settle(func(tx *Tx) error { return tx.OutboxDelivered(3, 200) }) // a second time changes nothing
	wantBacklog(t, s, 4, 1)
	settle(func(tx *Tx) error { return tx.OutboxDelivered(1, 200) })
	settle(func(tx *Tx) error { return tx.OutboxRetry(2, time.Now().Add(time.Hour), 500, "no") })
	wantBacklog(t, s, 3, 2)

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(Options{Path: path}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantBacklog(t, s, 3, 2)
	for _, seq := range []uint64{2, 4, 5} {
		settle(func(tx *Tx) error { return tx.OutboxDelivered(seq, 200) })
	}
	if n, oldest, err := s.Backlog(); n != 0 || !oldest.IsZero() || err != nil {
		t.Errorf("empty backlog: %d %v %v", n, oldest, err)
	}
}

func TestAFailedUpdateDoesNotCountInTheBacklog(t *testing.T) {
	s, err := Open(Options{Path: filepath.Join(t.TempDir(), "t.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Update(t.Context(), func(tx *Tx) error {
		if err := tx.Emit(Emission{Kind: event.BatchCreated, Owner: uuid.New(), Batch: uuid.New(), Data: struct{}{}}); err != nil {
			return err
		}
		return ErrDiskFull
	})
	if err == nil {
		t.Fatal("no error")
	}
	if n, _, _ := s.Backlog(); n != 0 {
		t.Errorf("%d pending", n)
	}
}

func TestOnCommitTellsOfEachCommit(t *testing.T) {
	var calls int
	s, err := Open(Options{Path: filepath.Join(t.TempDir(), "t.db"), OnCommit: func(n int, took time.Duration) {
		if took <= 0 {
			t.Errorf("took %v", took)
		}
		calls += n
	}})
	if err != nil {
		t.Fatal(err)
	}
	emitOne(t, s, uuid.New())
	emitOne(t, s, uuid.New())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if calls < 2 {
		t.Errorf("%d calls", calls)
	}
}

func emitOne(t *testing.T, s *Store, batch uuid.UUID) {
	t.Helper()
	err := s.Update(t.Context(), func(tx *Tx) error {
		return tx.Emit(Emission{Kind: event.BatchCreated, Owner: batch, Batch: batch, Data: struct{}{}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantBacklog compares with the time that the entry seq was made at.
func wantBacklog(t *testing.T, s *Store, want int64, seq uint64) {
	t.Helper()
	n, oldest, err := s.Backlog()
	if err != nil {
		t.Fatal(err)
	}
	var made time.Time
	err = s.View(func(tx *Tx) error {
		e, _, err := tx.Outbox(seq)
		made = e.CreatedAt
		return err
	})
	if n != want || !oldest.Equal(made) || err != nil {
		t.Errorf("backlog %d since %v, want %d since %v (%v)", n, oldest, want, made, err)
	}
}
