package batch

import (
	"fmt"
	"slices"

	"postern/batch/record"
	"postern/store"
)

// shelfSize is how many items are read at once to find pending ones.
const shelfSize = 128

// unsent is an item that is PENDING.
type unsent struct {
	position  int
	recipient string // empty when its record is damaged
	prefers   int64  // the instance that should send it; 0: any
}

// shelf is a stretch of a batch's items as the file has them: those that wait.
// Only the batch's worker moves items, so it is good until that gives one or
// takes one back.
type shelf struct {
	from, to int // positions that were read, to not included
	items    []unsent
}

// next returns the first pending item from a position on.
func (w *worker) next(s *shelf, from int) (item unsent, ok bool, err error) {
	for from < w.b.Counts.Total {
		if from < s.from || from >= s.to {
			if err := w.fill(s, from); err != nil {
				return unsent{}, false, err
			}
		}
		for _, item := range s.items {
			if item.position >= from {
				return item, true, nil
			}
		}
		from = s.to
	}
	return unsent{}, false, nil
}

// fill reads the stretch that begins at a position.
func (w *worker) fill(s *shelf, from int) error {
	*s = shelf{from: from, to: min(from+shelfSize, w.b.Counts.Total), items: s.items[:0]}
	at := from
	err := w.e.cfg.Store.View(func(tx *store.Tx) error {
		r := store.Range{From: record.ItemKey(w.id, from), Before: record.ItemKey(w.id, s.to)}
		err := tx.Scan(record.BucketItem, r, func(key, raw []byte) (bool, error) {
			position, item, err := w.b.readItem(key, raw)
			if err != nil {
				return true, err
			}
			s.lost(at, position)
			at = position + 1
			if item.Status == "" || item.Status == record.ItemPending {
				s.items = append(s.items, unsent{position, item.Recipient(), item.Prefers()})
			}
			return true, nil
		})
		s.lost(at, s.to)
		return err
	})
	if err != nil {
		return fmt.Errorf("batch %s: items from %d: %w", w.id, from, err)
	}
	return nil
}

// lost adds the positions between two that could not be read: they are assigned
// like the others, and fail.
func (s *shelf) lost(from, to int) {
	for ; from < to; from++ {
		s.items = append(s.items, unsent{position: from})
	}
}

// drop removes an item that is no longer pending.
func (s *shelf) drop(position int) {
	s.items = slices.DeleteFunc(s.items, func(i unsent) bool { return i.position == position })
}
