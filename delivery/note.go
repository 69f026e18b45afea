package delivery

import (
	"encoding/binary"
	"errors"
	"slices"

	"postern/delivery/digest"
	"postern/store"
)

// change is a record that is stored or removed: old is nil for a new record, now for a removed
// one.
type change struct{ now, old *Record }

func (c change) record() *Record {
	if c.now != nil {
		return c.now
	}
	return c.old
}

// note updates what the log keeps beside a record, its row of the digest, the numbers by
// state and those of its replay, in the commit that changes the record. old is nil for a new
// record, now for a removed one.
func (l *Ledger) note(tx *store.Tx, now, old *Record) error {
	c := change{now, old}
	if err := l.noteAttempt(tx, c); err != nil { // a row that is rebuilt reads the attempts
		return err
	}
	l.noteRow(tx, c)
	if old == nil || old.Replay == 0 || l.hooks.Changed == nil {
		return nil
	}
	return l.hooks.Changed(tx, now, old)
}

// noteRow updates the row of the digest and the numbers by state.
func (l *Ledger) noteRow(tx *store.Tx, c change) {
	var now *digest.Fields
	if c.now != nil {
		f := c.now.fields()
		now = &f
	}
	l.digest.Note(tx, c.record().ID, now)
	l.together(tx).note(c)
}

// noteAttempt keeps what a change removes from the record: the attempt before, and the reason
// of the last one if the record ends for another reason.
func (l *Ledger) noteAttempt(tx *store.Tx, c change) error {
	if c.now == nil || c.old == nil || c.old.LastAttemptAt.IsZero() {
		return nil
	}
	now, old := c.now, c.old
	switch {
	case now.Attempts > old.Attempts:
		return l.keepAttempt(tx, *now, *old)
	case now.LastError != old.LastError:
		return putAttempt(tx, old.ID, old.lastAttempt(), nil)
	}
	return nil
}

// Counts holds the number of records in each state, by the state's code.
type Counts [len(states)]uint64

var countsKey = []byte("counts")

// countMore adds to the numbers by state.
func countMore(tx *store.Tx, delta Counts) error {
	if delta == (Counts{}) {
		return nil
	}
	sum, err := ReadCounts(tx)
	if err != nil {
		return IgnoreDamage(err) // the next start recounts
	}
	for i := range sum {
		sum[i] += delta[i]
	}
	return putCounts(tx, sum)
}

func putCounts(tx *store.Tx, c Counts) error {
	raw := make([]byte, 0, 8*len(c))
	for _, n := range c {
		raw = binary.BigEndian.AppendUint64(raw, n)
	}
	return tx.Put(logs, countsKey, raw)
}

// ReadCounts returns the number of records in each state, without reading them.
func ReadCounts(tx *store.Tx) (c Counts, err error) {
	if err := settleShared(tx); err != nil {
		return c, err
	}
	raw, err := tx.Get(logs, countsKey)
	if err != nil || raw == nil {
		return c, err
	}
	if len(raw) != 8*len(c) {
		return c, tx.Unreadable(logs, countsKey, errors.New("no counts"))
	}
	for i := range c {
		c[i] = binary.BigEndian.Uint64(raw[8*i:])
	}
	return c, nil
}

// Of sums the numbers of some states, of all if none is given.
func (c Counts) Of(some []State) (n uint64) {
	for code, count := range c {
		if code > 0 && (len(some) == 0 || slices.Contains(some, states[code])) {
			n += count
		}
	}
	return n
}

// Ended returns the number of records that ended.
func (c Counts) Ended() (n uint64) {
	for code, count := range c {
		if code != 0 && states[code] != Pending {
			n += count
		}
	}
	return n
}
