package delivery

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"postern/store"
)

// tidy is what goes on by itself: to make room when too much waits, and to
// remove what is left of deleted instances.
type tidy struct {
	kicks  chan struct{} // size 1: there may be something to do
	halt   context.CancelFunc
	halted chan struct{}
	shed   atomic.Uint64 // deliveries cancelled for want of room
	told   atomic.Uint64 // those of them that the log names
}

const (
	tidyStep = 200         // things that one commit does at most
	tidyTell = time.Minute // between two lines of the log about the same
	tidyWait = time.Second // before what failed is tried again, and for the last look
)

// Shed returns how many deliveries were cancelled for want of room so far.
func (l *Ledger) Shed() uint64 { return l.shed.Load() }

// kick has the goroutine look. It may be called inside a transaction, which is
// on the disk, or was undone, before the look: that is a transaction, too.
func (l *Ledger) kick() {
	select {
	case l.kicks <- struct{}{}:
	default:
	}
}

func (l *Ledger) startTidy() {
	var ctx context.Context
	ctx, l.halt = context.WithCancel(context.Background())
	if l.untidy() { // as a crash left it
		l.kick()
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

// stopTidy ends the goroutine. What it can bring to its end within a moment it
// does; the next start does the rest.
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
		if len(ended) > 0 {
			l.cfg.Ended(ended)
		}
	}
	return nil
}

// untidy tells whether there is something to do in the file.
func (l *Ledger) untidy() (is bool) {
	err := l.store.View(func(tx *store.Tx) error {
		all, err := readBacklog(tx, allLanes)
		if ignoreDamage(err) != nil {
			return err
		}
		instance, err := forgotten(tx)
		is = all.Bytes > l.cfg.DurableMaxBytes || instance != 0
		return err
	})
	return is || err != nil
}

// tellShed writes how many were cancelled since it was told last.
func (l *Ledger) tellShed() {
	total := l.shed.Load()
	if n := total - l.told.Swap(total); n > 0 {
		l.log.Warn("pending webhook deliveries were cancelled: more waits than webhook.durable_max_bytes allows; see to the receiver, or raise that setting", "count", n, "reason", ReasonCapacity)
	}
}
