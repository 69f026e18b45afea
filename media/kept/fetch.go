package kept

import (
	"errors"
	"io"
	"os"
	"time"

	"postern/event"
	"postern/internal/prune"
	"postern/media/cache"
	"postern/media/display"
	"postern/store"
)

const (
	maxFetches = 4
	pollEvery  = time.Second
	sleepFor   = 10 * time.Second // of an offline instance
	giveUp     = 24 * time.Hour

	// After each fetch its place rests for so many times as long as it took, within a
	// limit: a backlog of files leaves processors and disk to messages, the more of them
	// the slower the machine is.
	restTimes = 7
	maxRest   = 5 * time.Second
)

// pauses come before the attempts after the first; the last one repeats.
var pauses = [...]time.Duration{10 * time.Second, time.Minute, 10 * time.Minute, time.Hour}

// loop gives out turns, and looks at the retention.
func (k *Keeper) loop() {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var looked time.Time
	for {
		for k.cfg.Enabled && k.next() {
		}
		if k.cfg.Retention > 0 && time.Since(looked) > min(prune.Grace(k.cfg.Retention), k.cfg.Retention) && k.cfg.Store.TrustsClock() {
			looked = time.Now()
			k.retire()
		}
		select {
		case <-tick.C:
		case <-k.idle:
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
		begun := time.Now()
		k.turn(cache.Key{Instance: at.instance, Message: at.message})
		select {
		case <-time.After(min(restTimes*time.Since(begun), maxRest)):
		case <-k.life.Done():
		}
		k.mu.Lock()
		delete(k.busy, at.instance)
		k.mu.Unlock()
		wake(k.idle)
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
	if !k.hold(key) {
		k.sleep(key.Instance, pollEvery)
		return
	}
	err := k.keep(key)
	k.release(key)
	switch {
	case err == nil || k.life.Err() != nil:
		return
	case errors.Is(err, event.ErrNotConnected) || errors.Is(err, event.ErrWrongNetwork):
		k.sleep(key.Instance, sleepFor)
		return
	}
	if err := k.failed(key, err); err != nil {
		k.cfg.Logger.Warn("the state of a file cannot be stored; trying again", "instance_id", key.Instance, "error", err)
		k.sleep(key.Instance, sleepFor)
	}
}

// sleep lets an instance have no turn for a while.
func (k *Keeper) sleep(instance int64, d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asleep[instance] = time.Now().Add(d)
}

var errQuota = errors.New("no room among the kept files")

// failed notes a failed attempt. A file that is given up may have been put, without a commit
// that says so.
func (k *Keeper) failed(key cache.Key, cause error) error {
	defer k.ended()
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
		if err := put(tx, key.Instance, key.Message, old, r); err != nil || r.State == Pending {
			return err
		}
		return tx.Put(goneBucket, store.Key(key.Instance, key.Message), store.Key(int64(0)))
	})
}

// keep fetches a file, puts it and notes that it is stored. Before it is fetched, the place
// must be ready: an outage of a server causes no downloads.
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
	if err := k.at.ready(k.life); err != nil {
		return err
	}
	to, err := k.at.create(key)
	if err != nil {
		return diskError(err)
	}
	defer func() {
		_ = to.Close()
		_ = os.Remove(to.Name()) // unless it was renamed
	}()
	kind, size, err := k.write(to, key, m, f)
	if err != nil {
		return err
	}
	return k.put(to, key, kind, size, f.SHA256)
}

// write fetches a file and verifies it.
func (k *Keeper) write(to *os.File, key cache.Key, m event.Message, f display.File) (kind string, size int64, err error) {
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
	return cache.Verify(to, f.SHA256)
}

func diskError(err error) error {
	if err != nil && store.IsFull(err) {
		return store.ErrDiskFull
	}
	return err
}

// put makes room for a fetched file, puts it, and commits that it is stored.
func (k *Keeper) put(from *os.File, key cache.Key, kind string, size int64, sha [32]byte) (err error) {
	if err := k.reserve(key.Instance, size); err != nil {
		return err
	}
	stored := false
	defer func() {
		if !stored {
			k.add(key.Instance, -size)
		}
	}()
	if err := k.at.put(k.life, key, from, size, sha); err != nil {
		return diskError(err)
	}
	err = k.cfg.Store.Update(k.life, func(tx *store.Tx) error {
		stored = false
		old, found, err := get(tx, key.Instance, key.Message)
		if err != nil || !found || old.State != Pending {
			return err
		}
		stored = true
		r := old
		r.State, r.Reason, r.Due, r.Attempts = Stored, "", 0, r.Attempts+1
		r.Size, r.Type, r.StoredAt = size, kind, event.At(tx.Now())
		return put(tx, key.Instance, key.Message, old, r)
	})
	if err != nil {
		stored = false
		return err // the next attempt replaces the file, or it goes when its record ends
	}
	if !stored { // deleted meanwhile; the row of media_file_gone waits for this attempt
		k.ended()
	}
	return nil
}

// reserve makes room for a file that is about to be put.
func (k *Keeper) reserve(instance, size int64) error {
	k.room.Lock()
	defer k.room.Unlock()
	err := k.makeRoom(instance, size)
	if err == nil {
		k.add(instance, size)
	}
	return err
}
