package later

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"postern/event"
	"postern/instance"
	"postern/instance/pace"
	"postern/store"
)

// flight is a send under way: its time has come, and it has not ended.
type flight struct {
	w      *waiting
	ctx    context.Context // ends when the send is removed or the program stops
	cancel context.CancelCauseFunc

	begun   bool  // the message may leave, as the file says
	refused error // why the message was kept from leaving
}

// errGone: the send was removed before its message could leave.
var errGone = errors.New("the scheduled send was removed")

func newFlight(life context.Context, w *waiting) *flight {
	f := &flight{w: w}
	f.ctx, f.cancel = context.WithCancelCause(life)
	return f
}

// fly performs a send until it ends, is removed, is held back by a limit, or the program
// stops.
func (s *Scheduler) fly(l *lane, f *flight) {
	defer s.landed(l, f)
	defer f.cancel(nil)
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		err := s.attempt(f)
		switch {
		case err == nil:
			s.removed(l, f.w.pieces())
			return
		case errors.Is(err, instance.ErrNotFound): // deleted
			return
		case errors.Is(err, instance.ErrNotStored):
			s.log.Error("a scheduled message was sent and could not be stored; look after the disk", "instance_id", l.instance, "error", err)
			s.endFlight(l, f, fmt.Errorf("%w: the message was sent and could not be stored", event.ErrOutcomeUnknown))
			return
		case !f.begun && (f.ctx.Err() != nil || errors.Is(f.refused, errGone) || errors.Is(f.refused, ErrBegun) || errors.Is(f.refused, event.ErrTooLate)):
			return
		case !f.passes(err):
			s.endFlight(l, f, err)
			return
		case f.begun && !s.undo(l, f):
			return
		}
		if !wait(f.ctx, pause) || errors.Is(err, pace.ErrLimit) {
			return // the lane asks again
		}
	}
}

// passes reports whether nothing of the message left, for a reason that may pass.
func (f *flight) passes(err error) bool {
	for _, passing := range []error{event.ErrNotConnected, event.ErrWrongNetwork, event.ErrBusy, pace.ErrLimit} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return !f.begun && (errors.Is(f.refused, store.ErrDiskFull) || errors.Is(err, store.ErrDiskFull))
}

// wait waits for a pause. It returns false if ctx ends.
func wait(ctx context.Context, pause time.Duration) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt sends the message of a flight once, as soon as the instance is connected. The
// commit that stores the message removes the send.
func (s *Scheduler) attempt(f *flight) error {
	f.refused = nil
	w := f.w
	if err := s.cfg.Supervisor.AwaitOnline(f.ctx, w.instance); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	on := context.AfterFunc(f.ctx, func() { cancel(context.Cause(f.ctx)) })
	defer on()
	out := w.Out
	if w.File != nil {
		m, err := s.unpack(w)
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(m.File.Path) }()
		out.Content.Media = m
	}
	out.By = event.ByQueue
	out.Leaving = func() error {
		f.refused = context.Cause(f.ctx)
		if on() {
			f.refused = s.mark(w)
		}
		f.begun = f.refused == nil
		return f.refused
	}
	_, err := s.cfg.Supervisor.SendAndStore(ctx, w.instance, out, instance.Keeping{
		Attributes: w.Attributes, RequestID: w.RequestID, Scheduled: w.id.String(),
		Again:    func(err error) bool { return errors.Is(err, store.ErrDiskFull) && s.waitForRoom(w) },
		InCommit: func(tx *store.Tx, _ event.Message) error { return remove(tx, w.deadline()) },
	})
	return err
}

// mark stores that the message of a send may leave.
func (s *Scheduler) mark(w *waiting) error {
	return s.cfg.Store.Update(context.Background(), func(tx *store.Tx) error {
		switch {
		case !tx.Has(sends, w.key()):
			return errGone
		case tx.Has(begun, w.key()): // it may have left
			return ErrBegun
		case tx.Now().After(w.last()):
			return tooLate(w.deadline())
		}
		return tx.Put(begun, w.key(), nil)
	})
}

// undo stores that the message of a send did not leave. It returns false if the program
// stops first: the send then ends with an unknown outcome at the next start.
func (s *Scheduler) undo(l *lane, f *flight) bool {
	if !s.settle(l, f.w, func() error {
		return s.cfg.Store.Update(context.Background(), func(tx *store.Tx) error { return tx.Delete(begun, f.w.key()) })
	}) {
		return false
	}
	f.begun = false
	return true
}

// endFlight ends a send that failed, or whose outcome is unknown.
func (s *Scheduler) endFlight(l *lane, f *flight, failed error) {
	s.settle(l, f.w, func() error {
		return s.endAll(l, []ending{{deadline: f.w.deadline(), err: failed, begun: f.begun}})
	})
}

// settle repeats a commit until it succeeds or the instance is deleted. It returns false
// if the program stops first.
func (s *Scheduler) settle(l *lane, w *waiting, commit func() error) bool {
	for {
		err := commit()
		again := false
		switch {
		case err == nil, errors.Is(err, instance.ErrNotFound):
			return true
		case errors.Is(err, store.ErrDiskFull):
			again = s.waitForRoom(w)
		default:
			s.failed(l, err)
			again = wait(s.life, maxPause)
		}
		if !again {
			return false
		}
	}
}

// waitForRoom waits before a repeated commit on a full disk. It returns false if the
// program stops.
func (s *Scheduler) waitForRoom(w *waiting) bool {
	s.log.Warn("the result of a scheduled send waits for disk space; free some space", "instance_id", w.instance)
	return wait(s.life, 10*time.Second)
}

// unpack writes the file of a send to the disk and returns the content with it. The caller
// removes the file.
func (s *Scheduler) unpack(w *waiting) (*event.Media, error) {
	path, err := s.cfg.Spool(&pieces{store: s.cfg.Store, w: w})
	if err != nil {
		return nil, fmt.Errorf("the file of the scheduled send: %w", err)
	}
	m := *w.Out.Content.Media
	m.File = &event.MediaFile{Path: path, MediaInfo: w.File.MediaInfo}
	return &m, nil
}
