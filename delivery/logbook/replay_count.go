package logbook

import (
	"context"
	"errors"
	"time"

	"postern/delivery"
	"postern/delivery/digest"
	"postern/store"
)

// outcome returns what a record adds to the numbers of its replay. A record that is retried
// after its end keeps its outcome until the retry ends.
func outcome(r *delivery.Record) (delivered, failed int) {
	state := r.State
	if state == delivery.Pending {
		state = r.Former
	}
	switch state {
	case "":
		return 0, 0
	case delivery.Delivered:
		return 1, 0
	default:
		return 0, 1
	}
}

// count updates the numbers of the replay that made a record, and marks the record that it
// repeats once the repetition was delivered: [delivery.Hooks].Changed.
func (p *Replays) count(tx *store.Tx, now, old *delivery.Record) error {
	before, lost := outcome(old)
	delivered, failed := before, lost
	switch {
	case now != nil:
		delivered, failed = outcome(now)
	case before+lost == 0: // it is removed while it is pending
		failed = 1
	}
	if delivered == before && failed == lost {
		return nil
	}
	r, found, err := getReplay(tx, old.Replay)
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
	return p.ledger.MarkReplayed(tx, old.ReplayOf)
}

// forget removes the replays of a deleted instance: [delivery.Hooks].Forget.
func (p *Replays) forget(tx *store.Tx, instance int64) error {
	return eachReplay(tx, func(r replayRow) error {
		if r.Instance != instance {
			return nil
		}
		return dropReplay(tx, r.ID)
	})
}

// sweepReplay cancels the pending deliveries of a stopped replay, in small steps.
func (p *Replays) sweepReplay(ctx context.Context, r replayRow) error {
	for next := r.Sweep; next > 0; {
		var ended []delivery.Ended
		var ids []uint64
		var after uint64
		err := p.store.View(func(tx *store.Tx) (err error) {
			ids, after, err = p.waitingOf(tx, r, next)
			return err
		})
		if err == nil {
			err = p.store.Update(ctx, func(tx *store.Tx) error {
				ended, err = p.cancelSome(tx, r.ID, ids, after)
				return err
			})
		}
		if err != nil {
			return err
		}
		p.ledger.Freed(ended)
		next = after
	}
	return nil
}

// waitingOf returns some pending records of a replay. after is where to continue, 0 at the end.
func (p *Replays) waitingOf(tx *store.Tx, r replayRow, from uint64) (found []uint64, after uint64, err error) {
	sel, seen := delivery.Selection{Filter: delivery.Filter{Instance: r.Instance, States: []delivery.State{delivery.Pending}}, Again: true}, 0
	err = p.ledger.Each(tx, sel, from, digest.Quick, func(id uint64) (bool, error) {
		if seen++; seen > selectStep || len(found) == pruneStep {
			after = id
			return false, nil
		}
		rec, is, err := delivery.Find(tx, id)
		if is && rec.Replay == r.ID {
			found = append(found, id)
		}
		return true, delivery.IgnoreDamage(err)
	})
	return found, after, err
}

func (p *Replays) cancelSome(tx *store.Tx, replay uint64, ids []uint64, after uint64) (ended []delivery.Ended, err error) {
	for _, id := range ids {
		e, done, err := p.ledger.CancelRecord(tx, id, delivery.ReasonReplay)
		if err != nil {
			return nil, err
		}
		if done {
			ended = append(ended, e)
		}
	}
	r, found, err := getReplay(tx, replay)
	if err != nil || !found {
		return ended, delivery.IgnoreDamage(err)
	}
	r.Sweep = after
	return ended, putReplay(tx, r)
}

// prune removes replays that ended before the given time.
func (p *Replays) prune(ctx context.Context, before time.Time) error {
	var old []uint64
	err := p.store.View(func(tx *store.Tx) error {
		return eachReplay(tx, func(r replayRow) error {
			if r.State != ReplayRunning && r.Sweep == 0 && r.EndedAt.Before(before) {
				old = append(old, r.ID)
			}
			return nil
		})
	})
	for _, id := range old {
		err = errors.Join(err, p.store.Update(ctx, func(tx *store.Tx) error { return dropReplay(tx, id) }))
	}
	return err
}
