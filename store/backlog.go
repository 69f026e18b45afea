package store

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// OutboxCounts is how many entries the outbox has in each state.
type OutboxCounts struct {
	Pending, Delivered, Disabled int
}

// Of returns the number of entries in a state, of all for the empty one.
func (c OutboxCounts) Of(s OutboxState) int {
	switch s {
	case OutboxPending:
		return c.Pending
	case OutboxDelivered:
		return c.Delivered
	case OutboxDisabled:
		return c.Disabled
	default:
		return c.Pending + c.Delivered + c.Disabled
	}
}

// add counts n entries more in a state.
func (c *OutboxCounts) add(s OutboxState, n int) {
	switch s {
	case OutboxPending:
		c.Pending += n
	case OutboxDelivered:
		c.Delivered += n
	case OutboxDisabled:
		c.Disabled += n
	}
}

func (c *OutboxCounts) sum(d OutboxCounts) {
	c.Pending += d.Pending
	c.Delivered += d.Delivered
	c.Disabled += d.Disabled
}

// backlog counts the outbox. It is read from the file once, at open, and then
// follows the commits.
type backlog struct {
	mu     sync.Mutex
	counts OutboxCounts
}

func (b *backlog) add(d OutboxCounts) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts.sum(d)
}

// OutboxCounts returns how many entries are in each state. It reads nothing of
// the file.
func (s *Store) OutboxCounts() OutboxCounts {
	s.backlog.mu.Lock()
	defer s.backlog.mu.Unlock()
	return s.backlog.counts
}

// Backlog returns how many outbox entries are pending and when the oldest of
// them was made; zero when there is none. Its cost does not grow with the
// backlog.
func (s *Store) Backlog() (pending int64, oldest time.Time, err error) {
	if pending = int64(s.OutboxCounts().Pending); pending <= 0 {
		return 0, time.Time{}, nil
	}
	err = s.View(func(tx *Tx) error {
		entries, err := tx.OutboxList(OutboxQuery{State: OutboxPending, Limit: 1})
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

// openOutbox takes the numbers of entries that the last stop left, or counts them.
func (s *Store) openOutbox() (err error) {
	of := []string{outboxStates}
	raw, known := s.Left("outbox", of)
	if known {
		s.backlog.counts, known = decodeCounts(raw)
	}
	if !known {
		if s.backlog.counts, err = countOutbox(s.db); err != nil {
			return err
		}
	}
	s.AtStop("outbox", of, func() []byte { return s.OutboxCounts().encode() })
	return s.db.View(func(tx *bolt.Tx) error {
		s.foundNewest = tx.Bucket([]byte(outboxEntries)).Sequence()
		return nil
	})
}

func (c OutboxCounts) encode() []byte {
	return Key(max(0, c.Pending), max(0, c.Delivered), max(0, c.Disabled))
}

func decodeCounts(raw []byte) (c OutboxCounts, ok bool) {
	if len(raw) != 3*8 {
		return c, false
	}
	at := func(i int) int { return int(binary.BigEndian.Uint64(raw[8*i:])) }
	return OutboxCounts{Pending: at(0), Delivered: at(1), Disabled: at(2)}, true
}

// countOutbox counts the entries of each state.
func countOutbox(db *bolt.DB) (counts OutboxCounts, err error) {
	err = db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket([]byte(outboxStates)).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			for _, state := range []OutboxState{OutboxPending, OutboxDelivered, OutboxDisabled} {
				if k[0] == state.prefix() {
					counts.add(state, 1)
				}
			}
		}
		return nil
	})
	return counts, err
}
