package media

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/store"
)

func TestAnInstanceHasAtMostMaxUploadsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary(t, func(c *Config) { c.MaxUploads = 2 })
		reserve := l.Reserve
		first := l.keeps(t, 1, event.MediaImage)
		release, err := reserve(1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reserve(1); !errors.Is(err, ErrTooMany) {
			t.Errorf("beside one kept and one under way: %v", err)
		}
		if r, err := reserve(2); err != nil {
			t.Errorf("another instance: %v", err)
		} else {
			r()
		}
		release() // given up
		l.keeps(t, 1, event.MediaImage)
		if _, err := reserve(1); !errors.Is(err, ErrTooMany) {
			t.Errorf("beside two kept: %v", err)
		}
		if err := l.Delete(context.Background(), 1, first.ID.String()); err != nil {
			t.Fatal(err)
		}
		if release, err = reserve(1); err != nil {
			t.Errorf("after one was deleted: %v", err)
		}
		l.keeps(t, 1, event.MediaImage)
		release()
		if _, err := reserve(1); !errors.Is(err, ErrTooMany) {
			t.Errorf("two kept again: %v", err)
		}
		time.Sleep(Life) // none of them was pruned
		if release, err = reserve(1); err != nil {
			t.Errorf("after all expired: %v", err)
		}
		release()
		if len(l.reserved) != 0 {
			t.Errorf("still reserved: %v", l.reserved)
		}
	})
}

func TestConcurrentUploadsHonorTheLimit(t *testing.T) {
	l := newLibrary(t, func(c *Config) { c.MaxUploads = 10 })
	var mu sync.Mutex
	kept := 0
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			release, err := l.Reserve(1)
			if err != nil {
				return
			}
			defer release()
			l.keeps(t, 1, event.MediaImage)
			mu.Lock()
			kept++
			mu.Unlock()
		})
	}
	all.Wait()
	if kept > 10 || kept < 1 {
		t.Errorf("%d were kept", kept)
	}
}

func TestUploadIsReleasedInFinalCommit(t *testing.T) {
	l := newLibrary(t, nil)
	u := l.keeps(t, 1, event.MediaImage)
	for range 2 { // a repeated commit
		err := l.cfg.Store.Update(context.Background(), func(tx *store.Tx) error { return Release(tx, 1, u.ID.String()) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Upload(1, u.ID.String()); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if n, _, err := l.Held(); n != 0 || err != nil {
		t.Errorf("%d are held, %v", n, err)
	}
}
