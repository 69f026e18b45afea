package dispatch

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

func TestRetryNowTellsWhatItCannotRetry(t *testing.T) {
	t.Parallel()
	inBubble(t, "n.db", func(t *testing.T, s *file, hook *scripted) {
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		emit(t, s, uuid.New(), 1)
		time.Sleep(time.Second)
		if _, err := r.RetryNow(t.Context(), 1); !errors.Is(err, ErrNotPending) {
			t.Errorf("a delivered entry: %v", err)
		}
		if _, err := r.RetryNow(t.Context(), 2); !errors.Is(err, ErrNoEntry) {
			t.Errorf("a missing entry: %v", err)
		}
		time.Sleep(24 * time.Hour)
		if hook.count() != 1 {
			t.Errorf("sent %d times", hook.count())
		}
	})
}

func TestManualRetryPrecedesTheBacklog(t *testing.T) {
	t.Parallel()
	inBubble(t, "u.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = always(503, "")
		for n := range boardSize + 500 { // the last ones have no room in memory
			emit(t, s, uuid.New(), n)
		}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(24 * time.Hour)
		before, begin := hook.count(), time.Now()
		hook.answer(always(200, ""))
		e, err := r.RetryNow(t.Context(), boardSize+400)
		if err != nil || e.NextAttemptAt.After(time.Now()) {
			t.Fatalf("%+v, %v", e, err)
		}
		time.Sleep(10 * time.Millisecond)
		first, _ := hook.span(before)
		if tries := hook.at(e.Batch, boardSize+399); len(tries) != 1 || !first.Equal(begin) || !tries[0].Equal(begin) {
			t.Errorf("tried at %v, the first of all at %v, asked at %v", tries, first, begin)
		}
		time.Sleep(time.Minute)
		if !delivered(t, s, boardSize+500) {
			t.Errorf("its success let out nothing else: %+v", r.Stats())
		}
	})
}

func TestManualRetrySkipsNoEntryOfItsBatch(t *testing.T) {
	t.Parallel()
	inBubble(t, "l.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = always(503, "")
		const n = 4 * lineSize // more than a line holds
		batch := uuid.New()
		emit(t, s, batch, upTo(n)...)
		for i := range 20 { // open the breaker
			emit(t, s, uuid.New(), i)
		}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(10 * time.Hour)
		hook.answer(always(200, ""))
		if _, err := r.RetryNow(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if !delivered(t, s, n+20) {
			t.Errorf("left: %+v", s.Counts())
		}
	})
}

func TestRetryAllCommitsInStepsAndCounts(t *testing.T) {
	t.Parallel()
	inBubble(t, "m.db", func(t *testing.T, s *file, hook *scripted) {
		const n = 3*upkeepStep + 100
		emit(t, s, uuid.New(), upTo(n)...)
		later := time.Now().Add(50 * time.Minute)
		change(t, s, func(tx *store.Tx) error {
			for seq := range uint64(n) {
				if err := s.retry(tx, seq+1, later, 503, "down"); err != nil {
					return err
				}
			}
			return nil
		})
		r := NewRelay(RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger})
		before := s.Stats().Commits
		got, err := r.RetryAll(t.Context())
		if commits := s.Stats().Commits - before; got != n || err != nil || commits != 4 {
			t.Errorf("%d retried in %d commits, %v", got, commits, err)
		}
		for _, e := range pendingEntries(t, s) {
			if e.NextAttemptAt.After(time.Now()) || e.Attempts != 1 || e.LastStatus != 503 {
				t.Fatalf("%+v", e)
			}
		}
		r = startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(n * 11 * time.Millisecond)
		if !delivered(t, s, n) {
			t.Errorf("left: %+v", s.Counts())
		}
	})
}

func TestRetryAllDoesNotWaitForTheBreaker(t *testing.T) {
	t.Parallel()
	inBubble(t, "h.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = always(503, "")
		for n := range 20 {
			emit(t, s, uuid.New(), n)
		}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(24 * time.Hour) // the next probe is up to an hour away
		hook.answer(always(200, ""))
		if n, err := r.RetryAll(t.Context()); n != 20 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		time.Sleep(time.Second)
		if !delivered(t, s, 20) {
			t.Errorf("left: %+v", s.Counts())
		}
	})
}

// TestRetryOfBatchEventsMovesTheirRecords: the log shows the time at which they are
// sent, and their attempts do not change.
func TestRetryOfBatchEventsMovesTheirRecords(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		c.add(delivery.BatchLane, "global", event.OrderNone)
		later := time.Now().Add(50 * time.Minute)
		emit(t, c.s, uuid.New(), 1, 2, 3)
		change(t, c.s, func(tx *store.Tx) error {
			for seq := range uint64(3) {
				e, _, err := outbox.Head(tx, seq+1)
				if err == nil {
					_, _, err = c.ledger.Settle(tx, e.Record, delivery.Attempt{StartedAt: tx.Now(), Status: 503, Error: "down", RequestID: "r"}, false, later)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		next := func(seq uint64) (at time.Time) {
			t.Helper()
			var e outbox.Entry
			if err := c.s.View(func(tx *store.Tx) (err error) {
				if e, _, err = outbox.Get(tx, seq); err == nil {
					e, err = delivery.Queued(tx, e)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			r, attempts := c.record(e.Record)
			if !r.NextAttemptAt.Equal(e.NextAttemptAt) || r.State != delivery.Pending || len(attempts) != 1 || e.Attempts != 1 || r.LastError != "down" {
				t.Errorf("%d: the log has %+v, the outbox %+v", seq, r, e)
			}
			return r.NextAttemptAt
		}
		if _, err := c.relay.RetryNow(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		c.put(delivery.BatchLane, delivery.Absent)
		if _, err := c.relay.RetryNow(t.Context(), 1); !errors.Is(err, delivery.ErrEndpointGone) {
			t.Errorf("without a global webhook: %v", err)
		}
		if !next(1).After(time.Now()) || next(2).After(time.Now()) {
			t.Errorf("next are %v and %v", next(1), next(2))
		}
		if n, err := c.relay.RetryAll(t.Context()); n != 3 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if next(1).After(time.Now()) || next(3).After(time.Now()) {
			t.Errorf("next are %v and %v", next(1), next(3))
		}
	})
}
