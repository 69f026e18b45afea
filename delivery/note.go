package delivery

import (
	"encoding/binary"
	"errors"

	"postern/event"
	"postern/store"
)

// change is a record that is stored, or goes: old is nil for a new one, now for
// one that goes.
type change struct{ now, old *Record }

func (c change) record() *Record {
	if c.now != nil {
		return c.now
	}
	return c.old
}

// note keeps what the log knows of a record beside it, its digest and the
// numbers by state and of its replay, in the commit that changes it. old is nil
// for a new record, now for one that goes.
func (l *Ledger) note(tx *store.Tx, now, old *Record) error {
	if l.shares(tx) {
		l.together.changes = append(l.together.changes, change{now, old})
		return nil
	}
	return l.noteAll(tx, []change{{now, old}})
}

// noteAll is note for many, which cost least in the order of their ids.
func (l *Ledger) noteAll(tx *store.Tx, changes []change) error {
	ids := make([]uint64, len(changes))
	for i, c := range changes {
		ids[i] = c.record().ID
		if err := l.noteAttempt(tx, c); err != nil { // a row that is made anew asks for it
			return err
		}
	}
	err := l.key.edit(tx, ids, func(i int, w digestRow) digestRow {
		if now := changes[i].now; now != nil {
			return w.next(l.key, now, tx.Now())
		}
		return digestRow{}
	})
	if err != nil {
		return err
	}
	if err := countChanges(tx, changes); err != nil {
		return err
	}
	l.tellChanges(tx, changes)
	for _, c := range changes {
		if err := l.noteReplay(tx, c); err != nil {
			return err
		}
	}
	return nil
}

// tellChanges has those of a commit told once it is on the disk. Records that go are
// none of them: nobody waits to hear that something old is not kept any more.
func (l *Ledger) tellChanges(tx *store.Tx, changes []change) {
	if l.cfg.Changed == nil {
		return
	}
	all := make([]Changed, 0, len(changes))
	for _, c := range changes {
		if r := c.now; r != nil {
			all = append(all, Changed{ID: r.ID, Instance: r.Name, Global: r.Lane.Target == event.TargetGlobal})
		}
	}
	if len(all) > 0 {
		tx.After(func() { l.cfg.Changed(all) })
	}
}

// noteAttempt keeps what a change takes out of the record: the attempt before,
// and the reason of the last one where the record ends for another.
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

// counts are how many records are in each state, by its code.
type counts [len(states)]uint64

var countsKey = []byte("counts")

func countChanges(tx *store.Tx, changes []change) error {
	var delta counts
	for _, c := range changes {
		if c.now != nil {
			delta[stateNumber(c.now.State)]++
		}
		if c.old != nil {
			delta[stateNumber(c.old.State)]--
		}
	}
	if delta == (counts{}) {
		return nil
	}
	sum, err := readCounts(tx)
	if err != nil {
		return ignoreDamage(err) // the next start counts anew
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
