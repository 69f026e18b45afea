package batch

import (
	"errors"
	"slices"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// read returns a batch of the owner.
func (e *Engine) read(owner, id uuid.UUID) (b *full, err error) { return e.Shown(owner, nil).read(id) }

// Batch returns one batch of the owner. Its error is ErrNotFound when there is
// none, or it belongs to another user.
func (e *Engine) Batch(owner, id uuid.UUID) (View, error) { return e.Shown(owner, nil).Batch(id) }

// AnyBatch is Batch for a batch of any user, by the instances that opens reports, nil for
// all: see Shown.
func (e *Engine) AnyBatch(id uuid.UUID, opens func(instance int64) bool) (View, error) {
	var b *full
	err := e.cfg.Store.View(func(tx *store.Tx) (err error) {
		if b, err = load(tx, id); err == nil {
			err = b.narrow(opens)
		}
		return err
	})
	if err != nil {
		return View{}, err
	}
	return b.view(e.states(b.spec), e.now()), nil
}

// Batches lists the owner's batches, newest first: by when their creation
// began. Its error is ErrInvalidCursor, or one of the store.
func (e *Engine) Batches(owner uuid.UUID, f Filter, p Page) (List[View], error) {
	return e.list(batchList{name: "batches", owner: &owner, want: f.wanted()}, p)
}

// AllBatches lists the batches of all users as Batches does those of one.
func (e *Engine) AllBatches(f Filter, p Page) (List[View], error) {
	return e.list(batchList{name: "all batches", want: f.wanted()}, p)
}

// list reads a page of batches.
func (e *Engine) list(l batchList, p Page) (List[View], error) {
	var found List[*full]
	err := e.cfg.Store.View(func(tx *store.Tx) error {
		q, err := l.query(tx)
		if err != nil {
			return err
		}
		ids, err := q.Page(tx, p)
		if err != nil {
			return err
		}
		found = List[*full]{NextCursor: ids.NextCursor, PreviousCursor: ids.PreviousCursor, TotalRecords: ids.TotalRecords, TotalIsMinimum: ids.TotalIsMinimum}
		for _, id := range ids.Records {
			b, err := load(tx, id)
			if err == nil {
				err = b.narrow(l.want.Opens)
			}
			if errors.Is(err, store.ErrDamaged) || errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			found.Records = append(found.Records, b)
		}
		return nil
	})
	list := List[View]{NextCursor: found.NextCursor, PreviousCursor: found.PreviousCursor, TotalRecords: found.TotalRecords, TotalIsMinimum: found.TotalIsMinimum, Records: []View{}}
	for _, b := range found.Records {
		list.Records = append(list.Records, b.view(e.states(b.spec), e.now()))
	}
	return list, err
}

// InUse reports whether an unfinished batch may send through the instance.
func (e *Engine) InUse(instance int64) (used bool, err error) {
	err = e.cfg.Store.View(func(tx *store.Tx) error {
		unfinished, err := record.IDs(tx, record.BucketOpen)
		if err != nil {
			return err
		}
		for _, id := range unfinished {
			s, err := record.LoadSpec(tx, id)
			if errors.Is(err, store.ErrDamaged) || errors.Is(err, ErrNotFound) {
				continue // it will never send again
			}
			if err != nil {
				return err
			}
			if used = slices.ContainsFunc(s.Instances, func(ref record.InstanceRef) bool { return ref.ID == instance }); used {
				return nil
			}
		}
		return nil
	})
	return used, err
}

// Unfinished returns the statuses of batches that have not ended.
func Unfinished() []event.BatchStatus {
	return []event.BatchStatus{
		event.BatchDraft, event.BatchQueued, event.BatchIsScheduled, event.BatchProcessing, event.BatchWaitingForWindow, event.BatchWaitingForInstance,
		event.BatchPauseAsked, event.BatchIsPaused, event.BatchStopAsked, event.BatchIsInterrupted,
	}
}

// States counts the unfinished batches by their status; one without batches is left out.
func (e *Engine) States() (map[event.BatchStatus]int, error) {
	counts := map[event.BatchStatus]int{}
	err := e.cfg.Store.View(func(tx *store.Tx) error {
		unfinished, err := record.IDs(tx, record.BucketOpen)
		if err != nil {
			return err
		}
		for _, id := range unfinished {
			h, err := record.LoadHeader(tx, id)
			if err == nil {
				counts[h.Status]++
			}
		}
		return nil
	})
	return counts, err
}
