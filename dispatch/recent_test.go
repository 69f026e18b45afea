package dispatch

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

func TestRecentKeepsTheNewestWithinItsBound(t *testing.T) {
	const size = recentBytes / 4
	var r recent[string]
	for n := range uint64(100) {
		r.put(n, "x", size)
	}
	for n := range uint64(100) {
		if _, there := r.get(n); there != (n >= 96) {
			t.Errorf("%d: %t", n, there)
		}
	}
	if what, there := r.take(97); what != "x" || !there {
		t.Error("97 cannot be taken")
	}
	if _, there := r.take(97); there {
		t.Error("97 was taken twice")
	}
	r.put(100, "y", size)
	if _, there := r.get(96); !there {
		t.Error("96 went although there was room")
	}
	for n := range uint64(10_000) {
		r.put(200+n, "z", 1)
		r.take(200 + n)
	}
	r.put(1, "all", recentBytes)
	r.put(1, "again", recentBytes)
	if len(r.all) != 1 || len(r.order) != 1 || r.bytes != recentBytes {
		t.Errorf("%d are kept, %d in line, %d bytes", len(r.all), len(r.order), r.bytes)
	}
}

// TestAnOutcomeGoesWithTheNextCommit of any caller, and requests one of its own if none
// comes or if a delivery waits for it.
func TestAnOutcomeGoesWithTheNextCommit(t *testing.T) {
	t.Parallel()
	inBubble(t, "o.db", func(t *testing.T, s *file, hook *scripted) {
		r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: "http://hook/", Sender: hook.sender()})
		defer stopRelay(t, r)
		batch := uuid.New()
		settled := func(n int) {
			t.Helper()
			emit(t, s, batch, n)
			time.Sleep(10*time.Millisecond + 2*gatherFor) // it was answered, and gathered
			synctest.Wait()
		}
		pending := func() int { return s.Counts().Pending }

		settled(0)
		commits := s.Stats().Commits
		if pending() != 1 {
			t.Fatal("the outcome did not wait")
		}
		emit(t, s, uuid.New(), 1)
		synctest.Wait()
		if got := s.Stats().Commits - commits; got != 1 || pending() != 1 {
			t.Errorf("%d commits, %d pending", got, pending())
		}

		time.Sleep(time.Second)
		commits = s.Stats().Commits
		settled(2)
		time.Sleep(rideFor)
		synctest.Wait()
		if got := s.Stats().Commits - commits; got != 2 || pending() != 0 {
			t.Errorf("alone: %d commits, %d pending", got, pending())
		}

		hook.answer(always(http.StatusServiceUnavailable, ""))
		commits = s.Stats().Commits
		settled(3)
		if got := s.Stats().Commits - commits; got != 2 {
			t.Errorf("a failure: %d commits", got)
		}
	})
}
