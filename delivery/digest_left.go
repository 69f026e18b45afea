package delivery

import (
	"context"
	"errors"
	"slices"
	"time"

	"postern/store"
)

// leftDigest is what an orderly stop records of the digest: it has a row for each record, the
// numbers by state match its rows, and nothing is pending in memory only.
const leftDigest = "delivery digest"

var digestOf = []string{records, digests, logs}

func (l *Ledger) leaveDigest() []byte {
	if l.behind.settled() {
		return []byte{}
	}
	return nil
}

// settled reports whether the file has the end of every delivery that it records as pending
// in memory.
func (b *behind) settled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stored == 0
}

// readStep is the number of blocks of the digest that one read covers: 1 MB.
const readStep = 500

// readDigest verifies the digest of a file that the start did not read, rebuilds damaged
// blocks, and so brings it into the system's page cache for the first list. It pauses after
// each read for as long as the read took.
func (l *Ledger) readDigest(ctx context.Context) {
	for from := uint64(0); ctx.Err() == nil; {
		began := time.Now()
		next, damaged, err := l.verifyFrom(from)
		for some := range slices.Chunk(damaged, repairStep) {
			err = errors.Join(err, l.rebuild(some))
		}
		if err != nil && ctx.Err() == nil {
			l.log.Warn("the digest of deliveries was not verified to its end", "error", err)
		}
		if err != nil || next == 0 {
			return
		}
		from = next
		rest := time.NewTimer(time.Since(began))
		select {
		case <-rest.C:
		case <-ctx.Done():
			rest.Stop()
		}
	}
}

// verifyFrom verifies readStep blocks. next is the block to continue with, 0 at the end.
func (l *Ledger) verifyFrom(from uint64) (next uint64, damaged []uint64, err error) {
	err = l.store.View(func(tx *store.Tx) error {
		seen := 0
		damaged, err = l.key.scan(tx, idRange{firstOf(from), maxID}, false, true, func(in stretch) (bool, error) {
			next = blockOf(in.first) + 1
			seen++
			return seen < readStep, nil
		})
		if seen < readStep {
			next = 0
		}
		return err
	})
	return next, damaged, err
}
