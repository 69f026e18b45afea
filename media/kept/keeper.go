package kept

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"postern/event"
	"postern/media/cache"
	"postern/media/display"
	"postern/store"
	"postern/store/files"
)

// Config configures a Keeper. Store, Dir, Message, Download, Held and OnWay are required.
type Config struct {
	Store     *store.Store
	Enabled   bool   // new files are kept
	Dir       string // a folder for each instance
	MaxFile   int64  // bytes of one file
	MaxBytes  int64  // of all files; 0: no limit
	Retention time.Duration

	// Wants reports whether new files of an instance are kept. nil: they are.
	Wants func(instance int64) bool
	// Message returns a stored message.
	Message func(instance, id int64) (event.Message, error)
	// Download fetches the file of a message without asking the phone. The error wraps
	// event.ErrNotConnected while the instance is offline.
	Download func(ctx context.Context, m event.Message, instance int64, to *os.File, limit int64) error
	// Held returns a file that was fetched before.
	Held func(cache.Key) (cache.File, bool)
	// OnWay reports whether deliveries of a stored event are pending, or ended within the
	// last hour.
	OnWay func(tx *store.Tx, seq uint64) (bool, error)

	Logger *slog.Logger // nil: silent
}

// Keeper is safe for concurrent use.
type Keeper struct {
	cfg  Config
	life context.Context // ends with Stop
	end  context.CancelFunc
	work sync.WaitGroup
	lost atomic.Uint64
	own  bool // the folder belongs to the data file

	room    sync.Mutex // held while a file gets its place
	roomLog time.Time  // of the last warning; guarded by room

	mu     sync.Mutex
	held   map[int64]int64     // bytes by instance
	busy   map[int64]bool      // instances whose file is being fetched
	asleep map[int64]time.Time // offline instances, until when
	last   int64               // instance of the last turn
}

// Open returns the keeper of a folder. It counts what is kept.
func Open(cfg Config) (*Keeper, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Wants == nil {
		cfg.Wants = func(int64) bool { return true }
	}
	cfg.Logger = cfg.Logger.With("component", "media")
	if cfg.Enabled {
		if err := files.MakeFolder(cfg.Dir); err != nil {
			return nil, fmt.Errorf("media.store.path: %w", err)
		}
	}
	k := &Keeper{cfg: cfg, held: map[int64]int64{}, busy: map[int64]bool{}, asleep: map[int64]time.Time{}}
	k.life, k.end = context.WithCancel(context.Background())
	if err := k.claim(); err != nil {
		return nil, err
	}
	return k, cfg.Store.View(k.count)
}

// count sums the sizes of the kept files.
func (k *Keeper) count(tx *store.Tx) error {
	return tx.Walk(oldBucket, store.Range{}, func(key []byte) (bool, error) {
		if at, ok := rowOf(key); ok {
			if r, found, err := get(tx, at.instance, at.message); err == nil && found {
				k.held[at.instance] += r.Size
			}
		}
		return true, nil
	})
}

// Start begins to fetch and to remove files.
func (k *Keeper) Start() {
	k.work.Go(func() {
		k.sweep()
		k.loop()
	})
}

// Stop ends what Start began.
func (k *Keeper) Stop(context.Context) error {
	k.end()
	k.work.Wait()
	return nil
}

// Lost returns how many kept files were found missing or of another length.
func (k *Keeper) Lost() uint64 { return k.lost.Load() }

// Bytes returns the sizes of the kept files by instance.
func (k *Keeper) Bytes() map[int64]int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make(map[int64]int64, len(k.held))
	for id, n := range k.held {
		all[id] = n
	}
	return all
}

// Wish stores the wish to keep the file of a message, in the commit that stores the
// message. Status posts, channels and history have none.
func (k *Keeper) Wish(tx *store.Tx, instance int64, m *event.Message) error {
	f, err := display.Of(m)
	if err != nil || m.History || !k.cfg.Enabled || !k.cfg.Wants(instance) || !keepable(m) {
		return nil //nolint:nilerr // there is no file
	}
	now := tx.Now().UnixMilli()
	r := Record{State: Pending, Since: now, Due: now}
	if f.Size > k.cfg.MaxFile {
		r = Record{State: Skipped, Reason: BySize, Since: now}
	}
	return put(tx, instance, m.ID, Record{}, r)
}

func keepable(m *event.Message) bool {
	for _, chat := range []*string{m.KeyRemoteJID, m.KeyLID} {
		if chat != nil && (*chat == event.StatusBroadcast || strings.HasSuffix(*chat, "@"+event.NewsletterServer)) {
			return false
		}
	}
	return true
}

// Linked notes the stored event that has the address of a message's file, in its commit.
func (k *Keeper) Linked(tx *store.Tx, instance, message int64, seq uint64) error {
	r, found, err := get(tx, instance, message)
	if err != nil || !found {
		return nil //nolint:nilerr // there is nothing to hold
	}
	r.Event = seq
	return store.PutJSON(tx, filesBucket, store.Key(instance, message), r)
}

// Open returns the kept file of a message. ok is false if none is kept.
func (k *Keeper) Open(key cache.Key) (f cache.File, ok bool) {
	r, found, err := k.record(key)
	if err != nil || !found || r.State != Stored || !k.own {
		return f, false
	}
	file, err := os.Open(k.path(key))
	if err == nil {
		info, failed := file.Stat()
		if failed == nil && info.Size() == r.Size {
			return cache.File{File: file, Size: r.Size, Type: r.Type}, true
		}
		_ = file.Close()
	}
	if again, _, _ := k.record(key); again.State == Stored { // it was not removed meanwhile
		k.lost.Add(1)
		k.cfg.Logger.Warn("a kept file is missing or has another length, and is fetched from WhatsApp instead; check the folder of media.store.path", "instance_id", key.Instance, "message_id", key.Message)
	}
	return f, false
}

func (k *Keeper) record(key cache.Key) (r Record, found bool, err error) {
	err = k.cfg.Store.View(func(tx *store.Tx) error {
		r, found, err = get(tx, key.Instance, key.Message)
		return err
	})
	return r, found, err
}

// Offer lets a file be kept at once that a download has fetched, where it failed before or
// waits.
func (k *Keeper) Offer(ctx context.Context, key cache.Key) {
	if r, found, err := k.record(key); err != nil || !found || !k.cfg.Enabled || r.State != Pending && r.State != Failed {
		return
	}
	err := k.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		old, found, err := get(tx, key.Instance, key.Message)
		if err != nil || !found || old.State != Pending && old.State != Failed {
			return err
		}
		r := old
		r.State, r.Due = Pending, tx.Now().UnixMilli()
		return put(tx, key.Instance, key.Message, old, r)
	})
	if err != nil {
		k.cfg.Logger.Warn("a fetched file is not kept; a later attempt may keep it", "error", err)
	}
}

// Delete removes the kept file of a message on request.
func (k *Keeper) Delete(ctx context.Context, key cache.Key) error {
	err := k.remove(ctx, key, Deleted, func(Record) bool { return true })
	k.clear()
	return err
}

// remove ends the record of a kept or wished file, if it is as which demands.
func (k *Keeper) remove(ctx context.Context, key cache.Key, why Reason, which func(Record) bool) error {
	var freed int64
	err := k.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		freed = 0
		old, found, err := get(tx, key.Instance, key.Message)
		if err != nil || !found || old.State != Stored && old.State != Pending || !which(old) {
			return err
		}
		freed = countedSize(old)
		r := old
		r.State, r.Reason, r.Due = Removed, why, 0
		return errors.Join(put(tx, key.Instance, key.Message, old, r), tx.Put(goneBucket, store.Key(key.Instance, key.Message), store.Key(int64(0))))
	})
	if err == nil {
		k.add(key.Instance, -freed)
	}
	return err
}

func (k *Keeper) add(instance, bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held[instance] += bytes; k.held[instance] <= 0 {
		delete(k.held, instance)
	}
}

func (k *Keeper) folder(instance int64) string {
	return filepath.Join(k.cfg.Dir, strconv.FormatInt(instance, 10))
}

func (k *Keeper) path(key cache.Key) string {
	return filepath.Join(k.folder(key.Instance), strconv.FormatInt(key.Message, 10))
}
