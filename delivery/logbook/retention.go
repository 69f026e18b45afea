package logbook

import (
	"context"
	"time"

	"postern/delivery"
	"postern/delivery/digest"
	"postern/internal/prune"
	"postern/store"
)

const (
	pruneLook  = 2000 // blocks of the digest that one read goes through
	pruneStep  = 500  // records of one commit
	excessRest = time.Second
	// excessAfresh is how long the search for the oldest continues from its last place before it
	// starts over, to find records further back that ended meanwhile.
	excessAfresh = time.Minute
)

// tend removes records that are too old or too many, and repairs the digest, until ctx ends.
func (l *Log) tend(ctx context.Context) {
	l.work.Go(func() {
		prune.Loop(ctx, l.store, l.cfg.Retention, func(before time.Time) (time.Time, error) { return l.pruneAged(ctx, before) },
			func(err error) { l.log.Warn("the log of deliveries was not pruned", "error", err) })
	})
	l.work.Go(func() { l.bound(ctx) })
	for {
		select {
		case no := <-l.repair:
			if err := l.digest.Rebuild([]uint64{no}); err != nil {
				l.log.Warn("a block of the digest of deliveries was not made anew", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// mendLater rebuilds damaged blocks.
func (l *Log) mendLater(blocks []uint64) {
	for _, no := range blocks {
		select {
		case l.repair <- no:
		default:
		}
	}
}

// pruneAged removes records that ended before the given time, and returns when the oldest of
// the others ended, or an earlier time.
func (l *Log) pruneAged(ctx context.Context, before time.Time) (oldest time.Time, err error) {
	for from := uint64(0); ; {
		var found aged
		err := l.store.View(func(tx *store.Tx) (err error) {
			found, err = l.agedFrom(tx, from, before)
			return err
		})
		if err == nil {
			err = l.remove(ctx, found.ids)
		}
		if err != nil {
			return oldest, err
		}
		l.mendLater(found.damaged)
		if oldest.IsZero() || !found.oldest.IsZero() && found.oldest.Before(oldest) {
			oldest = found.oldest
		}
		if found.next == 0 {
			return oldest, l.Replays.prune(ctx, before)
		}
		from = found.next
	}
}

// aged is the result of one search for expired records.
type aged struct {
	ids     []uint64
	damaged []uint64  // blocks
	oldest  time.Time // when the first of the others ended, or was made; zero: there is none
	next    uint64    // block to continue with, 0: none
}

// agedFrom checks some blocks. It stops where all records are too young, since no record ends
// before it is made.
func (l *Log) agedFrom(tx *store.Tx, from uint64, before time.Time) (found aged, err error) {
	limit, now, oldest, seen := before.UnixMilli(), tx.Now().UnixMilli(), int64(0), 0
	older := func(at int64) {
		if oldest == 0 || at < oldest {
			oldest = at
		}
	}
	found.damaged, err = l.digest.Scan(tx, digest.From(digest.FirstOf(from)), 0, func(in digest.Block) (bool, error) {
		young := true
		in.Rows(func(id uint64, w digest.Row) {
			// A record with a future time was made under another clock.
			young = young && w.MadeAt() >= limit && w.MadeAt() <= now
			switch {
			case w.State() == digest.Pending:
			case w.EndedAt() < limit:
				found.ids = append(found.ids, id)
			default:
				older(w.EndedAt())
			}
		})
		seen++
		if more := seen < pruneLook && len(found.ids) < pruneStep; !more {
			found.next = in.No() + 1
			return false, nil
		}
		return !young, nil
	})
	if oldest != 0 {
		found.oldest = time.UnixMilli(oldest)
	}
	return found, err
}

// bound limits the number of records that ended. It checks after commits that make records,
// from time to time.
func (l *Log) bound(ctx context.Context) {
	from, since := uint64(0), time.Now()
	for {
		made, emitted := l.store.Woken(), l.ledger.Emitted()
		if time.Since(since) > excessAfresh {
			from, since = 0, time.Now()
		}
		next, err := l.pruneExcess(ctx, from)
		if from = next; err != nil && ctx.Err() == nil {
			l.log.Warn("the log of deliveries was not bounded", "error", err)
		}
		rest := time.NewTimer(excessRest)
		select {
		case <-rest.C:
		case <-ctx.Done():
			rest.Stop()
			return
		}
		select {
		case <-made:
		case <-emitted:
		case <-l.grown:
		case <-ctx.Done():
			return
		}
	}
}

// pruneExcess removes the oldest records that ended, from a block on, while there are too
// many. It returns the block to continue with.
func (l *Log) pruneExcess(ctx context.Context, from uint64) (next uint64, err error) {
	for next = from; ctx.Err() == nil; {
		var ids []uint64
		err := l.store.View(func(tx *store.Tx) error {
			sum, err := delivery.ReadCounts(tx)
			over := int(sum.Ended()) - l.cfg.MaxEntries
			if err != nil || over <= 0 {
				return err
			}
			ids, next, err = l.oldest(tx, next, min(over, pruneStep))
			return err
		})
		if err != nil || len(ids) == 0 {
			return next, err
		}
		if err := l.remove(ctx, ids); err != nil {
			return next, err
		}
	}
	return next, nil
}

// oldest returns up to n records that ended, the oldest, from a block on.
func (l *Log) oldest(tx *store.Tx, from uint64, n int) (found []uint64, next uint64, err error) {
	next = from
	_, err = l.digest.Scan(tx, digest.From(digest.FirstOf(from)), 0, func(in digest.Block) (bool, error) {
		next = in.No()
		in.Rows(func(id uint64, w digest.Row) {
			if len(found) < n && w.State() != digest.Pending {
				found = append(found, id)
			}
		})
		return len(found) < n, nil
	})
	return found, next, err
}

// remove removes records that ended in small commits.
func (l *Log) remove(ctx context.Context, ids []uint64) error {
	for len(ids) > 0 {
		some := ids[:min(len(ids), pruneStep)]
		err := l.store.Update(ctx, func(tx *store.Tx) error {
			for _, id := range some {
				if err := l.ledger.Remove(tx, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		ids = ids[len(some):]
	}
	return ctx.Err()
}
