package kept

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"postern/media/cache"
	"postern/store"
)

const removeStep = 500 // files of one pass

// Grace is how long the end of retention and the quota leave a file alone after the last
// delivery of the event that has its address.
const Grace = time.Hour

// makeRoom removes the oldest files of the instance that holds most until a file fits. The
// caller holds room.
func (k *Keeper) makeRoom(instance, size int64) error {
	if k.cfg.MaxBytes <= 0 {
		return nil
	}
	held := map[int64]bool{} // instances whose files are all on their way
	for {
		largest, total := k.largest(instance, size, held)
		if total <= k.cfg.MaxBytes {
			return nil
		}
		if largest == 0 || size > k.cfg.MaxBytes {
			if time.Since(k.roomLog) > time.Minute {
				k.roomLog = time.Now()
				k.cfg.Logger.Warn("files are not kept: events with the addresses of the kept ones are on their way; raise media.store.max_bytes", "bytes", total-size)
			}
			return errQuota
		}
		key, found, err := k.oldest(largest, time.Time{})
		if err != nil {
			return err
		}
		if !found {
			held[largest] = true
			continue
		}
		if err := k.remove(k.life, key, ByQuota, func(r Record) bool { return r.State == Stored }); err != nil {
			return err
		}
	}
}

// largest returns the instance that holds most, with the file of one that is to come, and
// the sum of all.
func (k *Keeper) largest(instance, size int64, but map[int64]bool) (largest, total int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var most int64
	for id, n := range k.held {
		total += n
		if id == instance {
			n += size
		}
		if !but[id] && n > most {
			largest, most = id, n
		}
	}
	return largest, total + size
}

// oldest returns the oldest kept file of an instance that may go, and that was stored
// before a time; zero: any.
func (k *Keeper) oldest(instance int64, before time.Time) (key cache.Key, found bool, err error) {
	grace := map[cache.Key]bool{} // of files whose last attempt is unknown: true, it begins; false, another delivery ended it
	err = k.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Walk(oldBucket, store.Range{Prefix: store.Key(instance)}, func(raw []byte) (bool, error) {
			at, ok := rowOf(raw)
			if !ok {
				return true, nil
			}
			if !before.IsZero() && !at.at.Before(before) {
				return false, nil
			}
			r, kept, err := get(tx, at.instance, at.message)
			if err != nil || !kept {
				return true, nil //nolint:nilerr // a damaged record counts as not kept
			}
			if r.Event != 0 {
				waits, unlogged, err := k.cfg.OnWay(tx, r.Event)
				if err == nil && (r.Free != 0) != unlogged && len(grace) < removeStep {
					grace[cache.Key{Instance: at.instance, Message: at.message}] = unlogged
				}
				if err != nil || waits || unlogged && (r.Free == 0 || tx.Now().Sub(time.UnixMilli(r.Free)) < Grace) {
					return true, nil //nolint:nilerr // when in doubt it stays
				}
			}
			key, found = cache.Key{Instance: at.instance, Message: at.message}, true
			return false, nil
		})
	})
	if err == nil && len(grace) > 0 {
		err = k.cfg.Store.Update(k.life, func(tx *store.Tx) error { return noteFree(tx, grace) })
	}
	return key, found, err
}

// noteFree begins the grace of files whose deliveries ended at an unknown time, and ends the grace of files that have
// another delivery.
func noteFree(tx *store.Tx, grace map[cache.Key]bool) error {
	for key, begins := range grace {
		r, found, err := get(tx, key.Instance, key.Message)
		if err != nil || !found || (r.Free != 0) == begins {
			continue
		}
		if r.Free = 0; begins {
			r.Free = tx.Now().UnixMilli()
		}
		if err := store.PutJSON(tx, filesBucket, store.Key(key.Instance, key.Message), r); err != nil {
			return err
		}
	}
	return nil
}

// retire removes the files at the end of the retention.
func (k *Keeper) retire() {
	before := k.cfg.Store.Now().Add(-k.cfg.Retention)
	for instance := range k.Bytes() {
		for k.life.Err() == nil {
			key, found, err := k.oldest(instance, before)
			if err == nil && found {
				err = k.remove(k.life, key, ByRetention, func(r Record) bool { return r.State == Stored })
			}
			if err != nil {
				k.cfg.Logger.Warn("old files cannot be removed; trying again", "instance_id", instance, "error", err)
			}
			if err != nil || !found {
				break
			}
		}
	}
}

// clearLoop removes the files whose records have ended.
func (k *Keeper) clearLoop() {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var warned time.Time
	for {
		err := k.clear()
		if err != nil && k.life.Err() == nil && time.Since(warned) > time.Minute {
			warned = time.Now()
			k.cfg.Logger.Warn("files cannot be removed; trying again: check the place that the setting names", "setting", k.at.setting(), "error", err)
		}
		select {
		case <-k.ends:
		case <-tick.C:
		case <-k.life.Done():
			return
		}
	}
}

// gone is a row of media_file_gone.
type gone struct {
	key  []byte
	of   cache.Key
	size int64
}

func goneOf(key, value []byte) (g gone, ok bool) {
	if len(key) != 16 || len(value) != 8 {
		return g, false
	}
	n := func(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) } //nolint:gosec // as this package wrote it
	return gone{append([]byte(nil), key...), cache.Key{Instance: n(key), Message: n(key[8:])}, n(value)}, true
}

// clear removes the files whose records have ended. Those on which a fetch works wait for
// its end.
func (k *Keeper) clear() error {
	for from := []byte(nil); k.life.Err() == nil; {
		all, err := k.ending(from)
		if err != nil || len(all) == 0 {
			return err
		}
		from = append(all[len(all)-1].key, 0)
		done := all[:0]
		for _, g := range all {
			removed := false
			if removed, err = k.unlink(k.life, g.of); err != nil {
				break
			}
			if removed {
				done = append(done, g)
			}
		}
		if err := errors.Join(err, k.forget(done)); err != nil {
			return err
		}
	}
	return nil
}

// ending returns some rows of files to remove, from a key on.
func (k *Keeper) ending(from []byte) (all []gone, err error) {
	err = k.cfg.Store.View(func(tx *store.Tx) error {
		all = nil
		return tx.Scan(goneBucket, store.Range{From: from, Limit: removeStep}, func(key, value []byte) (bool, error) {
			if g, ok := goneOf(key, value); ok {
				all = append(all, g)
			}
			return true, nil
		})
	})
	return all, err
}

// forget deletes the rows of removed files.
func (k *Keeper) forget(done []gone) error {
	if len(done) == 0 {
		return nil
	}
	err := k.cfg.Store.Update(k.life, func(tx *store.Tx) (err error) {
		for _, g := range done {
			err = errors.Join(err, tx.Delete(goneBucket, g.key))
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, g := range done {
		k.add(g.of.Instance, -g.size)
		if g.of.Message == 0 {
			k.add(g.of.Instance, -k.Bytes()[g.of.Instance])
		}
	}
	return nil
}

// unlink removes the file of a message, or all of an instance. A file whose record says
// STORED or PENDING stays: the latter is replaced or ends with its record. removed is false
// while a fetch works on it.
func (k *Keeper) unlink(ctx context.Context, key cache.Key) (removed bool, err error) {
	if key.Message == 0 {
		if k.holds(key.Instance) {
			return false, nil
		}
		return true, k.at.removeAll(ctx, key.Instance)
	}
	if !k.hold(key) {
		return false, nil
	}
	defer k.release(key)
	needed, err := k.needs(key)
	if err != nil || needed {
		return err == nil, err
	}
	return true, k.at.remove(ctx, key)
}

// needs reports whether a record names a file.
func (k *Keeper) needs(key cache.Key) (bool, error) {
	r, found, err := k.record(key)
	if errors.Is(err, store.ErrDamaged) {
		return false, nil
	}
	return found && (r.State == Stored || r.State == Pending), err
}

// sweepLoop removes the files that no record names.
func (k *Keeper) sweepLoop() {
	for {
		again, removed, err := k.sweep()
		if removed > 0 {
			k.cfg.Logger.Info("files without a record removed", "count", removed)
		}
		if err != nil && k.life.Err() == nil {
			again = sweepRetry
			k.cfg.Logger.Debug("files without a record cannot be looked for; trying again", "error", err)
		}
		if again == 0 {
			return
		}
		select {
		case <-time.After(again):
		case <-k.life.Done():
			return
		}
	}
}

const sweepRetry = time.Minute

func (k *Keeper) sweep() (again time.Duration, removed int, err error) {
	again, err = k.at.sweep(k.life, func(key cache.Key, unfinished bool, remove func() error) {
		if !k.hold(key) {
			return
		}
		defer k.release(key)
		if !unfinished {
			r, found, err := k.record(key)
			if err != nil || found && (r.State == Stored || r.State == Pending) {
				return // a damaged record may become readable by a repair
			}
		}
		if remove() == nil {
			removed++
		}
	})
	return again, removed, err
}
