package delivery

import (
	"context"
	"fmt"
	"sync"
	"time"

	"postern/delivery/digest"
	"postern/store"
)

// logbook is the state that the log keeps in memory.
type logbook struct {
	digest *digest.Digest
	behind behind
	stop   context.CancelFunc
	repair chan uint64   // damaged blocks of the digest; a block for which there is no room is found again later
	grown  chan struct{} // size 1: records were written behind
	gaps   tellOnce
	runner runner
	unread bool // the digest, by this start
}

// openLog reads what the log needs at the start, and ends the records of the in-memory flow
// that a crash interrupted.
func (l *Ledger) openLog() error {
	l.behind = newBehind()
	l.stop = func() {}
	l.repair = make(chan uint64, 16)
	l.grown = make(chan struct{}, 1)
	l.runner = newRunner()
	err := l.store.Update(context.Background(), func(tx *store.Tx) error {
		_, err := tx.DeletePrefix(logs, gonePrefix)
		return err
	})
	if err == nil {
		err = l.openDigest()
	}
	if err != nil {
		return fmt.Errorf("delivery: open the log: %w", err)
	}
	l.store.AtStop(leftDigest, digestOf, l.leaveDigest)
	return nil
}

func (l *Ledger) startLog() {
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.work.Go(func() { l.writeBehind(ctx.Done()) })
	l.work.Go(func() { l.tend(ctx) })
	l.work.Go(func() { l.repeat(ctx) })
	if l.unread {
		l.work.Go(func() { l.verifyDigest(ctx) })
	}
}

func (l *Ledger) stopLog(ctx context.Context) error {
	l.stop()
	return l.Flush(ctx)
}

// tellOnce limits how often the same message is logged.
type tellOnce struct {
	mu sync.Mutex
	at time.Time
}

const tellEvery = time.Minute

func (t *tellOnce) due() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); t.at.IsZero() || now.Sub(t.at) >= tellEvery {
		t.at = now
		return true
	}
	return false
}

func (l *Ledger) tellLost(err error) {
	if l.gaps.due() {
		l.log.Warn("deliveries are missing from the log; they were made all the same: free some space, or look after a slow disk with postern doctor", "count", l.LogDropped(), "error", err)
	}
}
