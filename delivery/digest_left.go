package delivery

import (
	"context"
	"errors"
	"slices"
	"time"

	"postern/store"
)

// leftDigest is what an orderly stop leaves of the digest: that it has a row for each
// record, that the numbers by state are those of its rows, and that nothing is pending in
// memory only.
const leftDigest = "delivery digest"

var digestOf = []string{records, digests, logs}

func (l *Ledger) leaveDigest() []byte {
	if l.behind.settled() {
		return []byte{}
	}
	return nil
}

// settled reports whether the file has the end of every delivery that it has as pending in
// memory.
func (b *behind) settled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stored == 0
}

// readStep is how many blocks of the digest one read goes through: 1 MB.
const readStep = 500

// readDigest verifies the digest of a file that the start did not read, makes damaged blocks
// anew, and has the system hold it in memory for the first list. It rests as long as it reads.
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

// verifyFrom looks at readStep blocks. next is the one to go on with, 0 for none.
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
