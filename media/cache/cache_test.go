package cache

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postern/event"
)

type rig struct {
	*Cache
	*testing.T
	dir     string
	fetches atomic.Int64
}

func newRig(t *testing.T, most int64) *rig {
	r := &rig{T: t, dir: t.TempDir()}
	r.Cache = New(Config{Create: func() (*os.File, error) { return os.CreateTemp(r.dir, "file-*") }, Max: most, Wait: 50 * time.Millisecond})
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

// get opens the file of a message, whose content is fetched.
func (r *rig) get(message int64, content string) error {
	r.Helper()
	f, err := r.Open(r.Context(), Key{1, message}, sha256.Sum256([]byte(content)), func(_ context.Context, to *os.File) error {
		r.fetches.Add(1)
		_, err := to.WriteString(content)
		return err
	})
	if err != nil {
		return err
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil || string(got) != content || f.Size != int64(len(content)) {
		r.Errorf("%d: %q, %v", message, got, err)
	}
	return nil
}

func (r *rig) files() int {
	all, err := os.ReadDir(r.dir)
	if err != nil {
		r.Fatal(err)
	}
	return len(all)
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	r := newRig(t, 10)
	for _, m := range []int64{1, 2, 1, 3, 1, 2} { // 3 displaces 2
		if err := r.get(m, "12345"); err != nil {
			t.Fatal(err)
		}
	}
	if r.fetches.Load() != 4 || r.files() != 2 {
		t.Errorf("%d fetches, %d files", r.fetches.Load(), r.files())
	}
	if err := r.get(4, "longer than all"); err != nil {
		t.Fatal(err)
	}
	if r.files() != 2 {
		t.Errorf("%d files after one that is too large", r.files())
	}
}

func TestWithoutCacheNothingStays(t *testing.T) {
	r := newRig(t, 0)
	for range 2 {
		if err := r.get(1, "12345"); err != nil {
			t.Fatal(err)
		}
	}
	if r.fetches.Load() != 2 || r.files() != 0 {
		t.Errorf("%d fetches, %d files", r.fetches.Load(), r.files())
	}
}

func TestFetchContinuesWithoutItsCaller(t *testing.T) {
	r := newRig(t, 100)
	release := make(chan struct{})
	sum := sha256.Sum256([]byte("x"))
	open := func() (File, error) {
		return r.Open(t.Context(), Key{1, 1}, sum, func(_ context.Context, to *os.File) error {
			r.fetches.Add(1)
			<-release
			_, err := to.WriteString("x")
			return err
		})
	}
	if _, err := open(); !errors.Is(err, ErrPending) {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Open(gone, Key{1, 1}, sum, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(release)
	for {
		f, err := open()
		if err == nil {
			_ = f.Close()
			break
		}
		if !errors.Is(err, ErrPending) {
			t.Fatal(err)
		}
	}
	if r.fetches.Load() != 1 {
		t.Errorf("%d fetches", r.fetches.Load())
	}
}

func TestFetchesAreBounded(t *testing.T) {
	r := newRig(t, 100)
	for i := range int64(maxFetchesOfOne + 1) {
		_, err := r.Open(t.Context(), Key{1, i}, [32]byte{}, func(ctx context.Context, _ *os.File) error {
			r.fetches.Add(1)
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, ErrPending) {
			t.Fatal(err)
		}
	}
	if n := r.fetches.Load(); n != maxFetchesOfOne {
		t.Errorf("%d fetches of one instance", n)
	}
}

func TestFailuresAreRemembered(t *testing.T) {
	r := newRig(t, 100)
	fail := func(err error) {
		t.Helper()
		_, got := r.Open(t.Context(), Key{1, 1}, [32]byte{}, func(context.Context, *os.File) error {
			r.fetches.Add(1)
			return err
		})
		if !errors.Is(got, err) {
			t.Fatal(got)
		}
	}
	fail(event.ErrNotConnected)
	fail(event.ErrMediaGone)
	fail(event.ErrMediaGone)
	if r.fetches.Load() != 2 || r.files() != 0 {
		t.Errorf("%d fetches, %d files", r.fetches.Load(), r.files())
	}
	r.Drop(Key{1, 1})
	if err := r.get(1, "12345"); err != nil {
		t.Error(err)
	}
	r.DropInstance(1)
	if r.files() != 0 {
		t.Error("files of an instance stay")
	}
}

func TestOtherHashIsRefused(t *testing.T) {
	r := newRig(t, 100)
	_, err := r.Open(t.Context(), Key{1, 1}, sha256.Sum256([]byte("x")), func(_ context.Context, to *os.File) error {
		_, err := io.Copy(to, strings.NewReader("y"))
		return err
	})
	if !errors.Is(err, event.ErrMedia) || r.files() != 0 {
		t.Errorf("%v, %d files", err, r.files())
	}
}
