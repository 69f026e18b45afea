package delivery

import (
	"encoding/binary"
	"errors"

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
	return l.noteReplay(tx, c)
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

// counts holds the number of records in each state, by the state's code.
type counts [len(states)]uint64

var countsKey = []byte("counts")

// countMore adds to the numbers by state.
func countMore(tx *store.Tx, delta counts) error {
	if delta == (counts{}) {
		return nil
	}
	sum, err := readCounts(tx)
	if err != nil {
		return ignoreDamage(err) // the next start recounts
	}
	for i := range sum {
		sum[i] += delta[i]
	}
	return putCounts(tx, sum)
}

func putCounts(tx *store.Tx, c counts) error {
	raw := make([]byte, 0, 8*len(c))
	for _, n := range c {
		raw = binary.BigEndian.AppendUint64(raw, n)
	}
	return tx.Put(logs, countsKey, raw)
}

func readCounts(tx *store.Tx) (c counts, err error) {
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
