package logbook

import (
	"errors"
	"testing"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// emitCode writes a durable pairing code of instance 1.
func (r *rig) emitCode(to ...event.Destination) (e delivery.Event) {
	r.t.Helper()
	r.update(func(tx *store.Tx) (err error) {
		code := testEvent(1, event.About{})
		code.Kind, code.ExpiresAt = event.QRCodeUpdated, tx.Now().Add(time.Hour)
		e, err = r.l.Emit(tx, code, true, to)
		return err
	})
	return e
}

// failedCode has a failed pairing code of the in-memory flow in the log.
func (r *rig) failedCode(to event.Destination, state delivery.State) uint64 {
	r.t.Helper()
	n := notice(1)
	n.Kind = event.QRCodeUpdated
	e := r.log.Queued(n, to)
	e.Done(state, delivery.Attempt{StartedAt: time.Now(), Status: 500, Error: "receiver answered 500", RequestID: "first"})
	if err := r.log.Flush(r.t.(*testing.T).Context()); err != nil {
		r.t.Fatal(err)
	}
	return e.id
}

// move changes the URL of a destination as a commit does.
func (r *rig) move(lane delivery.Lane, to *event.Destination, url string) (ended []delivery.Ended) {
	r.t.Helper()
	to.URL = url
	r.update(func(tx *store.Tx) (err error) {
		ended, err = r.l.Withhold(tx, lane, to.Access())
		return err
	})
	return ended
}

// wantWithheld requires a record in a state, without a body that could be sent.
func (r *rig) wantWithheld(what string, id uint64, state delivery.State, lastError string) {
	r.t.Helper()
	got, _, body, err := r.log.Record(r.t.(*testing.T).Context(), id)
	if err != nil || got.State != state || got.LastError != lastError || got.Replayable || body != nil || !got.NextAttemptAt.IsZero() {
		r.t.Errorf("%s: %+v, body %s, %v", what, got, body, err)
	}
	err = r.s.Update(r.t.(*testing.T).Context(), func(tx *store.Tx) error { _, _, err := r.l.Retry(tx, id); return err })
	if !errors.Is(err, delivery.ErrBodyGone) {
		r.t.Errorf("%s: a retry says %v", what, err)
	}
}

func TestMovedDestinationGetsNoWaitingCodes(t *testing.T) {
	s := oldSettings()
	s.to = hook(event.OrderInstance)
	cfg := s.config()
	r := newRig(t, cfg)
	lane := webhookLaneOf(1)
	first := r.emitCode(s.to, endpoint("crm", event.OrderInstance))
	behind := r.emit(event.About{}, s.to)
	second := r.emitCode(s.to)
	if again := r.move(lane, &s.to, s.to.URL); len(again) != 0 {
		t.Errorf("the same URL withholds %+v", again)
	}
	ended := r.move(lane, &s.to, "https://evil.example/")
	if len(ended) != 2 || ended[0].Follows == nil || ended[0].Follows.Record != behind.First() || ended[1].Follows != nil {
		t.Fatalf("%+v", ended)
	}
	r.wantWithheld("the first of its line", first.First(), delivery.Cancelled, delivery.ReasonChanged)
	r.wantWithheld("one that waited", second.First(), delivery.Cancelled, delivery.ReasonChanged)
	if got := r.due(lane); len(got) != 1 || got[0] != behind.First() {
		t.Errorf("due are %v", got)
	}
	if got := r.due(delivery.Lane{Flow: delivery.FlowInstance, Instance: 1, Target: event.TargetEndpoint, Endpoint: "crm"}); len(got) != 1 {
		t.Errorf("the endpoint, which is where it was, has %v", got)
	}
	r.view(func(tx *store.Tx) error {
		all, err := delivery.PositionAfter(tx, 1, 0, 10)
		if len(all) != 3 {
			t.Errorf("%d events can be read by their number", len(all))
		}
		return err
	})
	r.reopen()
	r.wantWithheld("after a restart", first.First(), delivery.Cancelled, delivery.ReasonChanged)
}

func TestMovedDestinationGetsNoStoredCodes(t *testing.T) {
	for _, bodies := range []delivery.Bodies{delivery.BodiesFailed, delivery.BodiesAll} {
		s := oldSettings()
		cfg := s.config()
		cfg.Bodies = bodies
		r := newRig(t, cfg)
		states := map[uint64]delivery.State{}
		for _, state := range []delivery.State{delivery.Delivered, delivery.Failed, delivery.Dropped, delivery.Cancelled} {
			states[r.failedCode(s.to, state)] = state
		}
		message := r.failed(1, 1)[0]
		retried := r.failedCode(s.to, delivery.Delivered)
		if bodies == delivery.BodiesAll {
			r.update(func(tx *store.Tx) error { _, _, err := r.l.Retry(tx, retried); return err })
		}
		replay := r.replay(ReplayRequest{Events: []event.Kind{event.QRCodeUpdated}})
		r.move(webhookLaneOf(1), &s.to, "https://evil.example/")
		for id, was := range states {
			want, reason := delivery.Cancelled, delivery.ReasonChanged
			if was == delivery.Delivered {
				want, reason = delivery.Delivered, "receiver answered 500"
			}
			r.wantWithheld(string(was), id, want, reason)
		}
		r.wantWithheld("one that was delivered and is retried", retried, delivery.Delivered, "receiver answered 500")
		r.turns()
		if got := r.replayNow(replay.ID); got.Matched != 2 || got.Sent != 0 || got.State != ReplayDone {
			t.Errorf("a replay that was accepted before: %+v", got)
		}
		if got := r.replay(ReplayRequest{States: delivery.States()}); got.Matched != 1 {
			t.Errorf("a replay matches %+v, want the message alone", got)
		}
		if rec, _ := r.record(message); rec.State != delivery.Failed || !rec.OwnBody {
			t.Errorf("a message: %+v", rec)
		}
		if err := r.stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The file does not yet have what ended, or waits, in memory.
func TestCodesWrittenAfterAMoveHaveNoBody(t *testing.T) {
	s := oldSettings()
	r := newRig(t, s.config())
	n := notice(1)
	n.Kind = event.QRCodeUpdated
	ended, waiting, stored, delivered := r.log.Queued(n, s.to), r.log.Queued(n, s.to), r.log.Queued(n, s.to), r.log.Queued(n, s.to)
	if err := r.log.Flush(t.Context()); err != nil { // as pending ones, with their bodies
		t.Fatal(err)
	}
	fresh := r.log.Queued(n, s.to)
	ended.Done(delivery.Failed, delivery.Attempt{Status: 500, Error: "receiver answered 500"})
	fresh.Done(delivery.Failed, delivery.Attempt{Status: 500, Error: "receiver answered 500"})
	r.move(webhookLaneOf(1), &s.to, "https://evil.example/")
	if rec, _ := r.record(stored.id); rec.State != delivery.Pending || rec.OwnBody {
		t.Errorf("one that waits in memory: %+v", rec)
	}
	waiting.Withhold()
	delivered.Done(delivery.Delivered, delivery.Attempt{Status: 200})
	stored.Done(delivery.Failed, delivery.Attempt{Status: 500, Error: "receiver answered 500"})
	if err := r.log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for what, e := range map[string]*Entry{"ended before": ended, "withheld": waiting, "ended after": stored, "never written before": fresh} {
		r.wantWithheld(what, e.id, delivery.Cancelled, delivery.ReasonChanged)
	}
	r.wantWithheld("delivered", delivered.id, delivery.Delivered, "")
	kept := 0
	r.view(func(tx *store.Tx) error {
		return tx.Scan(bodies, store.Range{}, func(_, _ []byte) (bool, error) { kept++; return true, nil })
	})
	if kept != 0 {
		t.Errorf("%d bodies are left", kept)
	}
}

// An attempt that was under way goes to the former destination.
func TestLateOutcomeOfAWithheldCode(t *testing.T) {
	for _, accepted := range []bool{true, false} {
		s := oldSettings()
		s.to = hook(event.OrderNone)
		r := newRig(t, s.config())
		e := r.emitCode(s.to)
		r.move(webhookLaneOf(1), &s.to, "https://evil.example/")
		r.settle(e.First(), accepted, time.Time{})
		if accepted {
			r.wantWithheld("accepted", e.First(), delivery.Delivered, "")
		} else {
			r.wantWithheld("refused", e.First(), delivery.Cancelled, delivery.ReasonChanged)
		}
	}
}

func TestWithheldCodesLeaveNothingWithTheLogOff(t *testing.T) {
	s := oldSettings()
	s.to = hook(event.OrderInstance)
	cfg := s.config()
	cfg.Log = false
	r := newRig(t, cfg)
	e := r.emitCode(s.to)
	if ended := r.move(webhookLaneOf(1), &s.to, "https://evil.example/"); len(ended) != 1 {
		t.Errorf("%+v", ended)
	}
	if _, found := r.record(e.First()); found || len(r.due(webhookLaneOf(1))) != 0 {
		t.Error("it is still there")
	}
}

func TestGlobalWebhookRemembersItsAccess(t *testing.T) {
	s := oldSettings()
	s.to = global(event.OrderNone)
	r := newRig(t, s.config())
	withhold := func() (ended []delivery.Ended) {
		t.Helper()
		r.update(func(tx *store.Tx) (err error) {
			ended, err = r.l.WithholdGlobal(tx, s.to.Access())
			return err
		})
		return ended
	}
	withhold()
	first := r.emitCode(s.to)
	r.reopen()
	if ended := withhold(); len(ended) != 0 {
		t.Errorf("after a restart with the same URL: %+v", ended)
	}
	s.to.Headers = map[string]string{"X-Tenant": "b"}
	if ended := withhold(); len(ended) != 1 {
		t.Errorf("with another header: %+v", ended)
	}
	r.wantWithheld("another header", first.First(), delivery.Cancelled, delivery.ReasonChanged)
}

func TestReplayWithoutCodesPassesThemOver(t *testing.T) {
	s := oldSettings()
	r := newRig(t, s.config())
	r.failedCode(s.to, delivery.Failed)
	message := r.failed(1, 1)[0]
	only := r.replay(ReplayRequest{NoCodes: true, Events: []event.Kind{event.QRCodeUpdated}})
	if only.Matched != 0 {
		t.Errorf("%+v", only)
	}
	id := r.replay(ReplayRequest{NoCodes: true}).ID
	r.turns()
	if all := r.repeats(id); len(all) != 1 || all[0].ReplayOf != message {
		t.Errorf("%+v", all)
	}
}

func webhookLaneOf(instance int64) delivery.Lane {
	return delivery.Lane{Flow: delivery.FlowInstance, Instance: instance, Target: event.TargetWebhook}
}
