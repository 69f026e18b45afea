package delivery

import (
	"context"
	"errors"
	"time"

	"postern/delivery/digest"
	"postern/store"
)

// outcome returns what a record adds to the numbers of its replay. A record that is retried
// after its end keeps its outcome until the retry ends.
func (r Record) outcome() (delivered, failed int) {
	state := r.State
	if state == Pending {
		state = r.Former
	}
	switch state {
	case "":
		return 0, 0
	case Delivered:
		return 1, 0
	default:
		return 0, 1
	}
}

// noteReplay updates the numbers of the replay that made a record, and marks the record that
// it repeats once the repetition was delivered.
func (l *Ledger) noteReplay(tx *store.Tx, c change) error {
	if c.old == nil || c.old.Replay == 0 {
		return nil
	}
	before, lost := c.old.outcome()
	delivered, failed := before, lost
	switch {
	case c.now != nil:
		delivered, failed = c.now.outcome()
	case before+lost == 0: // it is removed while it is pending
		failed = 1
	}
	if delivered == before && failed == lost {
		return nil
	}
	r, found, err := getReplay(tx, c.old.Replay)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	if found {
		r.Delivered += delivered - before
		r.Failed += failed - lost
		r.finish(tx.Now())
		if err := putReplay(tx, r); err != nil {
			return err
		}
	}
	if delivered == 0 {
		return nil
	}
	return l.markReplayed(tx, c.old.ReplayOf)
}

func (l *Ledger) markReplayed(tx *store.Tx, id uint64) error {
	old, found, err := getRecord(tx, id)
	if err != nil || !found || old.Replayed {
		return ignoreDamage(err)
	}
	now := old
	now.Replayed = true
	return l.putRecord(tx, now, &old)
}

// sweepReplay cancels the pending deliveries of a stopped replay, in small steps.
func (l *Ledger) sweepReplay(ctx context.Context, r replayRow) error {
	for next := r.Sweep; next > 0; {
		var ended []Ended
		var ids []uint64
		var after uint64
		err := l.store.View(func(tx *store.Tx) (err error) {
			ids, after, err = l.waitingOf(tx, r, next)
			return err
		})
		if err == nil {
			err = l.store.Update(ctx, func(tx *store.Tx) error {
				ended, err = l.cancelSome(tx, r.ID, ids, after)
				return err
			})
		}
		if err != nil {
			return err
		}
		if len(ended) > 0 {
			l.cfg.Ended(ended)
		}
		next = after
	}
	return nil
}

// waitingOf returns some pending records of a replay. after is where to continue, 0 at the end.
func (l *Ledger) waitingOf(tx *store.Tx, r replayRow, from uint64) (found []uint64, after uint64, err error) {
	sel, seen := selection{Filter: Filter{Instance: r.Instance, States: []State{Pending}}, again: true}, 0
	err = l.each(tx, sel, from, digest.Quick, func(id uint64) (bool, error) {
		if seen++; seen > selectStep || len(found) == pruneStep {
			after = id
			return false, nil
		}
		rec, is, err := getRecord(tx, id)
		if is && rec.Replay == r.ID {
			found = append(found, id)
		}
		return true, ignoreDamage(err)
	})
	return found, after, err
}

func (l *Ledger) cancelSome(tx *store.Tx, replay uint64, ids []uint64, after uint64) (ended []Ended, err error) {
	for _, id := range ids {
		old, found, err := getRecord(tx, id)
		if err != nil || !found || !old.waits() {
			if err = ignoreDamage(err); err != nil {
				return nil, err
			}
			continue
		}
		r := old
		r.LastError = ReasonReplay
		e, err := l.end(tx, old, r, Cancelled)
		if err != nil {
			return nil, err
		}
		ended = append(ended, e)
	}
	r, found, err := getReplay(tx, replay)
	if err != nil || !found {
		return ended, ignoreDamage(err)
	}
	r.Sweep = after
	return ended, putReplay(tx, r)
}

// pruneReplays removes replays that ended before the given time.
func (l *Ledger) pruneReplays(ctx context.Context, before time.Time) error {
	var old []uint64
	err := l.store.View(func(tx *store.Tx) error {
		return eachReplay(tx, func(r replayRow) error {
			if r.State != ReplayRunning && r.Sweep == 0 && r.EndedAt.Before(before) {
				old = append(old, r.ID)
			}
			return nil
		})
	})
	for _, id := range old {
		err = errors.Join(err, l.store.Update(ctx, func(tx *store.Tx) error { return dropReplay(tx, id) }))
	}
	return err
}
