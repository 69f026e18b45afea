package batch

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/batch/schedule"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// StartBatch starts a batch that is a draft, paused or interrupted. It accepts
// and changes nothing while the batch runs or waits. Errors are ErrNotFound,
// *table.TransitionError, and *InvalidError for a draft whose only window has ended.
func (e *Engine) StartBatch(ctx context.Context, owner, id uuid.UUID) (View, error) {
	return e.StartWithKey(ctx, owner, id, uuid.Nil)
}

// StartWithKey is StartBatch with a scoped key, to which the batch then belongs: see OfKey.
func (e *Engine) StartWithKey(ctx context.Context, owner, id, key uuid.UUID) (View, error) {
	return e.call(ctx, owner, id, table.OnStart, func(tx *store.Tx) error { return noteStarted(tx, id, key) })
}

// Pause pauses the batch at its next safe point. Errors are ErrNotFound and
// *table.TransitionError.
func (e *Engine) Pause(ctx context.Context, owner, id uuid.UUID) (View, error) {
	return e.call(ctx, owner, id, table.OnPause, nil)
}

// StopBatch ends the batch at its next safe point, for good. Errors are
// ErrNotFound and *table.TransitionError.
func (e *Engine) StopBatch(ctx context.Context, owner, id uuid.UUID) (View, error) {
	return e.call(ctx, owner, id, table.OnStop, nil)
}

// PauseAny is Pause for a batch of any user.
func (e *Engine) PauseAny(ctx context.Context, id uuid.UUID) (View, error) {
	return e.callAny(ctx, id, table.OnPause)
}

// StopAny is StopBatch for a batch of any user.
func (e *Engine) StopAny(ctx context.Context, id uuid.UUID) (View, error) {
	return e.callAny(ctx, id, table.OnStop)
}

func (e *Engine) callAny(ctx context.Context, id uuid.UUID, on table.Trigger) (View, error) {
	var s *record.Spec
	err := e.cfg.Store.View(func(tx *store.Tx) (err error) {
		s, err = record.LoadSpec(tx, id)
		return err
	})
	if err != nil {
		return View{}, err
	}
	return e.call(ctx, s.Owner, id, on, nil)
}

// call commits the change of an API call, with also unless that is nil.
func (e *Engine) call(ctx context.Context, owner, id uuid.UUID, on table.Trigger, also func(*store.Tx) error) (View, error) {
	return e.act(ctx, owner, id, on, nil, func(tx *store.Tx, b *full, states []event.State) error {
		window, _ := b.windowAt(tx.Now())
		if b.Status == event.BatchDraft && on == table.OnStart && window == schedule.Spent {
			return invalid(InvalidSchedule, "schedule: the window is wholly in the past")
		}
		if err := e.step(tx, b, table.Input{On: on}, states, nil); err != nil || also == nil {
			return err
		}
		return also(tx)
	})
}

// act commits what fn makes of a batch for an API call, and wakes the worker. The states
// are those of the instances, of the batch's own if that is nil.
func (e *Engine) act(ctx context.Context, owner, id uuid.UUID, on table.Trigger, instances []record.InstanceRef, fn func(*store.Tx, *full, []event.State) error) (View, error) {
	var done full
	var states []event.State
	err := errEdited
	for errors.Is(err, errEdited) {
		b, readErr := e.read(owner, id)
		if readErr != nil {
			return View{}, readErr
		}
		if states = e.states(b.spec); instances != nil {
			states = e.states(&record.Spec{Instances: instances})
		}
		err = e.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
			if done, err = b.again(tx); err != nil {
				return err
			}
			return fn(tx, &done, states)
		})
	}
	e.committed(owner, id, done.Status, err)
	var bad *InvalidError
	switch {
	case err == nil:
		e.wake(id)
	case errors.Is(err, errUnchanged):
	case errors.Is(err, ErrInvalidTransition), errors.As(err, &bad):
		return View{}, err
	default:
		return View{}, fmt.Errorf("batch %s: %s: %w", id, on, err)
	}
	return done.view(states, e.now()), nil
}

// errEdited means that a call changed the constant part of a batch since it was read.
var errEdited = errors.New("batch: it was changed")

// again returns the batch with its header as it is now.
func (b *full) again(tx *store.Tx) (now full, err error) {
	h, err := record.LoadHeader(tx, b.id)
	if err == nil && h.Edition != b.Edition {
		err = errEdited
	}
	return full{id: b.id, Header: h, spec: b.spec, message: b.message}, err
}
