package instance

import (
	"context"
	"testing"
	"time"

	"postern/event"
	"postern/instance/traffic"
	"postern/messages"
)

// TestTrafficIsCountedOnceAMessage: received messages count on arrival, once even if WhatsApp
// repeats them, and also if they are not stored. Messages that the account wrote on another device
// do not count.
func TestTrafficIsCountedOnceAMessage(t *testing.T) {
	for _, saves := range []bool{true, false} {
		r := newRigKeeping(t, func(c *messages.Config) { c.SaveMessages = saves })
		rec := r.create("a")
		report := func(id string, mine bool) {
			t.Helper()
			jid := "4915155500002@" + event.UserServer
			m := &event.Message{KeyID: id, KeyRemoteJID: &jid, KeyFromMe: mine, MessageType: "conversation", Content: []byte(`{"text":"x"}`)}
			if err := r.reg.Report(context.Background(), rec.ID, event.Fact{Kind: event.MessagesUpsert, Data: m}); err != nil {
				t.Fatal(err)
			}
		}
		report("A", false)
		report("B", false)
		report("C", true)
		if saves {
			report("B", false) // once more
		}
		r.reg.CountUndecryptable(rec.ID)
		r.reg.CountWebhookFailure(rec.ID)
		r.reg.CountWebhookFailure(rec.ID + 1) // which does not exist
		got := r.reg.Traffic(rec.ID)
		if got.Received != 2 || got.Undecryptable != 1 || got.WebhookFailures != 1 || time.Since(got.LastReceived) > time.Minute || !got.LastSent.IsZero() {
			t.Errorf("saves %t: %+v", saves, got)
		}
		if r.reg.Traffic(rec.ID+1) != (traffic.Totals{}) {
			t.Error("one that does not exist has traffic")
		}
	}
}

func TestWhatWentThroughADeletedInstanceStillCounts(t *testing.T) {
	r := newRig(t, nil, nil)
	a, b := r.create("a"), r.create("b")
	for range 3 {
		r.reg.countSent(a.ID)
	}
	r.reg.countSent(b.ID)
	if err := r.reg.Delete(context.Background(), a.ID, true); err != nil {
		t.Fatal(err)
	}
	r.reg.countSent(a.ID) // late: the instance is deleted
	r.reg.countSent(b.ID)
	if got := r.reg.Flow(); got.Sent != 5 {
		t.Errorf("sent %d, want 5", got.Sent)
	}
}
