package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"postern/internal/nightly"
	"postern/store/pages"
)

// opens writes a snapshot to a file and opens that.
func opens(t *testing.T, n *Snapshot) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	var all bytes.Buffer
	if written, err := n.WriteTo(&all); err != nil || written != n.Size() || int64(all.Len()) != n.Size() {
		t.Fatalf("%d bytes written of %d: %v", written, n.Size(), err)
	}
	if err := os.WriteFile(path, all.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := Check(t.Context(), path, declared)
	if err != nil || len(report.Faults) > 0 {
		t.Fatalf("the copy: %v %v", report.Faults, err)
	}
	return openTest(t, path)
}

func alone(t *testing.T, path string) {
	t.Helper()
	if left, _ := filepath.Glob(path + leftoverSuffix + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Each commit of a writer changes three records at places far apart. A snapshot has all
// three or none, each commit that returned before the snapshot began, and none that began
// after it was made.
func TestSnapshotIsOneMomentDuringWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	change(t, s, func(tx *Tx) error { // of some megabytes, so that copying takes a while
		for i := range 4000 {
			if err := tx.Put("thing", Key("filler", i), bytes.Repeat([]byte{byte(i)}, 2000)); err != nil {
				return err
			}
		}
		return nil
	})
	const writers = 16
	var told [writers]atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for n := int64(1); ctx.Err() == nil; n++ {
				err := s.Update(context.Background(), func(tx *Tx) error {
					err := errors.Join(
						tx.Put("thing", Key("a", w), Key(n)), tx.Put("thing", Key("n", w), Key(n)), tx.Put("thing", Key("z", w), Key(n)),
						tx.Put("thing", Key("log", w, n), bytes.Repeat([]byte{1}, r.IntN(9000))),
						tx.Put("thing", Key("filler", r.IntN(4000)), bytes.Repeat([]byte{2}, r.IntN(4000))))
					if n > 30 {
						err = errors.Join(err, tx.Delete("thing", Key("log", w, n-30)))
					}
					_, err2 := tx.NextID("thing")
					return errors.Join(err, err2)
				})
				if err != nil {
					t.Error(err)
					return
				}
				told[w].Store(n)
			}
		})
	}
	for range nightly.Or(4, 12) {
		var before [writers]int64
		for w := range writers {
			before[w] = told[w].Load()
		}
		n, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var after [writers]int64
		for w := range writers {
			after[w] = told[w].Load()
		}
		copied := opens(t, n)
		for w := range writers {
			a, in, z := get(t, copied, string(Key("a", w))), get(t, copied, string(Key("n", w))), get(t, copied, string(Key("z", w)))
			has := int64(0)
			if a != "" {
				has = int64(a[7]) | int64(a[6])<<8 | int64(a[5])<<16
			}
			if a != in || a != z {
				t.Errorf("writer %d: %x, %x, %x", w, a, in, z)
			}
			if has < before[w] || has > after[w]+1 {
				t.Errorf("writer %d: the snapshot has commit %d; told were %d before and %d after", w, has, before[w], after[w])
			}
		}
		if err := errors.Join(copied.Close(), n.Close()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	wg.Wait()
	alone(t, path)
}

func TestSnapshotLacksWhatWasRolledBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	put(t, s, "a", "1")
	boom := errors.New("boom")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = s.Update(context.Background(), func(tx *Tx) error { // written, and taken back
				return errors.Join(tx.Put("thing", Key("no", i), make([]byte, 10_000)), boom)
			})
			if err := s.Update(context.Background(), func(tx *Tx) error { return tx.Put("thing", Key("yes"), Key(i)) }); err != nil {
				t.Error(err)
			}
		}
	})
	for range 20 {
		n, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		copied := opens(t, n)
		err = copied.View(func(tx *Tx) error {
			if rows, err := tx.Count("thing", []byte("no")); err != nil || rows > 0 {
				return fmt.Errorf("%d records that never were: %w", rows, err)
			}
			return nil
		})
		if err := errors.Join(err, copied.Close(), n.Close()); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
}

func TestWhatWasDeletedIsInNoSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	change(t, s, func(tx *Tx) error {
		for i := range 200 {
			if err := tx.Put("thing", Key(i), []byte(strings.Repeat("SECRET-THAT-IS-GONE ", 100))); err != nil {
				return err
			}
		}
		return nil
	})
	change(t, s, func(tx *Tx) error {
		_, err := tx.DeletePrefix("thing", nil)
		return err
	})
	if raw, err := os.ReadFile(path); err != nil || !bytes.Contains(raw, []byte("SECRET-THAT")) {
		t.Fatalf("the file itself does not have it any more, and the test shows nothing (%v)", err)
	}
	running, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	look := func(n *Snapshot) {
		t.Helper()
		var all bytes.Buffer
		if _, err := n.WriteTo(&all); err != nil || bytes.Contains(all.Bytes(), []byte("SECRET-THAT")) {
			t.Errorf("the snapshot has what was deleted (%v)", err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	look(running)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	stopped, err := SnapshotFile(path, declared)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := Open(Options{Path: path, Buckets: declared}); !errors.Is(err, ErrLocked) {
		t.Errorf("a program that starts meanwhile: %v %v", s, err)
	}
	look(stopped)
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file itself: %v", err)
	}
}

func TestUnwantedSnapshotLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path, func(o *Options) { o.MinFree = 1 << 62 })
	put(t, s, "a", strings.Repeat("x", 1<<20))
	_, err := s.Snapshot(t.Context())
	if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "make room first") {
		t.Errorf("without room: %v", err)
	}
	alone(t, path)
	s.opts.MinFree = 1
	stopped := errors.New("not wanted any more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := s.Snapshot(ctx); !errors.Is(err, stopped) {
		t.Errorf("with a context that has ended: %v", err)
	}
	alone(t, path)
	if _, err := s.Snapshot(t.Context()); err != nil {
		t.Errorf("the next one: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed file: %v", err)
	}
}

func TestThereIsOneSnapshotAtATime(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	put(t, s, "a", strings.Repeat("x", 8<<20))
	var made, refused atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			n, err := s.Snapshot(t.Context())
			switch {
			case errors.Is(err, ErrSnapshotting):
				refused.Add(1)
			case err != nil:
				t.Error(err)
			default:
				made.Add(1)
				if err := n.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if made.Load() < 1 || made.Load()+refused.Load() != 8 {
		t.Errorf("%d made, %d refused", made.Load(), refused.Load())
	}
	if n, err := s.Snapshot(t.Context()); err != nil || n.Records("thing") != 1 {
		t.Errorf("one after them: %v", err)
	}
}

func TestADamagedPageIsInNoSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	for i := range 400 {
		put(t, s, string(Key(i)), marked)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := os.Getpagesize()
	for page := 2; page*size < len(raw); page++ {
		raw[page*size+8] ^= 0x40 // the kind of each page
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := SnapshotFile(path, declared); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a snapshot of a damaged file: %v %v", n, err)
	}
}

// An orderly stop of a large file leaves the list of its free pages in it. A snapshot
// contains zeros in place of these pages, and no list.
func TestSnapshotOfStoppedFileHasNoFreeList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path, func(o *Options) { o.NoSync, o.SurveyFrom = false, 1 })
	for i := range 300 {
		put(t, s, string(Key(i)), strings.Repeat("x", 3000))
	}
	change(t, s, func(tx *Tx) error {
		_, err := tx.DeletePrefix("thing", nil)
		return err
	})
	put(t, s, "a", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := SnapshotFile(path, declared)
	if err != nil {
		t.Fatal(err)
	}
	if !n.found.File.HasList() {
		t.Fatal("the stop left no list, and the test shows nothing")
	}
	copied := opens(t, n)
	if got := get(t, copied, "a"); got != "1" {
		t.Errorf("a = %q", got)
	}
	if err := errors.Join(copied.Close(), n.Close()); err != nil {
		t.Error(err)
	}
	var all bytes.Buffer
	n, err = SnapshotFile(path, declared)
	if err == nil {
		_, err = n.WriteTo(&all)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := pages.Open(bytes.NewReader(all.Bytes()), int64(all.Len()))
	if err != nil || file.HasList() {
		t.Errorf("the snapshot names a list (%v)", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// endsAt is a context that ends after a number of calls of Err.
type endsAt struct {
	context.Context
	left int
}

// Err implements [context.Context].
func (c *endsAt) Err() error {
	if c.left == 0 {
		return context.Canceled
	}
	c.left--
	return nil
}

// TestWhoStopsWaitingEndsTheSnapshot at every step, without an error about damage.
func TestWhoStopsWaitingEndsTheSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	fillThings(t, s, 500)
	for name, look := range map[string]func(context.Context) error{
		"snapshot": func(ctx context.Context) error {
			n, err := s.Snapshot(ctx)
			if err == nil {
				err = n.Close()
			}
			return err
		},
		"check": func(ctx context.Context) error {
			r, err := s.Check(ctx)
			if len(r.Faults) > 0 {
				t.Errorf("check: %q", r.Faults)
			}
			return err
		},
		"stats": func(ctx context.Context) error {
			_, err := s.Inspect(ctx)
			return err
		},
	} {
		steps := 0
		for ; ; steps++ {
			ctx := &endsAt{t.Context(), steps}
			err := look(ctx)
			if alone(t, path); err == nil && ctx.left == 0 && steps > 0 {
				break // it looked at the context so often, and that did not end
			}
			if !errors.Is(err, context.Canceled) || errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s, ended at step %d: %v", name, steps, err)
			}
		}
		if steps < 10 { // the file has that many pages
			t.Errorf("%s looks %d times whether somebody waits for it", name, steps)
		}
	}
}
