package instance

import (
	"context"
	"testing"
	"time"

	"postern/event"
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
		if r.reg.Traffic(rec.ID+1) != (Traffic{}) {
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

func TestDayForgetsHoursThatAreOver(t *testing.T) {
	var d dayCounts
	at := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	for range 30 {
		d.add(at, 1, 2, 3)
		at = at.Add(time.Hour)
	}
	at = at.Add(-time.Hour)
	if got, want := d.sum(at), (Day{Received: 24, Sent: 48, Failed: 72}); got != want {
		t.Errorf("after 30 hours %+v, want %+v", got, want)
	}
	if got := d.sum(at.Add(23 * time.Hour)); got.Received != 1 {
		t.Errorf("23 hours later %+v", got)
	}
	if got := d.sum(at.Add(1000 * time.Hour)); got != (Day{}) {
		t.Errorf("weeks later %+v", got)
	}
	d.add(at, 1, 0, 0) // the clock is set back
	if got := d.sum(at); got.Received != 1 {
		t.Errorf("after the clock was set back %+v", got)
	}
}
