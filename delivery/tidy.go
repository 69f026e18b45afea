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

// shedSome cancels up to limit deliveries while the backlog exceeds its limit: the oldest of
// the instance with the largest backlog.
func (l *Ledger) shedSome(tx *store.Tx, limit int) (ended []Ended, more bool, err error) {
	all, err := readBacklog(tx, allLanes)
	over := all.Bytes - l.cfg.DurableMaxBytes
	if err != nil || over <= 0 {
		return nil, false, IgnoreDamage(err)
	}
	held, err := holders(tx)
	for range limit {
		instance, most := held.most()
		if err != nil || most == nil || over <= 0 {
			return ended, false, err
		}
		var oldest place
		if oldest, err = most.oldest(tx); err != nil {
			return ended, false, err
		}
		if oldest.record == 0 {
			delete(held, instance)
			continue
		}
		e, known, err := l.cancel(tx, oldest, ReasonCapacity)
		if err != nil {
			return ended, false, err
		}
		if known {
			ended = append(ended, e)
			over -= int64(e.Record.Bytes)
			most.bytes -= int64(e.Record.Bytes)
		}
	}
	return ended, over > 0, nil
}

// holder is the backlog of one instance.
type holder struct {
	bytes  int64
	shares []Lane
}

type holderSet map[int64]*holder

func holders(tx *store.Tx) (holderSet, error) {
	shares, err := sharesOf(tx, nil)
	held := holderSet{}
	for _, b := range shares {
		h := held[b.Lane.Instance]
		if h == nil {
			h = &holder{}
			held[b.Lane.Instance] = h
		}
		h.bytes += b.Bytes
		h.shares = append(h.shares, b.Lane)
	}
	return held, err
}

// most returns the holder with the largest backlog, the lowest id of equals; nil if none is left.
func (s holderSet) most() (instance int64, most *holder) {
	for id, h := range s {
		if most == nil || h.bytes > most.bytes || h.bytes == most.bytes && id < instance {
			instance, most = id, h
		}
	}
	return instance, most
}

// oldest returns the oldest pending delivery: a head, because the others of its line are
// younger. Its record is 0 if there is none.
func (h *holder) oldest(tx *store.Tx) (oldest place, err error) {
	for _, share := range h.shares {
		first, err := headsAfter(tx, share, 0, 1)
		if err != nil {
			return oldest, err
		}
		if len(first) > 0 && (oldest.record == 0 || first[0].Record < oldest.record) {
			oldest = place{lane: share.whole(), instance: share.Instance, record: first[0].Record}
		}
	}
	return oldest, nil
}
