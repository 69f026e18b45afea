package batch

import (
	"github.com/google/uuid"

	"postern/batch/paging"
	"postern/batch/record"
	"postern/store"
)

// Shown are the batches of a user for a viewer who may see only some instances. A
// batch that uses none of these does not exist for it. If a batch uses others as well, the
// others are omitted with their attempts, and items do not show that they were assigned to
// one of them; its counts are those of all.
type Shown struct {
	e     *Engine
	owner uuid.UUID
	opens func(instance int64) bool
}

// Shown returns the owner's batches by the instances that opens reports, nil for all.
func (e *Engine) Shown(owner uuid.UUID, opens func(instance int64) bool) Shown {
	return Shown{e, owner, opens}
}

// Opens reports whether some, or all, of the instances of an owner's batch are among those
// that opens reports. Its error is ErrNotFound, or one of the store.
func (e *Engine) Opens(owner, id uuid.UUID, opens func(instance int64) bool) (some, all bool, err error) {
	err = e.cfg.Store.View(func(tx *store.Tx) error {
		if !tx.Has(record.BucketOwner, store.Key(owner, id)) {
			return ErrNotFound
		}
		s, err := record.LoadSpec(tx, id)
		if err != nil {
			return err
		}
		some, all = false, true
		for _, ref := range s.Instances {
			is := opens(ref.ID)
			some, all = some || is, all && is
		}
		return nil
	})
	return some, all && err == nil, err
}

func (s Shown) load(tx *store.Tx, id uuid.UUID) (*full, error) {
	if !tx.Has(record.BucketOwner, store.Key(s.owner, id)) {
		return nil, ErrNotFound
	}
	b, err := load(tx, id)
	if err != nil {
		return nil, err
	}
	return b, b.narrow(s.opens)
}

func (s Shown) read(id uuid.UUID) (b *full, err error) {
	err = s.e.cfg.Store.View(func(tx *store.Tx) (err error) {
		b, err = s.load(tx, id)
		return err
	})
	return b, err
}

// narrow omits the instances that opens does not report. Its error is ErrNotFound when
// none is left.
func (b *full) narrow(opens func(instance int64) bool) error {
	if opens == nil {
		return nil
	}
	narrow, shares := *b.spec, b.Shares
	narrow.Instances, narrow.Former, b.Shares = nil, nil, nil
	for i, ref := range b.spec.All() {
		switch {
		case !opens(ref.ID):
			narrow.Partial = true
			continue
		case i < len(b.spec.Instances):
			narrow.Instances = append(narrow.Instances, ref)
		default:
			narrow.Former = append(narrow.Former, ref)
		}
		b.Shares = append(b.Shares, shares[i])
	}
	b.spec = &narrow
	if len(narrow.Instances) == 0 {
		return ErrNotFound
	}
	return nil
}

// Batch returns one batch. Its error is ErrNotFound, or one of the store.
func (s Shown) Batch(id uuid.UUID) (View, error) {
	b, err := s.read(id)
	if err != nil {
		return View{}, err
	}
	return b.view(s.e.states(b.spec), s.e.now()), nil
}

// Items lists the items of a batch by position. Its error is ErrNotFound,
// ErrInvalidCursor, or one of the store.
func (s Shown) Items(id uuid.UUID, f ItemFilter, p Page) (List[Item], error) {
	var list List[Item]
	f = f.normalised()
	err := s.e.cfg.Store.View(func(tx *store.Tx) error {
		b, err := s.load(tx, id)
		if err != nil {
			return err
		}
		q := paging.Query[Item]{List: "items", Prefix: id[:], Total: f.totalOf(b.Counts)}
		q.Rows = itemRows(b, func(tx *store.Tx, key, value []byte) ([]paging.Line[Item], int, error) {
			return b.listItem(tx, key, value, f)
		})
		list, err = q.Page(tx, p)
		return err
	})
	return list, err
}

// Attempts lists the attempts of a batch by position and number. Its error is
// ErrNotFound, ErrInvalidCursor, or one of the store.
func (s Shown) Attempts(id uuid.UUID, f ItemFilter, p Page) (List[Attempt], error) {
	var list List[Attempt]
	f = f.normalised()
	err := s.e.cfg.Store.View(func(tx *store.Tx) error {
		b, err := s.load(tx, id)
		if err != nil {
			return err
		}
		q := paging.Query[Attempt]{List: "attempts", Prefix: id[:], Total: paging.UnknownTotal}
		if f.empty() && !b.spec.Partial {
			if q.Total, q.AtLeast, err = b.attemptTotal(tx); err != nil {
				return err
			}
		}
		q.Rows = itemRows(b, func(tx *store.Tx, key, value []byte) ([]paging.Line[Attempt], int, error) {
			return b.listAttempts(tx, key, value, f)
		})
		list, err = q.Page(tx, p)
		return err
	})
	return list, err
}

// Item returns one item with its attempts. Its error is ErrNotFound, or one of
// the store.
func (s Shown) Item(id, item uuid.UUID) (ItemWithAttempts, error) {
	position, ok := record.ItemPosition(id, item)
	if !ok {
		return ItemWithAttempts{}, ErrNotFound
	}
	var found ItemWithAttempts
	err := s.e.cfg.Store.View(func(tx *store.Tx) error {
		b, err := s.load(tx, id)
		if err != nil {
			return err
		}
		if position >= b.Counts.Total {
			return ErrNotFound
		}
		r, err := b.loadItem(tx, position)
		if err != nil {
			return err
		}
		found.Attempts = []Attempt{}
		if found.Item, err = b.item(tx, position, r); err != nil {
			return err
		}
		attempts, err := b.attempts(tx, position, r)
		for _, a := range attempts {
			found.Attempts = append(found.Attempts, a.Value)
		}
		return err
	})
	return found, err
}

// Items is Shown.Items by all instances.
func (e *Engine) Items(owner, id uuid.UUID, f ItemFilter, p Page) (List[Item], error) {
	return e.Shown(owner, nil).Items(id, f, p)
}

// Attempts is Shown.Attempts by all instances.
func (e *Engine) Attempts(owner, id uuid.UUID, f ItemFilter, p Page) (List[Attempt], error) {
	return e.Shown(owner, nil).Attempts(id, f, p)
}

// Item is Shown.Item by all instances.
func (e *Engine) Item(owner, id, item uuid.UUID) (ItemWithAttempts, error) {
	return e.Shown(owner, nil).Item(id, item)
}
