package cache

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"postern/event"
	"postern/media/display"
)

// ErrPending reports that the file is still being fetched.
var ErrPending = errors.New("the file is still being fetched")

// Limits of concurrent fetches, and of the memory of failures.
const (
	maxFetches      = 64
	maxFetchesOfOne = 16
	failureLife     = time.Minute
	maxFailures     = 10_000
)

// Key identifies the file of a stored message.
type Key struct{ Instance, Message int64 }

// Config configures a Cache. Create is required.
type Config struct {
	Create func() (*os.File, error) // an empty file in the spool folder
	Max    int64                    // bytes of all files; 0: none is kept
	Wait   time.Duration            // for a fetch; 0 means 30 s
	// Observe is called after each fetch with its result. It may be nil.
	Observe func(took time.Duration, err error)
}

// File is an open file. Its reader closes it.
type File struct {
	io.ReadSeekCloser

	Size int64
	Type string // of its content, see display.Examiner
}

// Download writes a file into an empty one.
type Download func(ctx context.Context, to *os.File) error

// Cache is safe for concurrent use.
type Cache struct {
	cfg  Config
	life context.Context // of fetches; ends with Close
	end  context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	held     map[Key]*list.Element // of recent, with *kept
	recent   *list.List            // most recently used first
	bytes    int64                 // of held
	flights  map[Key]*flight
	flying   map[int64]int // flights by instance
	failures map[Key]failure
}

// kept is a fetched file.
type kept struct {
	key  Key
	path string
	size int64
	kind string
}

// flight is a fetch in progress. The fields after done are set when it is closed.
type flight struct {
	waiting int // guarded by Cache.mu
	dropped bool
	done    chan struct{}

	file kept
	err  error
}

type failure struct {
	err   error
	until time.Time
}

// New returns an empty cache.
func New(cfg Config) *Cache {
	if cfg.Wait <= 0 {
		cfg.Wait = 30 * time.Second
	}
	if cfg.Observe == nil {
		cfg.Observe = func(time.Duration, error) {}
	}
	c := &Cache{cfg: cfg, held: map[Key]*list.Element{}, recent: list.New(), flights: map[Key]*flight{}, flying: map[int64]int{}, failures: map[Key]failure{}}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// Close ends all fetches and waits for them.
func (c *Cache) Close(context.Context) error {
	c.end()
	c.work.Wait()
	return nil
}

// Open returns the file of a message, fetched by download if it is not held. Errors: those
// of download, ErrPending, event.ErrMedia if the file has another hash, and that of ctx.
func (c *Cache) Open(ctx context.Context, key Key, sha [sha256.Size]byte, download Download) (File, error) {
	f, fl, err := c.find(key, sha, download)
	if fl == nil {
		return f, err
	}
	late := time.NewTimer(c.cfg.Wait)
	defer late.Stop()
	select {
	case <-fl.done:
		return c.land(fl)
	case <-late.C:
		err = ErrPending
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	fl.waiting--
	c.removeUnused(fl)
	return File{}, err
}

// Held returns the file of a message if it is held.
func (c *Cache) Held(key Key) (File, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.held[key]
	if !ok {
		return File{}, false
	}
	f, err := at.Value.(*kept).open()
	return f, err == nil
}

// find returns a held file, the error of a recent fetch, or a flight to wait for.
func (c *Cache) find(key Key, sha [sha256.Size]byte, download Download) (File, *flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.held[key]; ok {
		f, err := at.Value.(*kept).open()
		if err == nil {
			c.recent.MoveToFront(at)
			return f, nil, nil
		}
		c.remove(at) // somebody else removed it
	}
	if failed, ok := c.failures[key]; ok {
		if time.Now().Before(failed.until) {
			return File{}, nil, failed.err
		}
		delete(c.failures, key)
	}
	if fl := c.flights[key]; fl != nil {
		fl.waiting++
		return File{}, fl, nil
	}
	if c.life.Err() != nil || len(c.flights) >= maxFetches || c.flying[key.Instance] >= maxFetchesOfOne {
		return File{}, nil, ErrPending
	}
	fl := &flight{waiting: 1, done: make(chan struct{})}
	c.flights[key] = fl
	c.flying[key.Instance]++
	c.work.Go(func() { c.fly(key, fl, sha, download) })
	return File{}, fl, nil
}

// land opens the file of a flight that has ended, for one of those who waited.
func (c *Cache) land(fl *flight) (f File, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fl.waiting--
	if err = fl.err; err == nil {
		f, err = fl.file.open()
	}
	c.removeUnused(fl)
	return f, err
}

// removeUnused removes the file of a flight if it is not held and no one waits for it.
func (c *Cache) removeUnused(fl *flight) {
	select {
	case <-fl.done:
	default:
		return
	}
	if fl.err != nil || fl.waiting > 0 {
		return
	}
	if at, ok := c.held[fl.file.key]; !ok || at.Value.(*kept).path != fl.file.path {
		_ = os.Remove(fl.file.path)
	}
}

// fly fetches a file, and keeps the result.
func (c *Cache) fly(key Key, fl *flight, sha [sha256.Size]byte, download Download) {
	begun := time.Now()
	file, err := c.fetch(sha, download)
	c.cfg.Observe(time.Since(begun), err)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.flights, key)
	if c.flying[key.Instance]--; c.flying[key.Instance] == 0 {
		delete(c.flying, key.Instance)
	}
	file.key = key
	fl.file, fl.err = file, err
	switch {
	case err == nil && !fl.dropped:
		c.hold(file)
	case final(err):
		c.fail(key, err)
	}
	close(fl.done)
	c.removeUnused(fl)
}

// fetch downloads a file into the spool folder and verifies it.
func (c *Cache) fetch(sha [sha256.Size]byte, download Download) (k kept, err error) {
	f, err := c.cfg.Create()
	if err != nil {
		return k, err
	}
	k.path = f.Name()
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			_ = os.Remove(k.path)
		}
	}()
	if err := download(c.life, f); err != nil {
		return k, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return k, fmt.Errorf("verify a fetched file: %w", err)
	}
	k.kind, k.size, err = Verify(f, sha)
	return k, err
}

// Verify reads a file to its end and returns its content type and size. The error wraps
// event.ErrMedia if the file has another hash.
func Verify(r io.Reader, sha [sha256.Size]byte) (kind string, size int64, err error) {
	hash, look := sha256.New(), &display.Examiner{}
	if size, err = io.Copy(io.MultiWriter(hash, look), r); err != nil {
		return "", 0, fmt.Errorf("verify a fetched file: %w", err)
	}
	if [sha256.Size]byte(hash.Sum(nil)) != sha {
		return "", 0, fmt.Errorf("%w: the file at WhatsApp is not that of the message", event.ErrMedia)
	}
	return look.Type(), size, nil
}

// final reports whether another fetch would have the same result.
func final(err error) bool {
	return errors.Is(err, event.ErrMediaGone) || errors.Is(err, event.ErrMedia) || errors.Is(err, event.ErrNoMedia)
}

func (c *Cache) fail(key Key, err error) {
	if len(c.failures) >= maxFailures {
		clear(c.failures)
	}
	c.failures[key] = failure{err, time.Now().Add(failureLife)}
}

// hold keeps a file, and removes those that were not used for the longest time.
func (c *Cache) hold(file kept) {
	if file.size > c.cfg.Max {
		return
	}
	c.held[file.key] = c.recent.PushFront(&file)
	c.bytes += file.size
	for c.bytes > c.cfg.Max {
		c.remove(c.recent.Back())
	}
}

func (c *Cache) remove(at *list.Element) {
	file := c.recent.Remove(at).(*kept)
	delete(c.held, file.key)
	c.bytes -= file.size
	_ = os.Remove(file.path)
}

// Drop removes the file of a message. A fetch in progress ends for those who wait for it,
// and its file is not kept.
func (c *Cache) Drop(key Key) { c.drop(func(k Key) bool { return k == key }) }

// DropInstance removes the files of an instance.
func (c *Cache) DropInstance(instance int64) {
	c.drop(func(k Key) bool { return k.Instance == instance })
}

func (c *Cache) drop(which func(Key) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, at := range c.held {
		if which(key) {
			c.remove(at)
		}
	}
	for key, fl := range c.flights {
		if which(key) {
			fl.dropped = true
		}
	}
	for key := range c.failures {
		if which(key) {
			delete(c.failures, key)
		}
	}
}

func (k *kept) open() (File, error) {
	f, err := os.Open(k.path)
	if err != nil {
		return File{}, fmt.Errorf("open a fetched file: %w", err)
	}
	return File{f, k.size, k.kind}, nil
}
