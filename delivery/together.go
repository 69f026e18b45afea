package delivery

import (
	"errors"

	"postern/event"
	"postern/store"
)

// together collects the changes that the transactions of one commit make to rows that they
// share: the numbers by state and the backlogs. They are written once,
// at the end of the commit or before such a row is read.
type together struct {
	l        *Ledger
	counts   Counts             // differences
	backlogs map[string]Backlog // differences by key
	told     []Changed          // without removed records, whose removal is not reported
}

type togetherKey struct{}

// together returns what tx shares with the other transactions of its commit.
func (l *Ledger) together(tx *store.Tx) *together {
	t, _ := tx.Shared(togetherKey{}, func() store.Shared { return &together{l: l} }).(*together)
	return t
}

// settleShared writes the collected changes of this transaction and the others of its commit,
// so that a reader of a shared row sees them.
func settleShared(tx *store.Tx) error {
	if t, some := tx.Shared(togetherKey{}, nil).(*together); some {
		return t.Finish(tx)
	}
	return nil
}

// note adds the change of a record.
func (t *together) note(c change) {
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

// wait notes a change of the backlog under a key.
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
	*t = together{l: t.l} // what is read from here on must not be written again
	if len(now.told) > 0 {
		tx.After(func() { now.l.cfg.Changed(now.told) })
	}
	err := countMore(tx, now.counts)
	for key, more := range now.backlogs {
		err = errors.Join(err, now.l.waitMore(tx, []byte(key), more.Pending, more.Bytes))
	}
	return err
}
