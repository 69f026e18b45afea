package dispatch

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// emitLater emits an entry that is not due yet, like one made just before the clock was
// set back.
func emitLater(t *testing.T, s *file, batch uuid.UUID, n int, ahead time.Duration) {
	t.Helper()
	change(t, s, func(tx *store.Tx) error {
		e := outbox.Emission{Kind: event.BatchProgress, Owner: owner, Batch: batch, Data: emitted{batch.String(), n}}
		if err := s.Emit(tx, e); err != nil {
			return err
		}
		newest, err := outbox.Newest(tx)
		return errors.Join(err, s.reschedule(tx, newest, tx.Now().Add(ahead)))
	})
}

func TestEntryReadEarlyIsRemembered(t *testing.T) {
	t.Parallel()
	inBubble(t, "t.db", func(t *testing.T, s *file, hook *scripted) {
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(time.Second)
		batch := uuid.New()
		emitLater(t, s, batch, 1, 30*time.Second)
		time.Sleep(29 * time.Second)
		if hook.count() != 0 {
			t.Error("it was sent before its time")
		}
		time.Sleep(2 * time.Second)
		if hook.count() != 1 {
			t.Error("nobody remembers it")
		}
	})
}

func TestNoWaitExceedsTheLongestPause(t *testing.T) {
	for name, ahead := range map[string]time.Duration{
		"set back by a minute": time.Minute, "by an hour": time.Hour, "by two": 2 * time.Hour, "by a year": 365 * 24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, "w.db", func(t *testing.T, s *file, hook *scripted) {
				r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
				defer stopRelay(t, r)
				time.Sleep(time.Second)
				emitLater(t, s, uuid.New(), 1, ahead)
				time.Sleep(longestPause + idle)
				if hook.count() != 1 {
					t.Errorf("%d deliveries, next at %v", hook.count(), entry(t, s, 1).NextAttemptAt)
				}
			})
		})
	}
}

func TestClockStepBackDelaysNothing(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	emitLater(t, s, uuid.New(), 1, 10*time.Minute)
	emitLater(t, s, uuid.New(), 2, 50*time.Minute)
	f := &feeder{l: NewRelay(RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/"}).batch, active: true}
	if f.turn(); f.l.board.has(1) || f.l.board.has(2) {
		t.Fatal("they do not wait; this test shows nothing")
	}
	f.seen = time.Now().Add(time.Minute / 2)
	if f.turn(); f.l.board.has(1) || f.l.board.has(2) {
		t.Error("half a minute matters")
	}
	f.seen = time.Now().Add(time.Hour)
	if f.turn(); !f.l.board.has(1) || !f.l.board.has(2) {
		t.Errorf("on the board: %v", f.l.board.known)
	}
	if f.clockWentBack(time.Now()) {
		t.Error("it goes on seeing the same step")
	}
}

func TestForwardClockJumpMakesEverythingDue(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	emitLater(t, s, uuid.New(), 1, 30*time.Minute)
	f := &feeder{l: NewRelay(RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/"}).batch, active: true}
	if pause := f.turn(); pause > idle || f.l.board.has(1) {
		t.Fatalf("the clock is looked at again only in %v", pause)
	}
	f.offerLater(time.Now().Add(24 * time.Hour))
	if !f.l.board.has(1) {
		t.Error("it waits on")
	}
}
