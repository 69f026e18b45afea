package store

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// added counts what the closures of one commit added, and calls told when it is written.
type added struct {
	n    uint64
	err  error
	told func(n uint64)
}

func (a *added) Finish(tx *Tx) error {
	a.told(a.n)
	if err := tx.Put("thing", Key("sum"), Key(a.n)); err != nil {
		return err
	}
	if a.n == 13 {
		panic("thirteen")
	}
	return a.err
}

// TestSharedWritesFollowTheCommitsLastClosure: with the additions of each
// closure, except a failed one, and in the same commit.
func TestSharedWritesFollowTheCommitsLastClosure(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "s.db"))
	var written []uint64
	add := func(n uint64, fails, ends error) func(*Tx) error {
		return func(tx *Tx) error {
			if err := tx.Put("thing", Key(n), nil); err != nil {
				return err
			}
			a := tx.Shared("added", func() Shared {
				return &added{err: ends, told: func(n uint64) { written = append(written, n) }}
			}).(*added)
			a.n += n
			return fails
		}
	}
	sum := func() (v []byte) {
		_ = s.View(func(tx *Tx) (err error) {
			if tx.Shared("added", nil) != nil {
				t.Error("a View shares something")
			}
			v, err = tx.Get("thing", Key("sum"))
			return err
		})
		return v
	}
	// Those that wait while one is under way share the next commit.
	begun, held := make(chan struct{}), make(chan struct{})
	var calls sync.WaitGroup
	calls.Go(func() {
		_ = s.Update(context.Background(), func(*Tx) error { close(begun); <-held; return nil })
	})
	<-begun
	refused := errors.New("refused")
	for n, fails := range map[uint64]error{1: nil, 2: nil, 4: refused, 8: nil} {
		calls.Go(func() {
			if err := s.Update(context.Background(), add(n, fails, nil)); !errors.Is(err, fails) {
				t.Errorf("%d: %v", n, err)
			}
		})
	}
	for s.waiting() < 4 {
		runtime.Gosched()
	}
	close(held)
	calls.Wait()
	if got := sum(); string(got) != string(Key(uint64(11))) || len(written) != 1 || written[0] != 11 {
		t.Errorf("the file has %x; written was %v", got, written)
	}
	// What cannot be written at the end fails the whole commit.
	broken := errors.New("broken")
	if err := s.Update(context.Background(), add(16, nil, broken)); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if err := s.Update(context.Background(), add(13, nil, nil)); err == nil || !strings.Contains(err.Error(), "thirteen") {
		t.Errorf("%v", err)
	}
	if got := sum(); string(got) != string(Key(uint64(11))) {
		t.Errorf("a commit that failed left %x", got)
	}
	_ = s.View(func(tx *Tx) error {
		for _, n := range []uint64{4, 13, 16} {
			if tx.Has("thing", Key(n)) {
				t.Errorf("record %d of a commit that failed is there", n)
			}
		}
		return nil
	})
}
