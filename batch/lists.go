package batch

import (
	"errors"
	"slices"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

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
	return b.view(e.states(b.spec), e.now()), nil
}

// AnyBatch is Batch for a batch of any user.
func (e *Engine) AnyBatch(id uuid.UUID) (View, error) {
	var b *full
	err := e.cfg.Store.View(func(tx *store.Tx) (err error) {
		b, err = load(tx, id)
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
		ids, err := q.page(tx, p)
		if err != nil {
			return err
		}
		found = List[*full]{NextCursor: ids.NextCursor, PreviousCursor: ids.PreviousCursor, TotalRecords: ids.TotalRecords, TotalIsMinimum: ids.TotalIsMinimum}
		for _, id := range ids.Records {
			b, err := load(tx, id)
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
	list := List[View]{found.NextCursor, found.PreviousCursor, found.TotalRecords, found.TotalIsMinimum, []View{}}
	for _, b := range found.Records {
		list.Records = append(list.Records, b.view(e.states(b.spec), e.now()))
	}
	return list, err
}

// Items lists the items of a batch by position. Its error is ErrNotFound,
// ErrInvalidCursor, or one of the store.
func (e *Engine) Items(owner, id uuid.UUID, f ItemFilter, p Page) (List[Item], error) {
	var list List[Item]
	f = f.normalised()
	err := e.cfg.Store.View(func(tx *store.Tx) error {
		b, err := loadOf(tx, owner, id)
		if err != nil {
			return err
		}
		q := query[Item]{list: "items", prefix: id[:], total: f.totalOf(b.Counts)}
		q.rows = itemRows(id, func(_ *store.Tx, key, value []byte) ([]line[Item], int, error) { return b.listItem(key, value, f) })
		list, err = q.page(tx, p)
		return err
	})
	return list, err
}

// Attempts lists the attempts of a batch by position and number. Its error is
// ErrNotFound, ErrInvalidCursor, or one of the store.
func (e *Engine) Attempts(owner, id uuid.UUID, f ItemFilter, p Page) (List[Attempt], error) {
	var list List[Attempt]
	f = f.normalised()
	err := e.cfg.Store.View(func(tx *store.Tx) error {
		b, err := loadOf(tx, owner, id)
		if err != nil {
			return err
		}
		q := query[Attempt]{list: "attempts", prefix: id[:], total: unknownTotal}
		if f.empty() {
			if q.total, q.atLeast, err = b.attemptTotal(tx); err != nil {
				return err
			}
		}
		q.rows = itemRows(id, func(tx *store.Tx, key, value []byte) ([]line[Attempt], int, error) {
			return b.listAttempts(tx, key, value, f)
		})
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

// Unfinished are the statuses of batches that have not ended.
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
