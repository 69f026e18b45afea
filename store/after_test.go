package store

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestAfterRunsOnceOnceTheCommitIsDurable: not for a closure that
// failed, and not for the first run of a closure that ran again because of another.
func TestAfterRunsOnceOnceTheCommitIsDurable(t *testing.T) {
	var commits atomic.Int64
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"), func(o *Options) {
		o.OnCommit = func(int, time.Duration) { commits.Add(1) }
	})
	var mu sync.Mutex
	called := map[string]int{}
	refused := errors.New("refused")
	var work sync.WaitGroup
	const callers = 50
	together := make(chan struct{})
	held := make(chan struct{})
	work.Go(func() { // all others come while this one runs
		_ = s.Update(t.Context(), func(*Tx) error { close(held); <-together; return nil })
	})
	<-held
	for i := range callers {
		name := string(rune('A' + i))
		work.Go(func() {
			followed := false
			err := s.Update(t.Context(), func(tx *Tx) error {
				before := commits.Load()
				tx.After(func() {
					mu.Lock()
					defer mu.Unlock()
					called[name]++
					if followed = true; commits.Load() != before+1 {
						t.Errorf("%s: called before its commit was on the disk", name)
					}
				})
				if err := tx.Put("thing", []byte(name), []byte("x")); err != nil || i%5 == 0 {
					return errors.Join(err, refused)
				}
				return nil
			})
			mu.Lock()
			defer mu.Unlock()
			if followed != (err == nil) {
				t.Errorf("%s: %v, and what follows it was called before Update returned: %t", name, err, followed)
			}
		})
	}
	for s.waiting() < callers {
		runtime.Gosched()
	}
	close(together)
	work.Wait()
	for i := range callers {
		want := 1
		if i%5 == 0 {
			want = 0
		}
		if n := called[string(rune('A'+i))]; n != want {
			t.Errorf("caller %d: called %d times, want %d", i, n, want)
		}
	}
}

func TestWhatFollowsCommitsComesInTheirOrder(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	var order, told []int
	var work sync.WaitGroup
	for i := range 200 {
		work.Go(func() {
			_ = s.Update(t.Context(), func(tx *Tx) error {
				order = append(order, i) // the writer's goroutine has both
				tx.After(func() { told = append(told, i) })
				return tx.Put("thing", []byte("k"), []byte{byte(i)})
			})
		})
	}
	work.Wait()
	if !slices.Equal(order, told) {
		t.Errorf("committed %v, told %v", order, told)
	}
}
