package instance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"postern/event"
)

// readDue is the bucket of the messages to be marked as read.
const readDue = "read_due"

// recorder is an account that records the automatic actions.
type recorder struct {
	Account
	mu    sync.Mutex
	reads [][]string
	fail  error
}

func (a *recorder) MarkRead(_ context.Context, chat, sender string, ids []string, _ bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail != nil {
		return a.fail
	}
	a.reads = append(a.reads, append([]string{chat, sender}, ids...))
	return nil
}

func (a *recorder) ShowAvailable(context.Context, bool) error { return nil }

func TestPendingReadReceiptsAreStored(t *testing.T) {
	r := newRig(t, nil, func(c *SupervisorConfig) { c.InitialDelay, c.MaxDelay = time.Hour, time.Hour })
	defer r.stop()
	rec := r.linked("a", event.Disconnected)
	r.settle(rec.ID, Settings{ReadMessages: true})
	if _, err := r.sup.Connect(t.Context(), rec.ID, ""); err != nil {
		t.Fatal(err)
	}
	s := r.net.session(rec.ID)
	account := &recorder{fail: event.ErrNotConnected}
	s.Account = account
	const readers = 250
	for i := range readers {
		if err := s.tell(event.Fact{Kind: event.MessagesUpsert, Data: text(fmt.Sprint("K", i), annPhone, false)}); err != nil {
			t.Fatal(err)
		}
	}
	mine := text("MINE", annPhone, true)
	status := text("STATUS", event.StatusBroadcast, false)
	reaction := text("REACTION", annPhone, false)
	reaction.MessageType = "reactionMessage"
	for _, m := range []*event.Message{mine, status, reaction} {
		if err := s.tell(event.Fact{Kind: event.MessagesUpsert, Data: m}); err != nil {
			t.Fatal(err)
		}
	}
	k, err := r.sup.keeper(t.Context(), rec.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.auto.ReadDue(); !errors.Is(err, event.ErrNotConnected) || r.count(readDue, rec.ID) != readers {
		t.Fatalf("%v, %d are due", err, r.count(readDue, rec.ID))
	}
	account.mu.Lock()
	account.fail = nil
	account.mu.Unlock()
	if err := k.auto.ReadDue(); err != nil || r.count(readDue, rec.ID) != 0 {
		t.Fatalf("%v, %d are due", err, r.count(readDue, rec.ID))
	}
	total := 0
	for _, receipt := range account.reads {
		total += len(receipt) - 2
		if receipt[0] != annPhone || len(receipt) > 102 {
			t.Errorf("a receipt for %d messages of %s", len(receipt)-2, receipt[0])
		}
	}
	if total != readers {
		t.Errorf("%d messages were marked, want %d", total, readers)
	}
}

func TestMessagesOfFormerAccountAreNotMarkedRead(t *testing.T) {
	r := newRig(t, nil, func(c *SupervisorConfig) { c.InitialDelay, c.MaxDelay = time.Hour, time.Hour })
	defer r.stop()
	rec := r.linked("a", event.Disconnected)
	r.settle(rec.ID, Settings{ReadMessages: true})
	r.report(rec.ID, event.Fact{Kind: event.MessagesUpsert, Data: text("OLD", annPhone, false)})
	r.report(rec.ID, event.Fact{Link: &event.Link{JID: "4915199999@s.whatsapp.net"}})
	k, err := r.sup.keeper(t.Context(), rec.ID)
	if err != nil {
		t.Fatal(err)
	}
	account := &recorder{}
	s := r.net.session(rec.ID)
	s.Account = account
	s.be(true, true)
	if err := k.auto.ReadDue(); err != nil || len(account.reads) != 0 || r.count(readDue, rec.ID) != 0 {
		t.Errorf("%v: published %v, %d are due", err, account.reads, r.count(readDue, rec.ID))
	}
}
