package delivery

import (
	"cmp"
	"errors"
	"slices"

	"postern/event"
	"postern/store"
)

// together is what the changes of one commit make of rows that they share:
// blocks of the digest, the numbers by state and those of what waits. It is
// written once, at the commit's end, or when somebody reads such a row before.
type together struct {
	l        *Ledger
	rows     []digestChange
	counts   counts             // by how many there are more
	backlogs map[string]Backlog // by key, how much more of it waits
	told     []Changed          // a record that goes is none: nobody waits to hear that something old is not kept any more
}

// digestChange is a record with this id as it is now, nil when it goes.
type digestChange struct {
	id  uint64
	now *Record
}

type togetherKey struct{}

// together returns what tx shares with the others of its commit.
func (l *Ledger) together(tx *store.Tx) *together {
	t, _ := tx.Shared(togetherKey{}, func() store.Shared { return &together{l: l} }).(*together)
	return t
}

// settleShared writes what this transaction, or another of its commit, has not written yet: who
// reads a row that many share sees all changes.
func settleShared(tx *store.Tx) error {
	if t, some := tx.Shared(togetherKey{}, nil).(*together); some {
		return t.Finish(tx)
	}
	return nil
}

// note adds the change of a record.
func (t *together) note(c change) {
	t.rows = append(t.rows, digestChange{c.record().ID, c.now})
	if c.now != nil {
		t.counts[stateNumber(c.now.State)]++
		if t.l.cfg.Changed != nil {
			t.told = append(t.told, Changed{ID: c.now.ID, Instance: c.now.Name, Global: c.now.Lane.Target == event.TargetGlobal})
		}
	}
	if c.old != nil {
		t.counts[stateNumber(c.old.State)]--
	}
}

// wait notes how much more waits under a key.
func (t *together) wait(key []byte, count int, bytes int64) {
	if t.backlogs == nil {
		t.backlogs = map[string]Backlog{}
	}
	b := t.backlogs[string(key)]
	b.Pending += count
	b.Bytes += bytes
	t.backlogs[string(key)] = b
}

// Finish implements [store.Shared].
func (t *together) Finish(tx *store.Tx) error {
	now := *t
	*t = together{l: t.l} // what is read from here on is not to be written again
	if len(now.told) > 0 {
		tx.After(func() { now.l.cfg.Changed(now.told) })
	}
	slices.SortStableFunc(now.rows, func(a, b digestChange) int { return cmp.Compare(a.id, b.id) })
	err := errors.Join(now.l.key.edit(tx, now.rows), countMore(tx, now.counts))
	for key, more := range now.backlogs {
		err = errors.Join(err, now.l.waitMore(tx, []byte(key), more.Pending, more.Bytes))
	}
	return err
}
