package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// StartBatch starts a batch that is a draft, paused or interrupted. It accepts
// and changes nothing while the batch runs or waits. Errors are ErrNotFound,
// *TransitionError, and *InvalidError for a draft whose only window is over.
func (e *Engine) StartBatch(ctx context.Context, owner, id uuid.UUID) (View, error) {
	return e.call(ctx, owner, id, OnStart)
}

// Pause has the batch pause at its next safe point. Errors are ErrNotFound and
// *TransitionError.
func (e *Engine) Pause(ctx context.Context, owner, id uuid.UUID) (View, error) {
	return e.call(ctx, owner, id, OnPause)
}

// StopBatch ends the batch at its next safe point, for good. Errors are
// ErrNotFound and *TransitionError.
func (e *Engine) StopBatch(ctx context.Context, owner, id uuid.UUID) (View, error) {
	return e.call(ctx, owner, id, OnStop)
}

// call commits what an API call asks for and wakes the worker.
func (e *Engine) call(ctx context.Context, owner, id uuid.UUID, on Trigger) (View, error) {
	b, err := e.read(owner, id)
	if err != nil {
		return View{}, err
	}
	states := e.states(b.spec)
	var done full
	err = e.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		h, err := loadHeader(tx, id)
		if err != nil {
			return err
		}
		done = full{id: id, header: h, spec: b.spec, message: b.message}
		window, _ := done.windowAt(tx.Now())
		if h.Status == event.BatchDraft && on == OnStart && window == WindowSpent {
			return invalid(InvalidSchedule, "schedule: the window is wholly in the past")
		}
		return step(tx, &done, Input{On: on}, states, nil)
	})
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
	return done.view(states), nil
}

// read returns a batch of the owner.
func (e *Engine) read(owner, id uuid.UUID) (b *full, err error) {
	err = e.cfg.Store.View(func(tx *store.Tx) error {
		b, err = loadOf(tx, owner, id)
		return err
	})
	return b, err
}

func loadOf(tx *store.Tx, owner, id uuid.UUID) (*full, error) {
	if !tx.Has(bucketOwner, store.Key(owner, id)) {
		return nil, ErrNotFound
	}
	return load(tx, id)
}

// Batch returns one batch of the owner. Its error is ErrNotFound when there is
// none, or it belongs to somebody else.
func (e *Engine) Batch(owner, id uuid.UUID) (View, error) {
	b, err := e.read(owner, id)
	if err != nil {
		return View{}, err
	}
	return b.view(e.states(b.spec)), nil
}

// Batches lists the owner's batches, newest first. Its error is
// ErrInvalidCursor, or one of the store.
func (e *Engine) Batches(owner uuid.UUID, f Filter, p Page) (List[View], error) {
	var found List[*full]
	err := e.cfg.Store.View(func(tx *store.Tx) (err error) {
		q := query[*full]{list: "batches", bucket: bucketOwner, prefix: owner[:], newestFirst: true}
		q.match = one(func(key, _ []byte) (*full, bool, error) {
			id, err := uuid.FromBytes(key[16:])
			if err != nil {
				return nil, false, err
			}
			return matchBatch(tx, id, f)
		})
		found, err = q.page(tx, p)
		return err
	})
	list := List[View]{found.NextCursor, found.PreviousCursor, found.TotalRecords, []View{}}
	for _, b := range found.Records {
		list.Records = append(list.Records, b.view(e.states(b.spec)))
	}
	return list, err
}

// Items lists the items of a batch by position. Its error is ErrNotFound,
// ErrInvalidCursor, or one of the store.
func (e *Engine) Items(owner, id uuid.UUID, f ItemFilter, p Page) (List[Item], error) {
	var list List[Item]
	err := e.cfg.Store.View(func(tx *store.Tx) error {
		b, err := loadOf(tx, owner, id)
		if err != nil {
			return err
		}
		q := query[Item]{list: "items", bucket: bucketItem, prefix: id[:], match: one(func(key, value []byte) (Item, bool, error) {
			return b.matchItem(key, value, f)
		})}
		if f.empty() {
			q.total = b.Counts.Total
		}
		list, err = q.page(tx, p)
		return err
	})
	return list, err
}

// Attempts lists the attempts of a batch by position and number. Its error is
// ErrNotFound, ErrInvalidCursor, or one of the store.
func (e *Engine) Attempts(owner, id uuid.UUID, f ItemFilter, p Page) (List[Attempt], error) {
	var list List[Attempt]
	err := e.cfg.Store.View(func(tx *store.Tx) error {
		b, err := loadOf(tx, owner, id)
		if err != nil {
			return err
		}
		q := query[Attempt]{list: "attempts", bucket: bucketItem, prefix: id[:], keySize: len(itemKey(id, 0))}
		q.match = func(key, value []byte) ([]entry[Attempt], error) {
			return b.matchAttempts(tx, key, value, f)
		}
		list, err = q.page(tx, p)
		return err
	})
	return list, err
}

// Item returns one item with its attempts. Its error is ErrNotFound, or one of
// the store.
func (e *Engine) Item(owner, id, item uuid.UUID) (ItemWithAttempts, error) {
	position, ok := itemPosition(id, item)
	if !ok {
		return ItemWithAttempts{}, ErrNotFound
	}
	var found ItemWithAttempts
	err := e.cfg.Store.View(func(tx *store.Tx) error {
		b, err := loadOf(tx, owner, id)
		if err != nil {
			return err
		}
		r, err := b.loadItem(tx, position)
		if err != nil {
			return err
		}
		found = ItemWithAttempts{Item: b.item(position, r), Attempts: []Attempt{}}
		attempts, err := b.attempts(tx, position, r)
		for _, a := range attempts {
			found.Attempts = append(found.Attempts, a.value)
		}
		return err
	})
	return found, err
}

// InUse reports whether an unfinished batch may send through the instance.
func (e *Engine) InUse(instance int64) (used bool, err error) {
	err = e.cfg.Store.View(func(tx *store.Tx) error {
		unfinished, err := ids(tx, bucketOpen)
		if err != nil {
			return err
		}
		for _, id := range unfinished {
			s, err := loadSpec(tx, id)
			if errors.Is(err, store.ErrDamaged) || errors.Is(err, ErrNotFound) {
				continue // it will never send again
			}
			if err != nil {
				return err
			}
			if used = slices.ContainsFunc(s.Instances, func(ref InstanceRef) bool { return ref.ID == instance }); used {
				return nil
			}
		}
		return nil
	})
	return used, err
}

// States counts the unfinished batches by their status.
func (e *Engine) States() (map[event.BatchStatus]int, error) {
	counts := map[event.BatchStatus]int{}
	err := e.cfg.Store.View(func(tx *store.Tx) error {
		unfinished, err := ids(tx, bucketOpen)
		if err != nil {
			return err
		}
		for _, id := range unfinished {
			h, err := loadHeader(tx, id)
			if err == nil {
				counts[h.Status]++
			}
		}
		return nil
	})
	return counts, err
}
