package instance

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
)

// TestMovedInstanceNeverDialsAgain: the move waits for pending sends, calls that wait for the
// instance are refused, listeners are informed, and the instance stays offline until the same mark
// is removed.
func TestMovedInstanceNeverDialsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		defer func() { r.stop() }()
		id := r.linked("a", event.Disconnected).ID
		r.net.onDial(func(_ context.Context, s *session) error {
			s.login()
			return nil
		})
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		r.wantStatus(id, event.Online)
		r.published()
		s := r.net.session(id)
		s.mu.Lock()
		s.busy = make(chan struct{})
		s.mu.Unlock()
		s.forgetDials()

		type outcome struct {
			marked bool
			err    error
		}
		moved, waits := make(chan outcome, 1), make(chan error, 1)
		go func() {
			marked, err := r.sup.MoveAway(bg, id, "export-1")
			moved <- outcome{marked, err}
		}()
		synctest.Wait()
		go func() { waits <- r.sup.Restart(bg, id, "") }()
		synctest.Wait()
		if len(moved) > 0 || !s.Online() || r.record(id).HasMoved() {
			t.Error("it did not wait for what is on its way")
		}
		close(s.busy)
		if o := <-moved; !o.marked || o.err != nil {
			t.Errorf("%+v", o)
		}
		if err := <-waits; !errors.Is(err, ErrMoved) || !errors.Is(err, event.ErrNotConnected) {
			t.Errorf("who waited: %v", err)
		}
		if rec := r.record(id); !rec.HasMoved() || rec.Status != event.Offline || rec.LastError == "" || s.Online() {
			t.Errorf("%+v", rec)
		}
		if n := r.one(); n.Kind != event.ConnectionUpdated || n.RequestID != "export-1" {
			t.Errorf("published: %+v", n)
		}
		if marked, err := r.sup.MoveAway(bg, id, "export-2"); marked || err != nil {
			t.Errorf("a second time: %v, %v", marked, err)
		}
		time.Sleep(24 * time.Hour)
		if _, err := r.sup.Connect(bg, id, ""); !errors.Is(err, ErrMoved) || len(s.dialled()) > 0 {
			t.Errorf("%v; it dialled at %v", err, s.dialled())
		}
		r.reboot()
		r.sup.Start()
		time.Sleep(24 * time.Hour)
		if s := r.net.session(id); s != nil {
			t.Error("it has a session after a start")
		}

		if err := r.sup.MoveBack(bg, id, "export-2"); !errors.Is(err, ErrNotMoved) {
			t.Errorf("by another export: %v", err)
		}
		if err := r.sup.MoveBack(bg, id, "export-1"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		r.wantStatus(id, event.Online)
		if err := r.sup.MoveBack(bg, id, ""); !errors.Is(err, ErrNotMoved) {
			t.Errorf("once more: %v", err)
		}
	})
}

// TestAnInstanceThatCannotMoveGoesOn: one that is not paired, and one whose sends do not end.
func TestAnInstanceThatCannotMoveGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		defer r.stop()
		if _, err := r.sup.MoveAway(bg, r.create("none").ID, ""); !errors.Is(err, ErrNeverPaired) {
			t.Errorf("not paired: %v", err)
		}
		if _, err := r.sup.MoveAway(bg, 99, ""); !errors.Is(err, ErrNotFound) {
			t.Errorf("not there: %v", err)
		}
		id := r.linked("a", event.Disconnected).ID
		r.net.onDial(func(_ context.Context, s *session) error {
			s.login()
			return nil
		})
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		s := r.net.session(id)
		s.mu.Lock()
		s.busy = make(chan struct{})
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		if marked, err := r.sup.MoveAway(ctx, id, ""); marked || err == nil || !s.Online() {
			t.Errorf("%v, %v; online %v", marked, err, s.Online())
		}
		r.wantStatus(id, event.Online)
	})
}

// TestWaitForConnectionEndsWithTheInstance: a call that waits for the connection learns that the instance has moved or
// is deleted, and one that waits after it was taken back finds its connection.
func TestWaitForConnectionEndsWithTheInstance(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.net.onDial(func(context.Context, *session) error { return errors.New("no route") })
		moves, goes := r.linked("moves", event.Disconnected).ID, r.linked("goes", event.Disconnected).ID
		ctx, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		moved, deleted := make(chan error, 1), make(chan error, 1)
		go func() { moved <- r.sup.AwaitOnline(ctx, moves) }()
		go func() { deleted <- r.sup.AwaitOnline(ctx, goes) }()
		synctest.Wait()
		if _, err := r.sup.MoveAway(bg, moves, "export"); err != nil {
			t.Fatal(err)
		}
		if err := r.sup.Delete(bg, goes, true); err != nil {
			t.Fatal(err)
		}
		if err := <-moved; !errors.Is(err, ErrMoved) {
			t.Errorf("moved: %v", err)
		}
		if err := <-deleted; !errors.Is(err, ErrNotFound) {
			t.Errorf("deleted: %v", err)
		}
		r.net.onDial(nil)
		if err := r.sup.MoveBack(bg, moves, "export"); err != nil {
			t.Fatal(err)
		}
		if err := r.sup.AwaitOnline(ctx, moves); err != nil {
			t.Errorf("moved back: %v", err)
		}
	})
}
