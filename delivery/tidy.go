package delivery

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"postern/store"
)

// tidy is the background work: it makes room when the backlog exceeds its limit, and removes
// what is left of deleted instances.
type tidy struct {
	kicks  chan struct{} // size 1: there may be something to do
	halt   context.CancelFunc
	halted chan struct{}
	shed   atomic.Uint64 // deliveries cancelled for lack of room
	told   atomic.Uint64 // of these, those that the log has reported
}

const (
	tidyStep = 200         // things that one commit does at most
	tidyTell = time.Minute // between two lines of the log about the same
	tidyWait = time.Second // before a retry after an error, and for the last run
)

// Shed returns how many deliveries were cancelled for lack of room so far.
func (l *Ledger) Shed() uint64 { return l.shed.Load() }

// kick wakes the goroutine. It may be called inside a transaction: the goroutine looks in a
// transaction of its own, after that one was committed or undone.
func (l *Ledger) kick() {
	select {
	case l.kicks <- struct{}{}:
	default:
	}
}

func (l *Ledger) startTidy() {
	var ctx context.Context
	ctx, l.halt = context.WithCancel(context.Background())
	if l.untidy() { // left by a crash
		l.kick()
	}
	if l.unread {
		l.work.Go(func() { l.verifyDigest(ctx) })
	}
	l.halted = make(chan struct{})
	l.work.Go(func() {
		defer close(l.halted)
		tell := time.NewTicker(tidyTell)
		defer tell.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tell.C:
				l.tellShed()
				continue
			case <-l.kicks:
			}
			if err := l.tidyUp(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
				l.log.Warn("deliveries not tidied up; trying again", "error", err)
				time.AfterFunc(tidyWait, l.kick)
			}
		}
	})
}

// stopTidy ends the goroutine. It first completes what it can within a moment; the next start
// does the rest.
func (l *Ledger) stopTidy(ctx context.Context) {
	if l.halt == nil {
		return
	}
	l.halt()
	<-l.halted
	ctx, cancel := context.WithTimeout(ctx, tidyWait)
	defer cancel()
	if l.untidy() {
		if err := l.tidyUp(ctx); err != nil && ctx.Err() == nil {
			l.log.Warn("deliveries not tidied up; the next start does", "error", err)
		}
	}
	l.tellShed()
}

func (l *Ledger) tidyUp(ctx context.Context) error {
	for more := true; more && ctx.Err() == nil; {
		var ended []Ended
		err := l.store.Update(ctx, func(tx *store.Tx) (err error) {
			if ended, more, err = l.shedSome(tx, tidyStep); err != nil || more {
				return err
			}
			instance, err := forgotten(tx)
			if more = instance != 0; err != nil || !more {
				return err
			}
			return l.sweepInstance(tx, instance, tidyStep)
		})
		if err != nil {
			return err
		}
		l.shed.Add(uint64(len(ended)))
		l.Freed(ended)
	}
	return nil
}

// untidy reports whether the file has work for tidy.
func (l *Ledger) untidy() (is bool) {
	err := l.store.View(func(tx *store.Tx) error {
		all, err := readBacklog(tx, allLanes)
		if IgnoreDamage(err) != nil {
			return err
		}
		instance, err := forgotten(tx)
		is = all.Bytes > l.cfg.DurableMaxBytes || instance != 0
		return err
	})
	return is || err != nil
}

// tellShed logs how many deliveries were cancelled since it last did.
func (l *Ledger) tellShed() {
	total := l.shed.Load()
	if n := total - l.told.Swap(total); n > 0 {
		l.log.Warn("pending webhook deliveries were cancelled: more waits than webhook.durable_max_bytes allows; see to the receiver, or raise that setting", "count", n, "reason", ReasonCapacity)
	}
}
