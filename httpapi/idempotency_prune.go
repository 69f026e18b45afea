package httpapi

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"postern/prune"
	"postern/store"
)

// keyPruneStep is how many records one commit removes: with the largest answers,
// those of batches, some tens of MB of pages.
const keyPruneStep = 50

// KeyPruner removes idempotency keys a day after they were used.
type KeyPruner struct {
	store  *store.Store
	log    *slog.Logger
	life   context.Context // ends with Stop
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// NewKeyPruner returns a pruner for the keys in s; a nil logger is silent.
func NewKeyPruner(s *store.Store, log *slog.Logger) *KeyPruner {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p := &KeyPruner{store: s, log: log.With("component", "httpapi")}
	p.life, p.cancel = context.WithCancel(context.Background())
	return p
}

// Start prunes from now on, in the background.
func (p *KeyPruner) Start() { p.work.Go(p.run) }

// Stop ends the pruner and waits for the commit that it is in, which is short.
func (p *KeyPruner) Stop(context.Context) error {
	p.cancel()
	p.work.Wait()
	return nil
}

func (p *KeyPruner) run() {
	prune.Loop(p.life, keyLife, func(time.Time) (time.Time, error) {
		if err := pruneKeys(p.life, p.store); err != nil {
			return time.Time{}, err
		}
		return oldestKey(p.store)
	}, func(err error) { p.log.Warn("idempotency keys not pruned", "error", err) })
}

// oldestKey is when the oldest key was used, zero when there is none.
func oldestKey(s *store.Store) (at time.Time, err error) {
	err = s.View(func(tx *store.Tx) error {
		entries, err := keyTimes(tx, store.Range{Limit: 1})
		if len(entries) > 0 {
			at = time.UnixMilli(int64(binary.BigEndian.Uint64(entries[0])))
		}
		return err
	})
	return at, err
}

// pruneKeys removes the keys whose day is over, and gives those that are from
// the future, because a clock was set back, the time of now: they are kept for
// a day from here on, not for the years that the clock was wrong by.
func pruneKeys(ctx context.Context, s *store.Store) error {
	old := func(now int64) store.Range {
		return store.Range{Before: timeKey(now-keyLife.Milliseconds()+1, nil), Limit: keyPruneStep}
	}
	ahead := func(now int64) store.Range {
		return store.Range{From: timeKey(now+1, nil), Limit: keyPruneStep}
	}
	return errors.Join(
		pruneAll(ctx, s, old, dropKey),
		pruneAll(ctx, s, ahead, redateKey),
	)
}

// pruneAll applies act to the index entries of a range, in small commits.
func pruneAll(ctx context.Context, s *store.Store, within func(now int64) store.Range, act func(*store.Tx, []byte) error) error {
	for n := keyPruneStep; n == keyPruneStep; {
		err := s.View(func(tx *store.Tx) error {
			entries, err := keyTimes(tx, within(tx.Now().UnixMilli()))
			n = len(entries)
			return err
		})
		if err != nil || n == 0 {
			return err // nothing to do costs no commit
		}
		err = s.Update(ctx, func(tx *store.Tx) error {
			entries, err := keyTimes(tx, within(tx.Now().UnixMilli()))
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

func keyTimes(tx *store.Tx, r store.Range) (entries [][]byte, err error) {
	err = tx.Scan(bucketKeyTime, r, func(k, _ []byte) (bool, error) {
		entries = append(entries, k)
		return true, nil
	})
	return entries, err
}

// dropKey removes an entry and its record, a damaged one too.
func dropKey(tx *store.Tx, entry []byte) error {
	id := timedID(entry)
	return errors.Join(tx.Delete(bucketKeyTime, entry), tx.Delete(bucketKeys, id))
}

// redateKey moves a record to now. A damaged one is removed.
func redateKey(tx *store.Tx, entry []byte) error {
	id := timedID(entry)
	r, found, err := loadKey(tx, id)
	if err != nil || !found {
		return dropKey(tx, entry)
	}
	r.At = tx.Now().UnixMilli()
	return errors.Join(tx.Delete(bucketKeyTime, entry), putKey(tx, id, r))
}
