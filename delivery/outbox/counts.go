package outbox

import (
	"encoding/binary"
	"fmt"
	"time"

	"postern/store"
)

// Counts is the number of entries in each state.
type Counts struct {
	Pending, Delivered, Disabled int
}

// Of returns the number of entries in a state, or of all entries for the empty state.
func (c Counts) Of(s State) int {
	switch s {
	case Pending:
		return c.Pending
	case Delivered:
		return c.Delivered
	case Disabled:
		return c.Disabled
	default:
		return c.Pending + c.Delivered + c.Disabled
	}
}

// add adds n entries to a state.
func (c *Counts) add(s State, n int) {
	switch s {
	case Pending:
		c.Pending += n
	case Delivered:
		c.Delivered += n
	case Disabled:
		c.Disabled += n
	}
}

func (c *Counts) sum(d Counts) {
	c.Pending += d.Pending
	c.Delivered += d.Delivered
	c.Disabled += d.Disabled
}

// Counts returns the number of entries in each state, without reading the file.
func (o *Outbox) Counts() Counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counts
}

// Backlog returns the number of pending entries and when the oldest of them was made, zero if
// there is none. Its cost does not grow with the backlog.
func (o *Outbox) Backlog() (pending int64, oldest time.Time, err error) {
	if pending = int64(o.Counts().Pending); pending <= 0 {
		return 0, time.Time{}, nil
	}
	err = o.store.View(func(tx *store.Tx) error {
		entries, err := List(tx, Query{State: Pending, Limit: 1})
		if len(entries) > 0 {
			oldest = entries[0].CreatedAt
		}
		return err
	})
	if err != nil {
		return pending, time.Time{}, fmt.Errorf("read the oldest outbox entry: %w", err)
	}
	return pending, oldest, nil
}

// count uses the numbers of entries that the last stop left, or counts them.
func (o *Outbox) count() error {
	of := []string{stateRows}
	raw, known := o.store.Left("outbox", of)
	if known {
		o.counts, known = decodeCounts(raw)
	}
	err := o.store.View(func(tx *store.Tx) (err error) {
		if o.foundNewest, err = Newest(tx); err != nil || known {
			return err
		}
		o.counts, err = countStates(tx)
		return err
	})
	if err != nil {
		return err
	}
	o.store.AtStop("outbox", of, func() []byte { return o.Counts().encode() })
	return nil
}

func (c Counts) encode() []byte {
	return store.Key(max(0, c.Pending), max(0, c.Delivered), max(0, c.Disabled))
}

func decodeCounts(raw []byte) (c Counts, ok bool) {
	if len(raw) != 3*8 {
		return c, false
	}
	at := func(i int) int { return int(binary.BigEndian.Uint64(raw[8*i:])) }
	return Counts{Pending: at(0), Delivered: at(1), Disabled: at(2)}, true
}

// countStates counts the entries of each state.
func countStates(tx *store.Tx) (counts Counts, err error) {
	err = tx.Walk(stateRows, store.Range{}, func(k []byte) (bool, error) {
		for _, state := range []State{Pending, Delivered, Disabled} {
			if k[0] == state.prefix() {
				counts.add(state, 1)
			}
		}
		return true, nil
	})
	return counts, err
}
