package instance

import (
	"context"
	"errors"
	"fmt"

	"postern/event"
)

// MoveAway marks an instance as moved, for the request by, and disconnects it: pending
// sends complete first, and after MoveAway returns nothing reads or writes its device. It
// continues after ctx ends once disconnecting has begun. marked reports that the mark is
// new: a caller that then fails to hand the account on calls MoveBack. Errors:
// ErrNotFound; one that wraps event.ErrNotConnected if the instance is not paired, or
// event.ErrBusy if its sends do not end; or that of the store. After an error nothing has
// changed, except that the instance may reconnect.
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
	defer resume() // calls that wait find no connection
	k.mu.Lock()
	tries := k.wanted()
	k.mu.Unlock()
	k.quiet()
	if s.cfg.Pacer != nil {
		if err := s.cfg.Pacer.Settle(id); err != nil {
			s.log.Warn("messages that may have left count in the limits of a moved instance", "instance_id", id, "error", err)
		}
	}
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

// MoveBack removes the mark of MoveAway, with a non-empty by only that of this request,
// and connects the instance as a start does. Errors are those of Registry.MoveBack.
func (s *Supervisor) MoveBack(ctx context.Context, id int64, by string) error {
	if err := s.reg.MoveBack(ctx, id, by); err != nil {
		return err
	}
	s.Resume(id)
	return nil
}

// Resume starts connecting a paired instance without a connection, as a start does,
// unless only calls may connect.
func (s *Supervisor) Resume(id int64) {
	if s.cfg.AutoReconnect {
		s.spawn(func() { s.restoreOne(id) })
	}
}
