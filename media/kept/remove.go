package kept

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"postern/media/cache"
	"postern/store"
)

const removeStep = 500 // files of one pass

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
				if waits, err := k.cfg.OnWay(tx, r.Event); err != nil || waits {
					return true, nil //nolint:nilerr // when in doubt it stays
				}
			}
			key, found = cache.Key{Instance: at.instance, Message: at.message}, true
			return false, nil
		})
	})
	return key, found, err
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
	k.clear()
}

// clear removes the files whose records have ended.
func (k *Keeper) clear() {
	type gone struct {
		key  []byte
		of   cache.Key
		size int64
	}
	for k.life.Err() == nil {
		var all []gone
		err := k.cfg.Store.View(func(tx *store.Tx) error {
			return tx.Scan(goneBucket, store.Range{Limit: removeStep}, func(key, value []byte) (bool, error) {
				if len(key) == 16 && len(value) == 8 {
					n := func(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) } //nolint:gosec // as this package wrote it
					all = append(all, gone{append([]byte(nil), key...), cache.Key{Instance: n(key), Message: n(key[8:])}, n(value)})
				}
				return true, nil
			})
		})
		if err == nil && len(all) == 0 {
			return
		}
		for _, g := range all {
			if err == nil {
				err = k.unlink(g.of)
			}
		}
		if err == nil {
			err = k.cfg.Store.Update(k.life, func(tx *store.Tx) (err error) {
				for _, g := range all {
					err = errors.Join(err, tx.Delete(goneBucket, g.key))
				}
				return err
			})
		}
		if err != nil {
			if k.life.Err() == nil {
				k.cfg.Logger.Warn("files cannot be removed; trying again: check media.store.path", "error", err)
			}
			return
		}
		for _, g := range all {
			k.add(g.of.Instance, -g.size)
			if g.of.Message == 0 {
				k.add(g.of.Instance, -k.Bytes()[g.of.Instance])
			}
		}
	}
}

// unlink removes the file of a message, or all of an instance. A file whose record says
// STORED stays.
func (k *Keeper) unlink(key cache.Key) error {
	if !k.own {
		return nil
	}
	if key.Message == 0 {
		return os.RemoveAll(k.folder(key.Instance))
	}
	r, found, err := k.record(key)
	if err != nil && !errors.Is(err, store.ErrDamaged) || found && r.State == Stored {
		return err
	}
	if err := os.Remove(k.path(key)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sweep removes the files that no record names, after a start.
func (k *Keeper) sweep() {
	if !k.own {
		return
	}
	removed := 0
	folders, err := os.ReadDir(k.cfg.Dir)
	if err != nil {
		return // there is none
	}
	for _, folder := range folders {
		instance, err := strconv.ParseInt(folder.Name(), 10, 64)
		if err != nil || !folder.IsDir() {
			continue // not ours
		}
		names, err := os.ReadDir(k.folder(instance))
		if err != nil {
			k.cfg.Logger.Warn("a folder of kept files cannot be read: check media.store.path", "instance_id", instance, "error", err)
			continue
		}
		for _, name := range names {
			if k.life.Err() != nil {
				return
			}
			if k.orphan(instance, name.Name()) && os.Remove(filepath.Join(k.folder(instance), name.Name())) == nil {
				removed++
			}
		}
		_ = os.Remove(k.folder(instance)) // if it is empty
	}
	if removed > 0 {
		k.cfg.Logger.Info("files without a record removed", "count", removed)
	}
}

// orphan reports whether a name is that of a file of ours that no record keeps.
func (k *Keeper) orphan(instance int64, name string) bool {
	if strings.HasPrefix(name, aside) {
		return true
	}
	message, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return false
	}
	r, found, err := k.record(cache.Key{Instance: instance, Message: message})
	return err == nil && (!found || r.State != Stored)
}
