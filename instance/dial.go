package instance

import (
	"context"
	"fmt"
	"time"

	"postern/event"
	"postern/store"
)

// startDial dials at once with a reset backoff, unless a dial is in progress.
func (k *keeper) startDial() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calm, k.tries, k.since = false, 0, time.Time{}
	k.dialAfter(0)
}

// dialAfter starts the dialling goroutine. If it is running, it is asked to dial again,
// since the loss may be that of the connection it just made. The caller holds k.mu.
func (k *keeper) dialAfter(delay time.Duration) {
	switch {
	case k.calm:
	case k.dialing:
		k.redial, k.pause = true, delay
	default:
		ctx, hangup := context.WithCancel(k.sup.life)
		k.hangup = hangup
		k.dialing = k.sup.spawn(func() {
			defer hangup()
			k.dial(ctx, delay)
		})
		if !k.dialing {
			hangup() // stopping
		}
	}
}

// dial waits and dials until it succeeds or ctx ends. The session reports everything
// after a success.
func (k *keeper) dial(ctx context.Context, delay time.Duration) {
	for again := true; again; {
		err := k.dialOnce(ctx, delay)
		again = false
		if err != nil && ctx.Err() == nil {
			again, delay = k.dialFailed(err)
		}
		k.mu.Lock()
		if err == nil {
			k.failure = nil
			again, delay = k.redial && !k.calm, k.pause
		}
		k.dialing = again
		k.broadcast()
		k.mu.Unlock()
	}
}

func (k *keeper) dialOnce(ctx context.Context, delay time.Duration) error {
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if delay > 0 {
		if err := k.awaitDial(ctx); err != nil {
			return err
		}
	}
	k.mu.Lock()
	k.redial, k.asked = false, false
	k.mu.Unlock()
	if valid := k.sup.cfg.Valid; valid != nil && !valid() {
		return fmt.Errorf("%w: %w", event.ErrNotConnected, store.ErrFenced)
	}
	ctx, cancel := context.WithTimeout(ctx, k.sup.cfg.ConnectTimeout)
	defer cancel()
	return k.session.Connect(ctx)
}

// dialRate is how many dials of all instances begin in a second after their pauses, and
// how many at once. Those of calls and of the start have no pause and do not count.
const dialRate = 20

// awaitDial waits until the instance may dial after its pause, or a call asks for the
// connection.
func (k *keeper) awaitDial(ctx context.Context) error {
	place := k.sup.dials.Reserve()
	bounded, cancel := context.WithTimeout(ctx, place.Delay())
	defer cancel()
	if err := k.await(bounded, func() bool { return k.asked }); err == nil || ctx.Err() != nil {
		place.Cancel()
		return context.Cause(ctx)
	}
	return nil
}

// dialFailed stores the state after a failed dial. It runs while the dial still counts as
// in progress, so that those waiting for its end see the state.
func (k *keeper) dialFailed(err error) (again bool, delay time.Duration) {
	k.mu.Lock()
	k.failure = err
	state := event.ConnectionTimeout
	if again = k.mayRetry(); again {
		state, delay = event.Reconnecting, k.delay()
	}
	k.mu.Unlock()
	k.set(event.Fact{Status: state, Error: err.Error()})
	return again, delay
}

// halt ends all dialling at once and waits for its end.
func (k *keeper) halt() {
	k.mu.Lock()
	k.calm, k.redial, k.code = true, false, nil
	if k.hangup != nil {
		k.hangup()
	}
	k.broadcast()
	k.mu.Unlock()
	_ = k.await(context.Background(), func() bool { return !k.dialing }) // Connect returns when its context ends
}

// quiet ends all dialling and drops the socket.
func (k *keeper) quiet() {
	k.halt()
	k.session.Disconnect()
}

// AwaitOnline waits until the instance is connected. The error wraps
// event.ErrNotConnected when ctx ends first. Others: ErrNotFound, ErrMoved,
// event.ErrWrongNetwork.
func (s *Supervisor) AwaitOnline(ctx context.Context, id int64) error {
	for {
		k, err := s.keeper(ctx, id)
		if err != nil {
			return err
		}
		k.mu.Lock()
		changed, retired := k.changed, k.gone != nil
		k.mu.Unlock()
		if retired {
			continue // there is another one, or none
		}
		if k.session.Online() {
			return nil
		}
		if err := k.session.WrongNetwork(); err != nil {
			return fmt.Errorf("instance %d: %w", id, err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("instance %d: %w", id, event.ErrNotConnected)
		}
	}
}
