package instance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

func TestCallerIsAnsweredOnceAnHour(t *testing.T) {
	const lid = "133742133742133@lid"
	r := newRig(t, func(cfg *Config) {
		cfg.Twin = func(jid string) string { return map[string]string{annPhone: lid, lid: annPhone}[jid] }
	}, nil)
	defer r.stop()
	id, other := r.create("a").ID, r.create("b").ID
	claim := func(instance int64, caller string) bool {
		t.Helper()
		due, err := r.reg.claimAnswer(t.Context(), instance, caller)
		if err != nil {
			t.Fatal(err)
		}
		return due
	}
	// last changes the time of the last answer to that long ago.
	last := func(ago time.Duration) {
		t.Helper()
		err := r.s.Update(t.Context(), func(tx *store.Tx) error {
			at := uint64(tx.Now().Add(-ago).UnixMilli())
			return tx.Put(callAnswers, store.Key(id, lid), binary.BigEndian.AppendUint64(nil, at))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !claim(id, lid) || claim(id, lid) || claim(id, annPhone) {
		t.Error("the first call alone is answered, whichever address it came from")
	}
	if !claim(other, lid) || !claim(id, "133742133742134@lid") {
		t.Error("another instance and another caller are answered")
	}
	last(answerPause - time.Minute)
	if claim(id, annPhone) {
		t.Error("answered within the hour")
	}
	last(answerPause)
	if !claim(id, annPhone) {
		t.Error("not answered after an hour")
	}
	last(-2 * answerPause)
	if err := r.reg.releaseAnswer(t.Context(), id, annPhone); err != nil {
		t.Fatal(err)
	}
	if !claim(id, annPhone) {
		t.Error("a clock that was set back silences a caller")
	}
	// Expired records are removed: these are the callers of an hour.
	if n := r.count(callAnswers, id); n != 2 {
		t.Errorf("%d records", n)
	}
}

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
	if err := k.readDue(); !errors.Is(err, event.ErrNotConnected) || r.count(readsDue, rec.ID) != readers {
		t.Fatalf("%v, %d are due", err, r.count(readsDue, rec.ID))
	}
	account.mu.Lock()
	account.fail = nil
	account.mu.Unlock()
	if err := k.readDue(); err != nil || r.count(readsDue, rec.ID) != 0 {
		t.Fatalf("%v, %d are due", err, r.count(readsDue, rec.ID))
	}
	total := 0
	for _, receipt := range account.reads {
		total += len(receipt) - 2
		if receipt[0] != annPhone || len(receipt) > readStep+2 {
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
	if err := k.readDue(); err != nil || len(account.reads) != 0 || r.count(readsDue, rec.ID) != 0 {
		t.Errorf("%v: published %v, %d are due", err, account.reads, r.count(readsDue, rec.ID))
	}
}
