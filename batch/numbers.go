package batch

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// Lists take their totals from numbers that each commit keeps, and find finished
// batches of one status by an index. A file of a release without these is counted
// in the background, in the order of the batches' ids: up to the mark the rows are
// correct, and a change of a batch after it changes none, since that is counted later.

// byStatus is how many batches there are in each status.
type byStatus map[event.BatchStatus]int

// of sums the numbers of some statuses, of all when none is given.
func (n byStatus) of(some []event.BatchStatus) (sum int) {
	for status, count := range n {
		if len(some) == 0 || slices.Contains(some, status) {
			sum += count
		}
	}
	return sum
}

const countStep = 200 // batches that one commit counts

func ownerNumbersKey(owner uuid.UUID) []byte { return store.Key("user", owner) }

var (
	allNumbersKey = []byte("all")
	countedKey    = []byte("counted")

	// allCounted is the mark when no batch is left to be counted: it is above every id.
	allCounted = bytes.Repeat([]byte{0xff}, len(uuid.UUID{}))
)

// endedCode returns the status of a final batch in the index of these.
func endedCode(s event.BatchStatus) byte {
	switch s {
	case event.BatchIsStopped:
		return 's'
	case event.BatchIsCompleted:
		return 'c'
	default:
		return 'e'
	}
}

func endedPrefix(owner uuid.UUID, s event.BatchStatus) []byte {
	return store.Key(owner, endedCode(s))
}

func endedKey(owner uuid.UUID, s event.BatchStatus, id uuid.UUID) []byte {
	return append(endedPrefix(owner, s), id[:]...)
}

// countedTo returns the id up to which batches are counted, nil when the numbers are
// unreliable.
func countedTo(tx *store.Tx) ([]byte, error) {
	mark, err := tx.Get(bucketNumber, countedKey)
	if errors.Is(err, store.ErrDamaged) || len(mark) != len(allCounted) {
		return nil, ignoreDamage(err)
	}
	return mark, err
}

func ignoreDamage(err error) error {
	if errors.Is(err, store.ErrDamaged) {
		return nil
	}
	return err
}

// numbersOf returns the numbers under a key; known is false while batches are being
// counted.
func numbersOf(tx *store.Tx, key []byte) (n byStatus, known bool, err error) {
	mark, err := countedTo(tx)
	if err != nil || !bytes.Equal(mark, allCounted) {
		return nil, false, err
	}
	n, _, err = store.GetJSON[byStatus](tx, bucketNumber, key)
	return n, err == nil, ignoreDamage(err)
}

// noteStatus keeps numbers and index equal to a batch that goes from one status to
// another in this transaction: from is empty for a new batch, to for one that is
// deleted. What the transaction itself writes comes before.
func noteStatus(tx *store.Tx, owner, id uuid.UUID, from, to event.BatchStatus) error {
	if from == to {
		return nil
	}
	mark, err := countedTo(tx)
	if err == nil && mark == nil && from == "" {
		mark, err = markFirst(tx)
	}
	if err != nil || bytes.Compare(id[:], mark) > 0 {
		return err
	}
	if table.Final(from) {
		err = tx.Delete(bucketEnded, endedKey(owner, from, id))
	}
	if table.Final(to) && err == nil {
		err = tx.Put(bucketEnded, endedKey(owner, to, id), nil)
	}
	if err == nil {
		numberChangesOf(tx).note(owner, from, to)
	}
	return err
}

// markFirst sets the mark, and returns it, when the new batch is the first
// of the file: then nothing has to be counted.
func markFirst(tx *store.Tx) (mark []byte, err error) {
	for bucket, most := range map[string]int{bucketHeader: 1, bucketNumber: 0, bucketEnded: 0} {
		if n, err := tx.CountSome(bucket, nil, most+1); err != nil || n > most {
			return nil, err
		}
	}
	return allCounted, tx.Put(bucketNumber, countedKey, allCounted)
}

// numberChanges are the changes of the numbers in a commit, by their key.
type numberChanges map[string]byStatus

type numbersKey struct{}

func numberChangesOf(tx *store.Tx) numberChanges {
	c, _ := tx.Shared(numbersKey{}, func() store.Shared { return numberChanges{} }).(numberChanges)
	return c
}

func (c numberChanges) note(owner uuid.UUID, from, to event.BatchStatus) {
	for _, key := range [][]byte{allNumbersKey, ownerNumbersKey(owner)} {
		n := c[string(key)]
		if n == nil {
			n = byStatus{}
			c[string(key)] = n
		}
		n[from]--
		n[to]++
	}
}

// Finish implements [store.Shared]. Where the numbers cannot be read, all are dropped,
// with the mark: the next start counts again.
func (c numberChanges) Finish(tx *store.Tx) error {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		n, _, err := store.GetJSON[byStatus](tx, bucketNumber, []byte(key))
		if errors.Is(err, store.ErrDamaged) {
			return tx.Delete(bucketNumber, countedKey)
		}
		if err != nil {
			return err
		}
		if err := putNumbers(tx, []byte(key), n, c[key]); err != nil {
			return err
		}
	}
	return nil
}

func putNumbers(tx *store.Tx, key []byte, n, more byStatus) error {
	sum := maps.Clone(n)
	if sum == nil {
		sum = byStatus{}
	}
	for status, by := range more {
		sum[status] += by
	}
	maps.DeleteFunc(sum, func(s event.BatchStatus, n int) bool { return s == "" || n <= 0 })
	if len(sum) == 0 {
		return tx.Delete(bucketNumber, key)
	}
	return store.PutJSON(tx, bucketNumber, key, sum)
}

// countSome counts the next batches and moves the mark behind them.
func countSome(tx *store.Tx) (done bool, err error) {
	mark, err := countedTo(tx)
	switch {
	case err != nil || bytes.Equal(mark, allCounted):
		return true, err
	case mark == nil:
		return false, beginCount(tx)
	}
	type counted struct {
		id     uuid.UUID
		status event.BatchStatus
	}
	var some []counted
	last, looked := mark, 0
	err = tx.Look(bucketHeader, store.Range{From: append(bytes.Clone(mark), 0)}, func(key, raw []byte) (bool, error) {
		last = bytes.Clone(key)
		looked++
		if h, err := decodeHeader(raw); err == nil && len(key) == len(allCounted) {
			some = append(some, counted{uuid.UUID(key), h.Status})
		}
		return looked < countStep, nil
	})
	if err != nil {
		return false, err
	}
	if done = looked < countStep; done {
		last = allCounted
	}
	if len(last) != len(allCounted) {
		return false, fmt.Errorf("batch: %x is no id of a batch: %w", last, store.ErrDamaged)
	}
	if err := tx.Put(bucketNumber, countedKey, last); err != nil {
		return false, err
	}
	for _, c := range some {
		if err := countOne(tx, c.id, c.status); err != nil {
			return false, err
		}
	}
	return done, nil
}

// beginCount removes what was counted before, and then sets the mark in front of all
// batches.
func beginCount(tx *store.Tx) error {
	for _, bucket := range []string{bucketNumber, bucketEnded} {
		if n, err := tx.DeleteSome(bucket, nil, removeStep); err != nil || n > 0 {
			return err
		}
	}
	return tx.Put(bucketNumber, countedKey, make([]byte, len(allCounted)))
}

// countOne counts a batch, and completes its owner's row. One that cannot be read is in
// no list.
func countOne(tx *store.Tx, id uuid.UUID, status event.BatchStatus) error {
	s, found, err := store.GetJSON[spec](tx, bucketSpec, id[:])
	if err != nil || !found {
		return ignoreDamage(err)
	}
	key := store.Key(s.Owner, id)
	row, err := tx.Get(bucketOwner, key)
	if err == nil && row != nil && len(row) == 0 || errors.Is(err, store.ErrDamaged) {
		err = tx.Put(bucketOwner, key, encodeListed(&s))
	}
	if err == nil && table.Final(status) {
		err = tx.Put(bucketEnded, endedKey(s.Owner, status, id), nil)
	}
	if err == nil {
		numberChangesOf(tx).note(s.Owner, "", status)
	}
	return err
}

// anyOf reports whether a bucket has a record.
func anyOf(tx *store.Tx, bucket string) (found bool, err error) {
	err = tx.Scan(bucket, store.Range{Limit: 1}, func(_, _ []byte) (bool, error) {
		found = true
		return false, nil
	})
	return found, err
}
