package store

import (
	"encoding/binary"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A clock that is wrong by weeks makes everything look old. Before the time of day decides what
// is removed, the store compares it with the last one that it trusted, which is kept in the file.
// A clock that is behind by as much does not date records: see [Tx.Now].
const (
	clockLeap  = 48 * time.Hour // how far ahead the clock may be after a stop
	clockTrial = 24 * time.Hour // how long a clock that is further ahead has to run before it is trusted
	clockSaved = time.Hour      // how old the kept time may be while commits are made
)

var (
	metaClock  = []byte("clock")
	metaSteady = []byte("steady")
)

// clock is the time of day that the store trusts.
type clock struct {
	log *slog.Logger

	mu       sync.Mutex
	known    time.Time     // the last trusted time of day; zero: none
	seen     time.Duration // when the last look was, by the monotonic clock
	distrust bool
	since    time.Duration // when distrust began
	behind   bool          // the time of day is far behind the known one, and not used
	lag      time.Duration // when behind began
	wrong    atomic.Bool   // behind, for readers
	saved    time.Time     // the time in the file

	// The steady time is steady + the monotonic clock since the file was opened, see [Tx.Steady].
	steady      time.Time     // when the file was opened; zero: not known yet
	steadySaved time.Duration // when it was written to the file last, by the monotonic clock; negative: never
}

// open takes the times that the file keeps. now is the time of day.
func (c *clock) open(db *bolt.DB, now time.Time) error {
	return db.View(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte(metaBucket.Name))
		value, ok := verify(metaClock, meta.Get(metaClock))
		if ok && c.known.UnmarshalBinary(value) == nil { // an unreadable time counts as none
			c.saved = c.known
		}
		value, ok = verify(metaSteady, meta.Get(metaSteady))
		c.begin(now, value, ok && len(value) == 16)
		_ = c.date(now, 0)
		return nil
	})
}

// begin sets the steady time at which a run begins. value is what the file keeps: the steady
// time and the time of day of one moment, in Unix milliseconds. From then on as much steady
// time went by as the time of day says, unless that is more than clockLeap: such a clock was
// set, or the program did not run for long, and either counts as no time.
func (c *clock) begin(now time.Time, value []byte, known bool) {
	c.steady, c.steadySaved = now.Round(0).UTC(), -1
	if !known {
		return
	}
	milli := func(raw []byte) time.Time { return time.UnixMilli(int64(binary.BigEndian.Uint64(raw))).UTC() } //nolint:gosec // as it was written
	c.steady = milli(value[:8])
	if since := now.Round(0).Sub(milli(value[8:])); since.Abs() <= clockLeap {
		c.steady = c.steady.Add(since)
	}
}

// steadyAt is the steady time of a moment by the monotonic clock.
func (c *clock) steadyAt(running time.Duration) time.Time { return c.steady.Add(running) }

// keepSteady writes the steady time into a commit that is made anyway, once an hour, and with
// force in any case.
func (c *clock) keepSteady(tx *bolt.Tx, now time.Time, running time.Duration, force bool) error {
	if !force && c.steadySaved >= 0 && running-c.steadySaved < clockSaved {
		return nil
	}
	value := binary.BigEndian.AppendUint64(nil, uint64(c.steadyAt(running).UnixMilli())) //nolint:gosec // read back as it is
	value = binary.BigEndian.AppendUint64(value, uint64(now.UnixMilli()))                //nolint:gosec // the same
	c.steadySaved = running
	return tx.Bucket([]byte(metaBucket.Name)).Put(metaSteady, seal(metaSteady, value))
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
	if !c.distrust && c.known.Sub(now) <= clockLeap {
		c.known = now
	}
	c.lookBehind(now, running)
	return !c.distrust
}

// lookBehind notices a clock that is far behind the known time. What was stored under it would look
// old once it is corrected.
func (c *clock) lookBehind(now time.Time, running time.Duration) {
	switch far := c.known.Sub(now) > clockLeap; {
	case !far:
		c.behind = false
	case !c.behind:
		c.behind, c.lag = true, running
		c.log.Warn("the clock is far behind the last time in the data file: records get the time that follows from the data file until the clock is corrected or has run for a day",
			"clock", now.UTC(), "data_file", c.known.UTC())
	case running-c.lag >= clockTrial:
		c.behind, c.known = false, now
	}
	c.wrong.Store(c.behind)
}

// date is the time that records of a moment get: the time of day or, while that is far behind, the
// known time.
func (c *clock) date(now time.Time, running time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.look(now, running); c.behind {
		return c.known
	}
	return now
}

// dateOfView is date without a look at the clock: that of the last commit holds.
func (c *clock) dateOfView(now time.Time, running time.Duration) time.Time {
	if !c.wrong.Load() {
		return now
	}
	return c.date(now, running)
}

// keep writes the trusted time into a commit that is made anyway, once an hour.
func (c *clock) keep(tx *bolt.Tx, now time.Time, running time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	trusted := c.look(now, running)
	if err := c.keepSteady(tx, now, running, false); err != nil {
		return err
	}
	if since := c.known.Sub(c.saved); !trusted || since < clockSaved && since > -time.Minute {
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

// Now is the time of this moment as transactions have it, see [Tx.Now], but with the monotonic
// reading of the clock where that is right.
func (s *Store) Now() time.Time {
	now := s.opts.Now()
	return s.clock.dateOfView(now, now.Sub(s.opened))
}

// Steady is the time by which lives of limited length are counted: see [Tx.Steady].
func (s *Store) Steady() time.Time { return s.clock.steadyAt(s.running()).Truncate(time.Millisecond) }

// running is how long the file has been open.
func (s *Store) running() time.Duration { return s.opts.Now().Sub(s.opened) }
