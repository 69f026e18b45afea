package whatsapp

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"postern/event"
	"postern/sandbox"
)

func aboutHistory(f event.Fact) bool { return f.Kind == event.HistorySync }

// askedFor is a piece that a call requested. The phone sends another one after the
// pairing.
func askedFor(f event.Fact) bool {
	h, ok := f.Data.(event.HistoryUpdate)
	return ok && h.Data != nil && h.Data.SyncType == "ON_DEMAND"
}

// onHistory makes do answer the reports of history.
func (r *rig) onHistory(do func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = func(f event.Fact) error {
		if !aboutHistory(f) {
			return nil
		}
		return do()
	}
}

// quietAbout checks, by a later fact, that no further history is reported.
func (r *rig) quietAbout(phone *sandbox.Phone, what func(event.Fact) bool, text string) {
	r.t.Helper()
	if _, err := r.contact().SendText(r.t.Context(), phone.JID(), text); err != nil {
		r.t.Fatal(err)
	}
	r.await(text, message(text))
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.facts {
		if what(f) {
			r.t.Errorf("reported once more: %+v", f)
		}
	}
}

// TestHistoryIsReportedAgainAfterAKill: after a kill between the report and the
// deletion of the notice, the event comes twice, never not at all.
func TestHistoryIsReportedAgainAfterAKill(t *testing.T) {
	r := newRig(t)
	phone := r.pair()
	r.await("the piece after the pairing", aboutHistory)
	var killed []byte
	r.onHistory(func() (err error) {
		if killed == nil { // what a kill leaves of the file now
			killed, err = os.ReadFile(r.path)
		}
		return err
	})
	r.ask(phone, `{"do":"history-sync","conversations":2,"messages":3}`)
	r.await("piece", aboutHistory)
	r.stop()
	if err := os.WriteFile(r.path, killed, 0o600); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.connect()
	again := r.await("piece after the kill", aboutHistory)
	if d := again.Data.(event.HistoryUpdate).Data; d == nil || *d.Conversations != 2 || *d.Messages != 6 {
		t.Errorf("reported %+v", d)
	}
	r.restart()
	r.connect()
	r.quietAbout(phone, aboutHistory, "and never again")
}

// TestHistoryReportIsRetried: it is reported once.
func TestHistoryReportIsRetried(t *testing.T) {
	r := newRig(t)
	r.session.history.pause = 10 * time.Millisecond
	phone := r.pair()
	r.await("the piece after the pairing", aboutHistory)
	var tries atomic.Int32
	r.onHistory(func() error {
		if tries.Add(1) < 3 {
			return errors.New("the disk is full")
		}
		return nil
	})
	r.ask(phone, `{"do":"history-sync"}`)
	r.await("piece", aboutHistory)
	r.quietAbout(phone, aboutHistory, "after it")
	if n := tries.Load(); n != 3 {
		t.Errorf("%d tries", n)
	}
}

// TestHistoryDownloadIsRetried: on this connection and after a restart, with the id of
// the call that requested it.
func TestHistoryDownloadIsRetried(t *testing.T) {
	r := newRigAlone(t)
	r.session.history.pause = 10 * time.Millisecond
	phone, other := r.pair(), r.contact()
	r.synced()
	r.acts(phone, `{"do":"app-state-keys"}`) // the phone has sent a new device all that it sends by itself
	r.ask(phone, `{"do":"past","with":"`+other.Number()+`","messages":20,"blob":true}`)
	r.net.SetFaults(sandbox.Faults{MediaError: 500})
	refused := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(patience); r.net.MediaRefused() < n; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d downloads were refused, not %d", r.net.MediaRefused(), n)
			}
		}
	}
	ctx := event.WithRequestID(context.Background(), "call-7")
	if err := r.session.Account.Chats.AskHistory(ctx, event.MessageKey{RemoteJID: other.JID().String(), ID: "NOW"}, time.Now(), 15); err != nil {
		t.Fatal(err)
	}
	refused(historyTries)
	r.restart()
	r.session.history.pause = time.Second
	r.connect()
	refused(historyTries + 1)
	r.net.Heal()
	f := r.await("piece", askedFor)
	if d := f.Data.(event.HistoryUpdate).Data; f.RequestID != "call-7" || d == nil || *d.Messages != 15 {
		t.Errorf("%q, %+v", f.RequestID, d)
	}
	r.quietAbout(phone, askedFor, "after it")
}
