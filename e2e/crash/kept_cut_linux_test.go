package crash

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"postern/app"
	"postern/cli/consumer"
	"postern/e2e/powerloss"
	"postern/event"
	"postern/media/cache"
	"postern/media/display"
	"postern/media/kept"
	"postern/messages"
	"postern/store"
)

// TestPowerLossKeepsFilesAndRecordsInStep: the program keeps files, removes some and an
// instance with the rest, and is killed in between. Of every disk that a power cut may
// leave, a record that says STORED has its whole file, what was reported as STORED is, and
// after a start no file is without a record.
func TestPowerLossKeepsFilesAndRecordsInStep(t *testing.T) {
	t.Parallel()
	k := newTraced(t, "MEDIA_STORE_MAX_BYTES=200000")
	c := &cuts{traced: k}
	for life := range 2 {
		for i := range 6 {
			key := fmt.Sprint("CUT", life, i)
			k.receive(t, key, contentOf(key))
			c.stored(k.await(key, "STORED", ""))
			if i%3 == 2 {
				id := k.records()[1].MessageID
				c.ending(id)
				k.Call(consumer.Bearer(k.Token), http.MethodDelete, fmt.Sprintf("/instance/shop/messages/%d/media", id), nil, nil)
			}
		}
		k.Kill()
		k.Start()
		k.AwaitOnline("shop", k.Token)
	}
	c.ending(0)
	k.Call(consumer.Bearer(k.Token), http.MethodDelete, "/instance/shop?force=true", nil, nil)
	k.Await("no folder", func() bool {
		_, err := os.Lstat(filepath.Join(k.kept, "1"))
		return errors.Is(err, fs.ErrNotExist)
	})
	k.Stop()
	images := 3 * imagesByDefault
	if n, err := strconv.Atoi(os.Getenv("IMAGES")); err == nil && n > 0 {
		images = n
	}
	folder, err := os.MkdirTemp("/dev/shm", "postern-images-*")
	if err != nil {
		folder = t.TempDir()
	}
	defer os.RemoveAll(folder)
	seed := killSeed()
	findings := k.recording.Try(powerloss.Campaign{Images: images, Seed: seed, Folder: folder, Near: c.near}, c.check)
	for _, err := range findings[:min(len(findings), 5)] {
		t.Error(err)
	}
	t.Logf("SEED=%d: %d images of %d positions, %d files reported, %d whole files seen: %d findings", seed, images, k.recording.Pos(), len(c.facts), c.seen, len(findings))
	if c.seen == 0 {
		t.Error("no image had a kept file")
	}
}

// cuts are the images of a recording, and what was reported of kept files.
type cuts struct {
	*traced
	facts map[int64]*keptFact
	near  []int

	mu   sync.Mutex
	seen int
}

// keptFact: a file was reported as stored, and may go from a position on.
type keptFact struct{ from, until int }

func (c *cuts) stored(r keptRecord) {
	if c.facts == nil {
		c.facts = map[int64]*keptFact{}
	}
	pos := c.recording.Pos()
	c.facts[r.MessageID] = &keptFact{from: pos}
	c.near = append(c.near, pos)
}

// ending says that a file is about to be removed; 0: all.
func (c *cuts) ending(id int64) {
	pos := c.recording.Pos()
	c.near = append(c.near, pos)
	for of, f := range c.facts {
		if f.until == 0 && (id == 0 || of == id) {
			f.until = pos
		}
	}
}

// check opens an image with the keeper, as a start does.
func (c *cuts) check(folder string, pos int) (err error) {
	path := filepath.Join(folder, "data", "postern.db")
	if _, err := os.Stat(path); err != nil {
		return nil //nolint:nilerr // cut off before it was made
	}
	s, err := store.Open(store.Options{Path: path, Buckets: app.Buckets(), MinFree: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	archive, err := messages.Open(context.Background(), messages.Config{Store: s})
	if err != nil {
		return err
	}
	defer archive.Close()
	dir := filepath.Join(folder, "data", "media")
	states, err := c.whole(s, archive, dir)
	if err != nil {
		return err
	}
	for id, f := range c.facts {
		if f.from <= pos && (f.until == 0 || pos < f.until) && states[id] != kept.Stored {
			return fmt.Errorf("message %d was reported as STORED and is %q", id, states[id])
		}
	}
	k, err := kept.Open(kept.Config{
		Store: s, Enabled: true, Dir: dir, MaxFile: 1 << 20, Message: archive.Message,
		Download: func(context.Context, event.Message, int64, *os.File, int64) error { return event.ErrNotConnected },
		Held:     func(cache.Key) (f cache.File, held bool) { return f, false }, OnWay: func(*store.Tx, uint64) (bool, bool, error) { return false, false, nil },
	})
	if err != nil {
		return err
	}
	k.Start()
	defer func() { err = errors.Join(err, k.Stop(context.Background())) }()
	return awaitNoOrphan(dir, states)
}

// whole returns the states of all records. A file of one that says STORED is whole.
func (c *cuts) whole(s *store.Store, archive *messages.Archive, dir string) (states map[int64]kept.State, err error) {
	states = map[int64]kept.State{}
	k, err := kept.Open(kept.Config{Store: s, Dir: dir})
	if err != nil {
		return nil, err
	}
	page, err := k.List(context.Background(), 1, kept.Query{Limit: 1000})
	for _, e := range page.Entries {
		states[e.Message] = e.State
		if e.State != kept.Stored {
			continue
		}
		m, err := archive.Message(1, e.Message)
		if err != nil {
			return nil, err
		}
		f, err := display.Of(&m)
		if err != nil {
			return nil, err
		}
		raw, err := os.ReadFile(filepath.Join(dir, "1", strconv.FormatInt(e.Message, 10)))
		if sum := sha256.Sum256(raw); err != nil || sum != f.SHA256 {
			return nil, fmt.Errorf("message %d says STORED and has %d bytes, %w", e.Message, len(raw), err)
		}
		c.mu.Lock()
		c.seen++
		c.mu.Unlock()
	}
	return states, err
}

// awaitNoOrphan waits until each file is that of a record.
func awaitNoOrphan(dir string, states map[int64]kept.State) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		orphan := ""
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == ".postern" {
				return ignoreAbsent(err)
			}
			id, err := strconv.ParseInt(d.Name(), 10, 64)
			if state := states[id]; err != nil || state != kept.Stored && state != kept.Pending {
				orphan = path
			}
			return nil
		})
		if err != nil || orphan == "" {
			return ignoreAbsent(err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s has no record a minute after a start", orphan)
		}
	}
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
