package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// backlog is what the outbox still has to deliver.
type backlog struct {
	pending atomic.Int64

	mu   sync.Mutex
	mark uint64 // every entry up to this sequence is settled
}

// backlogStep is how many settled entries one call of Backlog passes over.
const backlogStep = 2000

// Backlog returns how many outbox entries are pending and when the oldest of
// them was made; zero when there is none. Its cost does not grow with the
// backlog. After many entries were settled out of order, the oldest may be told
// as older than it is for some calls.
func (s *Store) Backlog() (pending int64, oldest time.Time, err error) {
	if pending = s.backlog.pending.Load(); pending <= 0 {
		return 0, time.Time{}, nil
	}
	s.backlog.mu.Lock()
	defer s.backlog.mu.Unlock()
	err = s.View(func(tx *Tx) error {
		entries, err := tx.OutboxAfter(s.backlog.mark, backlogStep)
		for _, e := range entries {
			oldest = e.CreatedAt
			if e.State == OutboxPending {
				return err
			}
			s.backlog.mark = e.Seq
		}
		return err
	})
	if err != nil {
		return pending, time.Time{}, fmt.Errorf("read the oldest outbox entry: %w", err)
	}
	return pending, oldest, nil
}

// countPending counts the due index, once at open.
func countPending(db *bolt.DB) (n int64, err error) {
	err = db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(outboxDue))
		if b == nil {
			return nil
		}
		c := b.Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			n++
		}
		return nil
	})
	return n, err
}
