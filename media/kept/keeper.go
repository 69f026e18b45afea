package kept

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"postern/event"
	"postern/media/cache"
	"postern/media/display"
	"postern/media/kept/s3"
	"postern/store"
)

// Config configures a Keeper. Store, Dir or S3, Message, Download, Held and OnWay are required.
type Config struct {
	Store     *store.Store
	Enabled   bool                     // new files are kept
	Dir       string                   // has a folder for each instance
	S3        *s3.Client               // instead of Dir; nil: none
	Spool     func() (*os.File, error) // an empty file for what goes to S3; required with it
	MaxFile   int64                    // bytes of one file
	MaxBytes  int64                    // of all files; 0: no limit
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
	// OnWay reports whether deliveries of a stored event are pending, or ended within
	// [Grace]. unlogged: they ended, and nothing says when.
	OnWay func(tx *store.Tx, seq uint64) (is, unlogged bool, err error)

	Logger *slog.Logger // nil: silent
}

// Keeper is safe for concurrent use.
type Keeper struct {
	cfg  Config
	life context.Context // ends with Stop
	end  context.CancelFunc
	work sync.WaitGroup
	lost atomic.Uint64
	at   place
	ends chan struct{} // a record has ended; its file is to be removed
	idle chan struct{} // a fetch has ended; another may begin

	room    sync.Mutex // held while a file gets its place
	roomLog time.Time  // of the last warning; guarded by room

	mu     sync.Mutex
	held   map[int64]int64     // bytes by instance, with those of files that are being put
	used   map[cache.Key]bool  // files that are being put or removed
	busy   map[int64]bool      // instances whose file is being fetched
	asleep map[int64]time.Time // offline instances, until when
	last   int64               // instance of the last turn
}

// Open returns the keeper of a folder or a bucket. It counts what is kept, and connects to no
// server.
func Open(cfg Config) (*Keeper, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Wants == nil {
		cfg.Wants = func(int64) bool { return true }
	}
	cfg.Logger = cfg.Logger.With("component", "media")
	k := &Keeper{cfg: cfg, ends: make(chan struct{}, 1), idle: make(chan struct{}, 1), held: map[int64]int64{}, used: map[cache.Key]bool{}, busy: map[int64]bool{}, asleep: map[int64]time.Time{}}
	if cfg.S3 != nil {
		k.at = &bucket{client: cfg.S3, id: cfg.Store.ID(), spool: cfg.Spool, log: cfg.Logger}
	} else {
		f, err := openFolder(cfg.Dir, cfg.Store.ID(), cfg.Enabled, cfg.Logger)
		if err != nil {
			return nil, err
		}
		k.at = f
	}
	k.life, k.end = context.WithCancel(context.Background())
	return k, cfg.Store.View(k.count)
}

// count sums the sizes of the kept files, and of those that are to be removed and still count.
func (k *Keeper) count(tx *store.Tx) error {
	err := tx.Scan(goneBucket, store.Range{}, func(key, value []byte) (bool, error) {
		if g, ok := goneOf(key, value); ok {
			k.held[g.of.Instance] += g.size
		}
		return true, nil
	})
	if err != nil {
		return err
	}
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
	k.work.Go(k.loop)
	k.work.Go(k.clearLoop)
	k.work.Go(k.sweepLoop)
}

// Stop ends what Start began.
func (k *Keeper) Stop(context.Context) error {
	k.end()
	k.work.Wait()
	return nil
}

// Lost returns how many kept files were found missing or of another length.
func (k *Keeper) Lost() uint64 { return k.lost.Load() }

// Warning says that new files cannot be kept at present; empty if they can.
func (k *Keeper) Warning() string { return k.at.warning() }

// Bytes returns the sizes of the kept files by instance.
func (k *Keeper) Bytes() map[int64]int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.held)
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

// Open returns the kept file of a message, which can be read until ctx ends. ok is false if
// none is kept, or it cannot be reached.
func (k *Keeper) Open(ctx context.Context, key cache.Key) (f cache.File, ok bool) {
	r, found, err := k.record(key)
	if err != nil || !found || r.State != Stored {
		return f, false
	}
	file, err := k.at.open(ctx, key, r.Size)
	if err == nil {
		return cache.File{ReadSeekCloser: file, Size: r.Size, Type: r.Type}, true
	}
	if !errors.Is(err, errNone) {
		return f, false
	}
	if again, _, _ := k.record(key); again.State == Stored { // it was not removed meanwhile
		k.lost.Add(1)
		k.cfg.Logger.Warn("a kept file is missing or has another length, and is fetched from WhatsApp instead; check the place that the setting names", "setting", k.at.setting(), "instance_id", key.Instance, "message_id", key.Message)
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
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.asleep, key.Instance) // it is online
}

// deleteFor is how long Delete waits for the file to go; later it goes in the background.
const deleteFor = 5 * time.Second

// Delete removes the kept file of a message on request.
func (k *Keeper) Delete(ctx context.Context, key cache.Key) error {
	err := k.remove(ctx, key, Deleted, func(Record) bool { return true })
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, deleteFor)
		defer cancel()
		_, _ = k.unlink(ctx, key)
	}
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
		k.ended()
	}
	return err
}

// ended wakes the loop that removes files.
func (k *Keeper) ended() { wake(k.ends) }

func wake(loop chan struct{}) {
	select {
	case loop <- struct{}{}:
	default:
	}
}

// hold takes a file for a change. It returns false if another one is under way.
func (k *Keeper) hold(key cache.Key) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.used[key] {
		return false
	}
	k.used[key] = true
	return true
}

func (k *Keeper) release(key cache.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.used, key)
}

// holds reports whether a file of an instance is being changed.
func (k *Keeper) holds(instance int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.used {
		if key.Instance == instance {
			return true
		}
	}
	return false
}

func (k *Keeper) add(instance, bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held[instance] += bytes; k.held[instance] <= 0 {
		delete(k.held, instance)
	}
}
