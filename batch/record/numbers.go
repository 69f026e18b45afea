package record

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

// ByStatus is how many batches there are in each status.
type ByStatus map[event.BatchStatus]int

// Sum sums the numbers of some statuses, of all when none is given.
func (n ByStatus) Sum(some []event.BatchStatus) (sum int) {
	for status, count := range n {
		if len(some) == 0 || slices.Contains(some, status) {
			sum += count
		}
	}
	return sum
}

// CountStep is how many batches one commit counts.
const CountStep = 200

// OwnerNumbersKey is the key of the numbers of one owner.
func OwnerNumbersKey(owner uuid.UUID) []byte { return store.Key("user", owner) }

// Keys of the records about the numbers of the whole file.
var (
	AllNumbersKey = []byte("all")
	CountedKey    = []byte("counted")

	// AllCounted is the mark when no batch is left to be counted: it is above every id.
	AllCounted = bytes.Repeat([]byte{0xff}, len(uuid.UUID{}))
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

// EndedPrefix begins the keys of an owner's final batches of one status.
func EndedPrefix(owner uuid.UUID, s event.BatchStatus) []byte {
	return store.Key(owner, endedCode(s))
}

func endedKey(owner uuid.UUID, s event.BatchStatus, id uuid.UUID) []byte {
	return append(EndedPrefix(owner, s), id[:]...)
}

// CountedTo returns the id up to which batches are counted, nil when the numbers are
// unreliable.
func CountedTo(tx *store.Tx) ([]byte, error) {
	mark, err := tx.Get(BucketNumber, CountedKey)
	if errors.Is(err, store.ErrDamaged) || len(mark) != len(AllCounted) {
		return nil, IgnoreDamage(err)
	}
	return mark, err
}

// IgnoreDamage returns nil for a damaged record, and any other error as it is.
func IgnoreDamage(err error) error {
	if errors.Is(err, store.ErrDamaged) {
		return nil
	}
	return err
}

// NumbersOf returns the numbers under a key; known is false while batches are being
// counted.
func NumbersOf(tx *store.Tx, key []byte) (n ByStatus, known bool, err error) {
	mark, err := CountedTo(tx)
	if err != nil || !bytes.Equal(mark, AllCounted) {
		return nil, false, err
	}
	n, _, err = store.GetJSON[ByStatus](tx, BucketNumber, key)
	return n, err == nil, IgnoreDamage(err)
}

// NoteStatus keeps numbers and index equal to a batch that goes from one status to
// another in this transaction: from is empty for a new batch, to for one that is
// deleted. What the transaction itself writes comes before.
func NoteStatus(tx *store.Tx, owner, id uuid.UUID, from, to event.BatchStatus) error {
	if from == to {
		return nil
	}
	mark, err := CountedTo(tx)
	if err == nil && mark == nil && from == "" {
		mark, err = markFirst(tx)
	}
	if err != nil || bytes.Compare(id[:], mark) > 0 {
		return err
	}
	if table.Final(from) {
		err = tx.Delete(BucketEnded, endedKey(owner, from, id))
	}
	if table.Final(to) && err == nil {
		err = tx.Put(BucketEnded, endedKey(owner, to, id), nil)
	}
	if err == nil {
		numberChangesOf(tx).Note(owner, from, to)
	}
	return err
}

// markFirst sets the mark, and returns it, when the new batch is the first
// of the file: then nothing has to be counted.
func markFirst(tx *store.Tx) (mark []byte, err error) {
	for bucket, most := range map[string]int{BucketHeader: 1, BucketNumber: 0, BucketEnded: 0} {
		if n, err := tx.CountSome(bucket, nil, most+1); err != nil || n > most {
			return nil, err
		}
	}
	return AllCounted, tx.Put(BucketNumber, CountedKey, AllCounted)
}

// NumberChanges are the changes of the numbers in a commit, by their key.
type NumberChanges map[string]ByStatus

type numbersKey struct{}

func numberChangesOf(tx *store.Tx) NumberChanges {
	c, _ := tx.Shared(numbersKey{}, func() store.Shared { return NumberChanges{} }).(NumberChanges)
	return c
}

// Note adds that a batch goes from one status to another.
func (c NumberChanges) Note(owner uuid.UUID, from, to event.BatchStatus) {
	for _, key := range [][]byte{AllNumbersKey, OwnerNumbersKey(owner)} {
		n := c[string(key)]
		if n == nil {
			n = ByStatus{}
			c[string(key)] = n
		}
		n[from]--
		n[to]++
	}
}

// Finish implements [store.Shared]. Where the numbers cannot be read, all are dropped,
// with the mark: the next start counts again.
func (c NumberChanges) Finish(tx *store.Tx) error {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		n, _, err := store.GetJSON[ByStatus](tx, BucketNumber, []byte(key))
		if errors.Is(err, store.ErrDamaged) {
			return tx.Delete(BucketNumber, CountedKey)
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

func putNumbers(tx *store.Tx, key []byte, n, more ByStatus) error {
	sum := maps.Clone(n)
	if sum == nil {
		sum = ByStatus{}
	}
	for status, by := range more {
		sum[status] += by
	}
	maps.DeleteFunc(sum, func(s event.BatchStatus, n int) bool { return s == "" || n <= 0 })
	if len(sum) == 0 {
		return tx.Delete(BucketNumber, key)
	}
	return store.PutJSON(tx, BucketNumber, key, sum)
}

// CountSome counts the next batches and moves the mark behind them.
func CountSome(tx *store.Tx) (done bool, err error) {
	mark, err := CountedTo(tx)
	switch {
	case err != nil || bytes.Equal(mark, AllCounted):
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
	err = tx.Look(BucketHeader, store.Range{From: append(bytes.Clone(mark), 0)}, func(key, raw []byte) (bool, error) {
		last = bytes.Clone(key)
		looked++
		if h, err := DecodeHeader(raw); err == nil && len(key) == len(AllCounted) {
			some = append(some, counted{uuid.UUID(key), h.Status})
		}
		return looked < CountStep, nil
	})
	if err != nil {
		return false, err
	}
	if done = looked < CountStep; done {
		last = AllCounted
	}
	if len(last) != len(AllCounted) {
		return false, fmt.Errorf("batch: %x is no id of a batch: %w", last, store.ErrDamaged)
	}
	if err := tx.Put(BucketNumber, CountedKey, last); err != nil {
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
	for _, bucket := range []string{BucketNumber, BucketEnded} {
		if n, err := tx.DeleteSome(bucket, nil, RemoveStep); err != nil || n > 0 {
			return err
		}
	}
	return tx.Put(BucketNumber, CountedKey, make([]byte, len(AllCounted)))
}

// countOne counts a batch, and completes its owner's row. One that cannot be read is in
// no list.
func countOne(tx *store.Tx, id uuid.UUID, status event.BatchStatus) error {
	s, found, err := store.GetJSON[Spec](tx, BucketSpec, id[:])
	if err != nil || !found {
		return IgnoreDamage(err)
	}
	key := store.Key(s.Owner, id)
	row, err := tx.Get(BucketOwner, key)
	if err == nil && row != nil && len(row) == 0 || errors.Is(err, store.ErrDamaged) {
		err = tx.Put(BucketOwner, key, EncodeRow(&s))
	}
	if err == nil && table.Final(status) {
		err = tx.Put(BucketEnded, endedKey(s.Owner, status, id), nil)
	}
	if err == nil {
		numberChangesOf(tx).Note(s.Owner, "", status)
	}
	return err
}

// AnyOf reports whether a bucket has a record.
func AnyOf(tx *store.Tx, bucket string) (found bool, err error) {
	err = tx.Scan(bucket, store.Range{Limit: 1}, func(_, _ []byte) (bool, error) {
		found = true
		return false, nil
	})
	return found, err
}
