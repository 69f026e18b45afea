package kept

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"postern/event"
	"postern/internal/prune"
	"postern/media/cache"
	"postern/media/display"
	"postern/store"
	"postern/store/files"
)

const (
	maxFetches = 4
	pollEvery  = time.Second
	sleepFor   = 10 * time.Second // of an offline instance
	giveUp     = 24 * time.Hour
	aside      = ".new-" // prefix of files that are being written
)

// pauses come before the attempts after the first; the last one repeats.
var pauses = [...]time.Duration{10 * time.Second, time.Minute, 10 * time.Minute, time.Hour}

// loop gives out turns, removes what is gone, and looks at the retention.
func (k *Keeper) loop() {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var looked time.Time
	for {
		k.clear()
		for k.cfg.Enabled && k.next() {
		}
		if k.cfg.Retention > 0 && time.Since(looked) > min(prune.Grace(k.cfg.Retention), k.cfg.Retention) && k.cfg.Store.TrustsClock() {
			looked = time.Now()
			k.retire()
		}
		select {
		case <-tick.C:
		case <-k.life.Done():
			return
		}
	}
}

// next begins the fetch of one file, of the instance after the last one that has any to
// fetch. It returns false if there is none, or no place.
func (k *Keeper) next() bool {
	k.mu.Lock()
	free, from := len(k.busy) < maxFetches, k.last
	k.mu.Unlock()
	if !free || k.life.Err() != nil {
		return false
	}
	at, found := k.after(from, 0)
	if !found {
		at, found = k.after(0, from)
	}
	if !found {
		return false
	}
	k.mu.Lock()
	k.busy[at.instance], k.last = true, at.instance
	k.mu.Unlock()
	k.work.Go(func() {
		k.turn(cache.Key{Instance: at.instance, Message: at.message})
		k.mu.Lock()
		delete(k.busy, at.instance)
		k.mu.Unlock()
	})
	return true
}

// after returns the first due file of the next instance after one, up to another; 0: all.
func (k *Keeper) after(from, to int64) (at row, found bool) {
	err := k.cfg.Store.View(func(tx *store.Tx) error {
		now := tx.Now()
		for instance := from; !found; {
			var first row
			err := tx.Walk(dueBucket, store.Range{From: store.Key(instance + 1), Limit: 1}, func(key []byte) (bool, error) {
				first, _ = rowOf(key)
				return false, nil
			})
			if err != nil || first.instance == 0 || to != 0 && first.instance > to {
				return err
			}
			instance = first.instance
			if !first.at.After(now) && k.free(instance) {
				at, found = first, true
			}
		}
		return nil
	})
	if err != nil {
		k.cfg.Logger.Warn("files to fetch cannot be read; trying again", "error", err)
	}
	return at, found
}

func (k *Keeper) free(instance int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if until, sleeps := k.asleep[instance]; sleeps && time.Now().Before(until) {
		return false
	}
	delete(k.asleep, instance)
	return !k.busy[instance]
}

// turn fetches a file and notes the outcome.
func (k *Keeper) turn(key cache.Key) {
	err := k.keep(key)
	switch {
	case err == nil || k.life.Err() != nil:
		return
	case errors.Is(err, event.ErrNotConnected) || errors.Is(err, event.ErrWrongNetwork):
		k.mu.Lock()
		k.asleep[key.Instance] = time.Now().Add(sleepFor)
		k.mu.Unlock()
		return
	}
	if err := k.failed(key, err); err != nil {
		k.cfg.Logger.Warn("the state of a file cannot be stored; trying again", "instance_id", key.Instance, "error", err)
		k.mu.Lock()
		k.asleep[key.Instance] = time.Now().Add(sleepFor)
		k.mu.Unlock()
	}
}

var errQuota = errors.New("no room among the kept files")

// failed notes a failed attempt.
func (k *Keeper) failed(key cache.Key, cause error) error {
	return k.cfg.Store.Update(k.life, func(tx *store.Tx) error {
		old, found, err := get(tx, key.Instance, key.Message)
		if err != nil || !found || old.State != Pending {
			return err
		}
		r := old
		r.Attempts++
		now := tx.Now()
		switch {
		case errors.Is(cause, store.ErrDiskFull):
			r.State, r.Reason = Skipped, DiskFull
		case errors.Is(cause, errQuota):
			r.State, r.Reason = Skipped, ByQuota
		case errors.Is(cause, event.ErrMediaGone):
			r.State, r.Reason = Failed, Gone
		case errors.Is(cause, event.ErrMedia), errors.Is(cause, event.ErrNoMedia):
			r.State, r.Reason = Failed, Invalid
		case now.Sub(time.UnixMilli(r.Since)) >= giveUp && r.Attempts > len(pauses):
			r.State, r.Reason = Failed, Unreachable
		default:
			r.Reason = Unreachable
			r.Due = now.Add(pauses[min(r.Attempts, len(pauses))-1]).UnixMilli()
		}
		return put(tx, key.Instance, key.Message, old, r)
	})
}

// keep fetches a file, gives it a place and notes that it is stored.
func (k *Keeper) keep(key cache.Key) error {
	m, err := k.cfg.Message(key.Instance, key.Message)
	if err != nil {
		return err
	}
	f, err := display.Of(&m)
	if err != nil {
		return err
	}
	if err := k.cfg.Store.Admit(); err != nil {
		return err
	}
	if err := files.MakeFolder(k.folder(key.Instance)); err != nil {
		return fmt.Errorf("media.store.path: %w", err)
	}
	path := filepath.Join(k.folder(key.Instance), aside+strconv.FormatInt(key.Message, 10))
	kind, size, err := k.write(path, key, m, f)
	if err == nil {
		err = k.place(path, key, kind, size)
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

// write fetches a file into path and syncs it.
func (k *Keeper) write(path string, key cache.Key, m event.Message, f display.File) (kind string, size int64, err error) {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return "", 0, diskError(err)
	}
	defer func() {
		if e := to.Close(); err == nil && e != nil {
			err = diskError(e)
		}
	}()
	if from, ok := k.cfg.Held(key); ok {
		_, err = io.Copy(to, io.LimitReader(from, k.cfg.MaxFile))
		_ = from.Close()
		err = diskError(err)
	} else {
		err = k.cfg.Download(k.life, m, key.Instance, to, k.cfg.MaxFile)
	}
	if err != nil {
		return "", 0, err
	}
	if _, err = to.Seek(0, io.SeekStart); err != nil {
		return "", 0, err
	}
	if kind, size, err = cache.Verify(to, f.SHA256); err != nil {
		return "", 0, err
	}
	return kind, size, diskError(to.Sync())
}

func diskError(err error) error {
	if err != nil && store.IsFull(err) {
		return store.ErrDiskFull
	}
	return err
}

// place makes room for a written file, renames it, and commits that it is stored.
func (k *Keeper) place(path string, key cache.Key, kind string, size int64) error {
	k.room.Lock()
	defer k.room.Unlock()
	if err := k.makeRoom(key.Instance, size); err != nil {
		return err
	}
	if err := os.Rename(path, k.path(key)); err != nil {
		return err
	}
	if err := files.SyncFolder(k.folder(key.Instance)); err != nil {
		return err
	}
	still := false
	err := k.cfg.Store.Update(k.life, func(tx *store.Tx) error {
		still = false
		old, found, err := get(tx, key.Instance, key.Message)
		if err != nil || !found || old.State != Pending {
			return err
		}
		still = true
		r := old
		r.State, r.Reason, r.Due, r.Attempts = Stored, "", 0, r.Attempts+1
		r.Size, r.Type, r.StoredAt = size, kind, event.At(tx.Now())
		return put(tx, key.Instance, key.Message, old, r)
	})
	if err != nil {
		return err // the file stays without a record: the next attempt replaces it, or the next start removes it
	}
	if !still { // deleted meanwhile
		_ = os.Remove(k.path(key))
		return nil
	}
	k.add(key.Instance, size)
	return nil
}
