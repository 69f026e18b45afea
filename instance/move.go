package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
)

// MoveAway marks an instance as living elsewhere, for the request by, and disconnects
// it: what it is sending is sent first, and from its return on nothing reads or writes
// its device. It goes on when ctx ends once it has begun to disconnect. marked tells that
// it was not marked before: who then does not hand the account on calls MoveBack.
// Errors: ErrNotFound; one that wraps event.ErrNotConnected when the instance is not
// paired, event.ErrBusy when its sends do not end, or that it could not be stored.
// Nothing has changed then, but that it may connect anew.
func (s *Supervisor) MoveAway(ctx context.Context, id int64, by string) (marked bool, err error) {
	k, err := s.keeper(ctx, id)
	if errors.Is(err, ErrMoved) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := k.takeUnlessStopping(ctx); err != nil {
		if errors.Is(err, ErrMoved) {
			return false, nil
		}
		return false, fmt.Errorf("move: %w", err)
	}
	defer k.release()
	if !k.session.Paired() {
		return false, fmt.Errorf("%w: %w", event.ErrNotConnected, ErrNeverPaired)
	}
	resume, err := k.session.Hold(ctx)
	if err != nil {
		return false, fmt.Errorf("move: %w", err)
	}
	defer resume() // who waits finds no connection
	k.mu.Lock()
	tries := k.wanted()
	k.mu.Unlock()
	k.quiet()
	if err := s.reg.Move(context.WithoutCancel(ctx), id, by); err != nil {
		if tries {
			k.set(event.Fact{Status: event.Disconnected})
			k.begin(event.Reconnecting, "")
		}
		return false, err
	}
	k.leave(errMoved)
	return true, nil
}

// MoveBack takes the mark of MoveAway away, with by only that of this request, and
// connects the instance as a start does. Errors are those of Registry.MoveBack.
func (s *Supervisor) MoveBack(ctx context.Context, id int64, by string) error {
	if err := s.reg.MoveBack(ctx, id, by); err != nil {
		return err
	}
	s.Resume(id)
	return nil
}

// Resume begins to connect an instance that is paired and has no connection yet, as a
// start does: unless only calls may connect.
func (s *Supervisor) Resume(id int64) {
	if s.cfg.AutoReconnect {
		s.spawn(func() { s.restoreOne(id) })
	}
}
