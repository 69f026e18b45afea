package later

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"postern/event"
	"postern/instance"
	"postern/store"
)

// ending is a send that ends without a stored message.
type ending struct {
	deadline []byte // its key
	err      error  // why
	begun    bool   // it ends although its message may have left
}

// endAll ends sends of a lane, in one commit, and reports them. Those that have ended or
// begun in the meantime are left alone.
func (s *Scheduler) endAll(l *lane, all []ending) error {
	unsent, sizes, err := s.unsent(all)
	if err != nil {
		return err
	}
	var found []int
	err = s.cfg.Registry.ReportUnsent(context.Background(), l.instance, unsent, func(tx *store.Tx) ([]int, error) {
		found = nil
		for i, e := range all {
			key := sendKey(e.deadline)
			switch {
			case !tx.Has(sends, key):
				if err := remove(tx, e.deadline); err != nil { // what a damaged file may have left
					return nil, err
				}
				continue
			case !e.begun && tx.Has(begun, key):
				continue
			}
			if err := remove(tx, e.deadline); err != nil {
				return nil, err
			}
			found = append(found, i)
		}
		return found, nil
	})
	if err != nil {
		return err
	}
	for _, i := range found {
		s.removed(l, sizes[i])
		s.cancel(l, uuid.UUID(all[i].deadline[16:]))
	}
	return nil
}

// cancel cancels the flight of a send that is no longer in the file.
func (s *Scheduler) cancel(l *lane, id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := l.flights[id]; f != nil {
		f.cancel(errGone)
	}
}

// unsent returns what is reported of sends, and the number of pieces of their files.
func (s *Scheduler) unsent(all []ending) (unsent []instance.Unsent, sizes []int, err error) {
	err = s.cfg.Store.View(func(tx *store.Tx) error {
		unsent, sizes = nil, nil
		for _, e := range all {
			id := uuid.UUID(e.deadline[16:])
			u, size := instance.Unsent{Scheduled: id.String(), Err: e.err}, 0
			w, err := read(tx, store.Number(e.deadline[:8]), id)
			switch {
			case err == nil:
				u.To, u.Attributes, u.RequestID, size = w.Out.To, w.Attributes, w.RequestID, w.pieces()
			case errors.Is(err, store.ErrDamaged):
				u.Err = fmt.Errorf("%w: the scheduled send cannot be read", store.ErrDamaged)
				size, err = tx.Count(files, sendKey(e.deadline))
			case errors.Is(err, ErrNotFound):
				err = nil
			}
			if err != nil {
				return err
			}
			unsent, sizes = append(unsent, u), append(sizes, size)
		}
		return nil
	})
	return unsent, sizes, err
}

// recover ends the sends that had begun when the previous run ended, and in a restored file
// those whose time has passed. It removes files without a send, and fills the lanes.
func (s *Scheduler) recover(ctx context.Context) error {
	if err := s.endBegun(); err != nil {
		return err
	}
	if err := s.dropOrphans(ctx); err != nil {
		return err
	}
	if err := s.fillLanes(); err != nil {
		return err
	}
	if !s.cfg.Restored {
		return nil
	}
	for _, l := range s.lanes {
		if err := s.endPassed(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scheduler) endBegun() error {
	left := map[int64][]ending{} // few: perInstance of each
	err := s.cfg.Store.View(func(tx *store.Tx) error {
		clear(left)
		return tx.Scan(begun, store.Range{}, func(k, _ []byte) (bool, error) {
			of := store.Number(k[:8])
			e := ending{begun: true, err: fmt.Errorf("%w: the program stopped while the message was being sent", event.ErrOutcomeUnknown)}
			e.deadline = lateKey(of, uuid.UUID(k[8:]), 0)
			w, err := read(tx, of, uuid.UUID(k[8:]))
			if err == nil {
				e.deadline = w.deadline()
			}
			left[of] = append(left[of], e)
			if errors.Is(err, ErrNotFound) || errors.Is(err, store.ErrDamaged) {
				err = nil
			}
			return true, err
		})
	})
	for of, all := range left {
		if err == nil {
			err = s.endAll(&lane{instance: of}, all)
		}
	}
	return err
}

// endPassed ends the sends of a lane whose time has passed: they may have been sent after
// the backup was made.
func (s *Scheduler) endPassed(ctx context.Context, l *lane) error {
	now := s.now()
	for {
		var passed []ending
		err := s.cfg.Store.View(func(tx *store.Tx) error {
			passed = nil
			return tx.Scan(sends, store.Range{Prefix: store.Key(l.instance), Limit: endStep}, func(k, v []byte) (bool, error) {
				if timeOf(uuid.UUID(k[8:])).After(now) {
					return false, nil
				}
				w, err := decode(tx, k, v)
				if err == nil {
					passed = append(passed, ending{deadline: w.deadline(), err: fmt.Errorf("%w: the message was waiting in a restored backup and may have been sent since", event.ErrOutcomeUnknown)})
				}
				return true, err
			})
		})
		if err == nil && len(passed) == 0 || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if err == nil {
			err = s.endAll(l, passed)
		}
		if err != nil {
			return err
		}
	}
}

// fillLanes makes the lanes of the instances that have sends.
func (s *Scheduler) fillLanes() error {
	return s.cfg.Store.View(func(tx *store.Tx) error {
		clear(s.lanes)
		s.pieces = 0
		for from := store.Key(int64(0)); ; {
			of := int64(-1)
			err := tx.Walk(sends, store.Range{From: from}, func(k []byte) (bool, error) {
				of = store.Number(k[:8])
				return false, nil
			})
			if err != nil || of < 0 {
				return err
			}
			l := s.lane(of)
			if l.count, err = tx.Count(sends, store.Key(of)); err != nil {
				return err
			}
			if l.pieces, err = tx.Count(files, store.Key(of)); err != nil {
				return err
			}
			s.pieces += l.pieces
			from = store.Key(of + 1)
		}
	})
}
