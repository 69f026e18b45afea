package dispatch

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery/outbox"
)

func TestBatchEventsFollowTheGlobalWebhook(t *testing.T) {
	dead, first, second := newReceiver(t), newReceiver(t), newReceiver(t)
	dead.set(func(emitted) int { return 503 })
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	emit(t, s, uuid.New(), 1) // before there is any
	r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger})
	batch := uuid.New()
	emit(t, s, batch, 1, 2)

	r.SetURL(dead.URL)
	eventually(t, "the one that refuses is asked", func() bool { return len(dead.received()) > 0 })
	emit(t, s, batch, 3)

	r.SetURL(first.URL) // what failed goes there at once, not after its backoff
	eventually(t, "all have come", func() bool { return pendingIn(s) == 0 })
	if n := len(first.received()); n != 4 {
		t.Errorf("%d events came to the one that accepts, want 4", n)
	}

	r.SetURL("")
	emit(t, s, batch, 4)
	eventually(t, "the relay has seen it", func() bool { return pendingIn(s) == 1 })
	time.Sleep(100 * time.Millisecond)
	if n := len(first.received()); n != 4 {
		t.Errorf("switched off, the webhook got %d events", n-4)
	}

	r.SetURL(second.URL)
	eventually(t, "what waited has gone", func() bool { return pendingIn(s) == 0 })
	if n := len(second.received()); n != 1 {
		t.Errorf("%d events came to the next one, want 1", n)
	}
}

// TestWebhookAddedAfterTheStopDeliversNothing and blocks no caller.
func TestWebhookAddedAfterTheStopDeliversNothing(t *testing.T) {
	to := newReceiver(t)
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger})
	emit(t, s, uuid.New(), 1)
	stopRelay(t, r)
	r.SetURL(to.URL)
	if r.sends.Load() || len(to.received()) != 0 {
		t.Error("a stopped relay began to send")
	}
}

func pendingIn(s *file) int { return s.Counts().Of(outbox.Pending) }
