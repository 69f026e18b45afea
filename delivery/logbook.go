package delivery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"postern/store"
)

// hashKind stands before the key of the hashes. After a change of the hash function all hashes
// are rebuilt, as they are after hashBegun, which marks an unfinished rebuild.
const (
	hashKind  = 2
	hashBegun = 0
)

var hashKeyKey = []byte("hash key")

// logbook is the state that the log keeps in memory.
type logbook struct {
	key    hashKey
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
	made, err := l.openKey()
	if err == nil {
		err = l.openDigest(made)
	}
	if err == nil && made {
		err = l.store.Update(context.Background(), func(tx *store.Tx) error { return l.putKey(tx, hashKind) })
	}
	if err != nil {
		return fmt.Errorf("delivery: open the log: %w", err)
	}
	l.store.AtStop(leftDigest, digestOf, l.leaveDigest)
	return nil
}

// openKey reads the key of the hashes, or makes one; with a new key all rows have to be
// rebuilt.
func (l *Ledger) openKey() (made bool, err error) {
	err = l.store.Update(context.Background(), func(tx *store.Tx) error {
		if _, err := tx.DeletePrefix(logs, gonePrefix); err != nil {
			return err
		}
		raw, err := tx.Get(logs, hashKeyKey)
		if made = err == nil && (len(raw) != 1+len(l.key) || raw[0] != hashKind) || errors.Is(err, store.ErrDamaged); !made && err == nil {
			copy(l.key[:], raw[1:])
		}
		if !made {
			return err
		}
		_, _ = rand.Read(l.key[:])
		return l.putKey(tx, hashBegun)
	})
	return made, err
}

func (l *Ledger) putKey(tx *store.Tx, kind byte) error {
	return tx.Put(logs, hashKeyKey, append([]byte{kind}, l.key[:]...))
}

func (l *Ledger) startLog() {
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.work.Go(func() { l.writeBehind(ctx.Done()) })
	l.work.Go(func() { l.tend(ctx) })
	l.work.Go(func() { l.repeat(ctx) })
	if l.unread {
		l.work.Go(func() { l.readDigest(ctx) })
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
