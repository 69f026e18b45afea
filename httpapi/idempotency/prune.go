package idempotency

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"postern/internal/prune"
	"postern/store"
)

// pruneStep is the number of records that one commit removes: with the largest answers, those of batches, some
// tens of MB of pages.
const pruneStep = 50

// Pruner removes idempotency keys a day after they were used.
type Pruner struct {
	store  *store.Store
	log    *slog.Logger
	life   context.Context // ends with Stop
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// NewPruner returns a pruner for the keys in s; a nil logger discards.
func NewPruner(s *store.Store, log *slog.Logger) *Pruner {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	p := &Pruner{store: s, log: log.With("component", "httpapi")}
	p.life, p.cancel = context.WithCancel(context.Background())
	return p
}

// Start begins to prune in the background.
func (p *Pruner) Start() { p.work.Go(p.run) }

// Stop ends the pruner and waits for its current commit, which is short.
func (p *Pruner) Stop(context.Context) error {
	p.cancel()
	p.work.Wait()
	return nil
}

func (p *Pruner) run() {
	prune.Loop(p.life, p.store, Life, func(time.Time) (time.Time, error) {
		if err := pruneOld(p.life, p.store); err != nil {
			return time.Time{}, err
		}
		return oldest(p.store)
	}, func(err error) { p.log.Warn("idempotency keys not pruned", "error", err) })
}

// oldest returns when the oldest key was used, zero if there is none.
func oldest(s *store.Store) (at time.Time, err error) {
	err = s.View(func(tx *store.Tx) error {
		entries, err := times(tx, store.Range{Limit: 1})
		if len(entries) > 0 {
			at = time.UnixMilli(int64(binary.BigEndian.Uint64(entries[0])))
		}
		return err
	})
	return at, err
}

// pruneOld removes the keys older than a day. A key from the future, which an earlier release stored before a clock
// was set back, gets the time of now: it is kept for a day from then on, not for the years by which the clock was
// wrong.
func pruneOld(ctx context.Context, s *store.Store) error {
	old := func(now int64) store.Range {
		return store.Range{Before: timeKey(now-Life.Milliseconds()+1, nil), Limit: pruneStep}
	}
	ahead := func(now int64) store.Range {
		return store.Range{From: timeKey(now+1, nil), Limit: pruneStep}
	}
	return errors.Join(
		pruneAll(ctx, s, old, drop),
		pruneAll(ctx, s, ahead, redate),
	)
}

// pruneAll applies act to the index entries of a range, in small commits.
func pruneAll(ctx context.Context, s *store.Store, within func(now int64) store.Range, act func(*store.Tx, []byte) error) error {
	for n := pruneStep; n == pruneStep; {
		err := s.View(func(tx *store.Tx) error {
			entries, err := times(tx, within(tx.Steady().UnixMilli()))
			n = len(entries)
			return err
		})
		if err != nil || n == 0 {
			return err // nothing to do costs no commit
		}
		err = s.Update(ctx, func(tx *store.Tx) error {
			entries, err := times(tx, within(tx.Steady().UnixMilli()))
			for _, k := range entries {
				err = errors.Join(err, act(tx, k))
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("prune idempotency keys: %w", err)
		}
	}
	return nil
}

func times(tx *store.Tx, r store.Range) (entries [][]byte, err error) {
	err = tx.Scan(bucketTimes, r, func(k, _ []byte) (bool, error) {
		entries = append(entries, k)
		return true, nil
	})
	return entries, err
}

// drop removes an entry and its record, even if that is damaged.
func drop(tx *store.Tx, entry []byte) error {
	id := timedID(entry)
	return errors.Join(tx.Delete(bucketTimes, entry), tx.Delete(bucketKeys, id))
}

// redate sets the time of a record to now. It removes a damaged one.
func redate(tx *store.Tx, entry []byte) error {
	id := timedID(entry)
	r, found, err := load(tx, id)
	if err != nil || !found {
		return drop(tx, entry)
	}
	r.At = tx.Steady().UnixMilli()
	return errors.Join(tx.Delete(bucketTimes, entry), put(tx, id, r))
}
