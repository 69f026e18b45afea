package store

import (
	"log/slog"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A clock that is wrong by weeks makes everything look old. Before the time of day decides what
// is removed, the store compares it with the last one that it trusted, which is kept in the file.
const (
	clockLeap  = 48 * time.Hour // how far ahead the clock may be after a stop
	clockTrial = 24 * time.Hour // how long a clock that is further ahead has to run before it is trusted
	clockSaved = time.Hour      // how old the kept time may be while commits are made
)

var metaClock = []byte("clock")

// clock is the time of day that the store trusts.
type clock struct {
	log *slog.Logger

	mu       sync.Mutex
	known    time.Time     // the latest trusted time of day; zero: none
	seen     time.Duration // when the last look was, by the monotonic clock
	distrust bool
	since    time.Duration // when distrust began
	saved    time.Time     // the time in the file
}

// open takes the time that the file keeps.
func (c *clock) open(db *bolt.DB) error {
	return db.View(func(tx *bolt.Tx) error {
		value, ok := verify(metaClock, tx.Bucket([]byte(metaBucket.Name)).Get(metaClock))
		if ok && c.known.UnmarshalBinary(value) == nil { // an unreadable time counts as none
			c.saved = c.known
		}
		return nil
	})
}

// trusted compares the time of day with the known one. running is the monotonic clock since the file was
// opened. While the clock is trusted, the known time goes on with the monotonic clock, so that only a
// jump of the time of day is noticed.
func (c *clock) trusted(now time.Time, running time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.look(now, running)
}

func (c *clock) look(now time.Time, running time.Duration) bool {
	now = now.Round(0)
	if c.known.IsZero() {
		c.known = now
	}
	if !c.distrust {
		c.known = c.known.Add(running - c.seen)
	}
	c.seen = running
	switch ahead := now.Sub(c.known); {
	case ahead <= clockLeap:
		if c.distrust {
			c.log.Info("the clock agrees with the data file again; records are removed at the end of their retention again")
		}
		c.distrust = false
	case !c.distrust:
		c.distrust, c.since = true, running
		c.log.Warn("the clock is far ahead of the last time in the data file: nothing is removed for its age until the clock is corrected or has run for a day",
			"clock", now.UTC(), "data_file", c.known.UTC())
	case running-c.since >= clockTrial:
		c.distrust = false
	}
	if !c.distrust && now.After(c.known) {
		c.known = now
	}
	return !c.distrust
}

// keep writes the trusted time into a commit that is made anyway, once an hour.
func (c *clock) keep(tx *bolt.Tx, now time.Time, running time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.look(now, running) || c.known.Sub(c.saved) < clockSaved {
		return nil
	}
	value, err := c.known.UTC().MarshalBinary()
	if err != nil {
		return err
	}
	if err := tx.Bucket([]byte(metaBucket.Name)).Put(metaClock, seal(metaClock, value)); err != nil {
		return err
	}
	c.saved = c.known
	return nil
}

// TrustsClock reports whether the time of day may decide what is removed: it is false for a day
// after the clock has jumped ahead by more than 48 hours, in this run or since the last one, unless
// it is corrected before.
func (s *Store) TrustsClock() bool { return s.clock.trusted(s.opts.Now(), s.running()) }

// running is how long the file has been open.
func (s *Store) running() time.Duration { return s.opts.Now().Sub(s.opened) }
