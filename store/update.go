package store

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// States of an update. The writer and a caller whose context ended compete to move it out
// of the waiting state.
const (
	waiting int32 = iota
	taken
	withdrawn
)

// update is one call of Update in the queue of the writer.
type update struct {
	fn       func(*Tx) error
	rides    bool // waits for the commit of another
	state    atomic.Int32
	done     chan struct{} // closed when err and panicked are final
	err      error
	panicked any
	broken   error // the damage of the file that the closure met
}

// wait blocks until the update has its result.
func (u *update) wait() error {
	<-u.done
	if u.panicked != nil {
		panic(u.panicked)
	}
	return u.err
}

// run calls the closure and recovers its panic for the caller.
func (u *update) run(tx *Tx) {
	u.panicked = nil
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch p := recover(); {
		case p == nil:
		case byDamage(p):
			u.broken = damageMet(p)
		default:
			u.panicked = fmt.Sprintf("%v\n\nin a store transaction:\n%s", p, debug.Stack())
		}
	}()
	u.err = u.fn(tx)
}

// finish answers all calls with err.
func finish(group []*update, err error) {
	for _, u := range group {
		u.err = err
	}
	answer(group)
}

// answer answers each call with the result of its closure.
func answer(group []*update) {
	for _, u := range group {
		close(u.done)
	}
}

// bell wakes all goroutines that wait for the same event.
type bell struct {
	mu   sync.Mutex
	rung chan struct{} // closed and replaced with each ring
}

func newBell() *bell { return &bell{rung: make(chan struct{})} }

func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rung
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.rung)
	b.rung = make(chan struct{})
}

// updateKey is the context key of the function that [WithUpdate] adds.
type updateKey struct{}

// WithUpdate returns a context with which each [Store.Update] also runs fn in its transaction,
// after the closure of the call and only if that closure returned no error. fn follows
// the rules of Update's closures. It must write the same each time that it is called,
// since a caller may commit several times. A function that ctx already carries runs
// before fn. If fn is nil, ctx carries nothing.
func WithUpdate(ctx context.Context, fn func(*Tx) error) context.Context {
	if before, _ := ctx.Value(updateKey{}).(func(*Tx) error); before != nil && fn != nil {
		added := fn
		fn = func(tx *Tx) error {
			if err := before(tx); err != nil {
				return err
			}
			return added(tx)
		}
	}
	return context.WithValue(ctx, updateKey{}, fn)
}

// withCarried returns a closure that calls fn and then the function that ctx carries.
func withCarried(ctx context.Context, fn func(*Tx) error) func(*Tx) error {
	carried, _ := ctx.Value(updateKey{}).(func(*Tx) error)
	if carried == nil {
		return fn
	}
	return func(tx *Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return carried(tx)
	}
}

// Shared collects what the closures of one commit add to rows that they share, such as
// counts. It is written once, after the last closure, and not with each. A closure that
// reads such a row in an Update must look here first.
type Shared interface {
	// Finish writes the rows. An error fails the whole commit.
	Finish(tx *Tx) error
}

// Shared returns the object that the commit of tx shares under key. If there is none,
// Shared makes one with make; if make is nil, or in a View, it returns nil. A failed
// closure does not undo its changes to the object, so it must not fail once it has
// changed it, unless it also wrote by itself.
func (tx *Tx) Shared(key any, make func() Shared) Shared {
	for _, s := range tx.openings.shared {
		if s.key == key {
			return s.what
		}
	}
	if make == nil {
		return nil
	}
	what := make()
	tx.openings.shared = append(tx.openings.shared, sharedBy{key, what})
	return what
}

type sharedBy struct {
	key  any
	what Shared
}

// finishShared writes what the closures of a transaction share.
func (o *openings) finishShared(tx *Tx) error {
	for _, s := range o.shared {
		if err := s.what.Finish(tx); err != nil {
			return fmt.Errorf("store: what a commit shares: %w", err)
		}
	}
	return nil
}
