package delivery

import (
	"cmp"
	"errors"
	"slices"

	"postern/store"
)

// together is what the changes of one transaction make of rows that they share:
// blocks of the digest, the numbers by state and those of what waits. It is
// written once, at their end.
type together struct {
	tx       *store.Tx
	changes  []change
	backlogs map[string]Backlog // by key, how much more of it waits
}

// Together has what fn changes in tx share the rows that many changes write. fn
// must not read lists, numbers or what waits.
func (l *Ledger) Together(tx *store.Tx, fn func() error) error {
	if l.shares(tx) {
		return fn()
	}
	t := &together{tx: tx, backlogs: map[string]Backlog{}}
	l.together = t // closures run one after the other; one that failed leaves what nobody asks for
	err := fn()
	l.together = nil
	if err != nil {
		return err
	}
	return l.finish(t)
}

// shares tells that tx is inside of Together.
func (l *Ledger) shares(tx *store.Tx) bool { return l.together != nil && l.together.tx == tx }

func (l *Ledger) finish(t *together) error {
	slices.SortStableFunc(t.changes, func(a, b change) int { return cmp.Compare(a.record().ID, b.record().ID) })
	err := l.noteAll(t.tx, t.changes)
	for key, more := range t.backlogs {
		err = errors.Join(err, l.waitMore(t.tx, []byte(key), more.Pending, more.Bytes))
	}
	return err
}

// wait notes how much more waits under a key.
func (t *together) wait(key []byte, count int, bytes int64) {
	b := t.backlogs[string(key)]
	b.Pending += count
	b.Bytes += bytes
	t.backlogs[string(key)] = b
}
