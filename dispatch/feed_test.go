package dispatch

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery/outbox"
	"postern/store"
)

// change runs fn in a commit.
func change(t testing.TB, s *file, fn func(tx *store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// upTo returns 0 to n-1.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func TestEntriesTriedBeforeARestartAreTriedAgain(t *testing.T) {
	hook := newReceiver(t)
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	const n = 5 * lineSize
	emit(t, s, uuid.New(), upTo(n)...)
	change(t, s, func(tx *store.Tx) error {
		for seq := range uint64(n) {
			if err := s.retry(tx, seq+1, tx.Now(), 503, "down"); err != nil {
				return err
			}
		}
		return nil
	})
	startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: hook.URL})
	eventually(t, "all delivered", func() bool { return delivered(t, s, n) })
	for i, e := range hook.received() {
		if e.N != i {
			t.Fatalf("delivery %d is number %d", i, e.N)
		}
	}
}

func TestManualRetryClearsTheEarlierTime(t *testing.T) {
	t.Parallel()
	inBubble(t, "r.db", func(t *testing.T, s *file, hook *scripted) {
		hook.status = func(emitted, int) (int, string) { return 404, "" }
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		batch := uuid.New()
		emit(t, s, batch, 1)
		time.Sleep(10 * time.Second) // tries at 0 s, 1 s and 6 s; the next after 15 s
		if _, err := r.RetryNow(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(55 * time.Second) // the fourth try, at 10 s; the next a minute later
		if tries := hook.at(batch, 1); len(tries) != 4 {
			t.Errorf("%d tries: %v", len(tries), tries)
		}
	})
}

func TestEntriesBeyondMemoryAreTriedOnTime(t *testing.T) {
	t.Parallel()
	inBubble(t, "h.db", func(t *testing.T, s *file, hook *scripted) {
		const n = laterSize + 2*passStep
		emit(t, s, uuid.New(), upTo(n+1)...)
		start := time.Now()
		change(t, s, func(tx *store.Tx) error {
			for seq := range uint64(n) {
				if err := s.retry(tx, seq+1, start.Add(time.Minute), 503, "down"); err != nil {
					return err
				}
			}
			// Set under a clock that was ahead, and behind all the others in the index.
			return s.retry(tx, n+1, start.Add(1000*time.Hour), 503, "down")
		})
		hook.status = func(emitted, int) (int, string) {
			if since := time.Since(start); since > time.Second && since < time.Minute {
				t.Errorf("tried after %v", since)
			}
			return 200, ""
		}
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		time.Sleep(30 * time.Second)
		if entry(t, s, n+1).State != outbox.Delivered {
			t.Error("the entry from another clock waits behind those in backoff")
		}
		time.Sleep(time.Minute + n*10*time.Millisecond)
		if !delivered(t, s, n+1) {
			t.Error("not all delivered")
		}
	})
}

func TestClockStepBackHidesNoNewEntry(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	f := &feeder{l: NewRelay(RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/"}).batch, active: true}
	now := time.Now()
	f.cursor = row{At: now, Seq: 7}
	f.take([]row{{At: now.Add(-time.Second), Seq: 8}})
	if !f.again {
		t.Error("the pass is past the entry, and there will be no other")
	}
}

func TestAFullBoardIsWaitedForWithoutTurning(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	f := &feeder{l: NewRelay(RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/"}).batch}
	f.l.board = fullBoard(boardSize)
	f.keep(row{At: time.Now().Add(-time.Second), Seq: 1 << 40, Line: uuid.New()})
	if pause := f.turn(); pause < time.Second {
		t.Errorf("the next turn is in %v", pause)
	}
}

// safeBuffer is a log that one goroutine writes and another reads.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestDamagedEntryIsReportedOnceAndBlocksNothing(t *testing.T) {
	var log safeBuffer
	inBubble(t, "d.db", func(t *testing.T, s *file, hook *scripted) {
		batch := uuid.New()
		emit(t, s, batch, 1, 2, 3)
		change(t, s, func(tx *store.Tx) error { return tx.Put("outbox", store.Key(uint64(2)), []byte{1}) })
		logger := slog.New(slog.NewTextHandler(&log, nil))
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender(), Logger: logger})
		defer stopRelay(t, r)
		time.Sleep(time.Minute)
		if _, err := r.RetryAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for _, seq := range []uint64{1, 3} {
			if entry(t, s, seq).State != outbox.Delivered {
				t.Errorf("entry %d was not delivered", seq)
			}
		}
	})
	if n := strings.Count(log.String(), "entry cannot be read"); n != 1 {
		t.Errorf("reported %d times:\n%s", n, log.String())
	}
}

func TestUnstoredOutcomesAreRetriedUntilStop(t *testing.T) {
	var log safeBuffer
	inBubble(t, "s.db", func(t *testing.T, s *file, hook *scripted) {
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
		hook.status = func(emitted, int) (int, string) {
			s.Close() // while the event is on its way
			return 200, ""
		}
		emit(t, s, uuid.New(), 1)
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := r.Stop(ctx); err != nil || hook.count() != 1 {
			t.Errorf("%v, sent %d times", err, hook.count())
		}
	})
	if n := strings.Count(log.String(), "outcomes of deliveries not stored"); n < 10 || n > 15 {
		t.Errorf("tried to store %d times in 13 s", n)
	}
}
