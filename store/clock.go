package store

import (
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A clock that is wrong by weeks makes every record look old. Before the time of day
// decides what is removed, the store compares it with the last trusted time, which is
// kept in the file. A clock that is behind by as much does not date records: see
// [Tx.Now].
const (
	clockLeap  = 48 * time.Hour // how far ahead the clock may be after a stop
	clockTrial = 24 * time.Hour // how long a clock that is further ahead must run before it is trusted
	clockSaved = time.Minute    // the age at which a commit writes the times again
	clockSlack = time.Minute    // smaller steps back are ignored
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
	seen     time.Duration // when the clock was last read, by the monotonic clock
	distrust bool
	since    time.Duration // when distrust began
	behind   bool          // the time of day is far behind the known time and is not used
	lag      time.Duration // when the clock was first behind
	wrong    atomic.Bool   // the time of day dates no record, for readers
	floor    atomic.Int64  // no record is dated before it, in Unix milliseconds; see [Store.Lead]
	saved    time.Time     // the time in the file

	// high is the latest trusted time of day. It advances with the monotonic clock, so
	// setting the clock back does not lower it. former is the known time as it would be
	// without a clock that was ahead and became trusted because it ran long enough; zero:
	// there was none.
	high, former time.Time

	// The steady time is steady plus the time on the monotonic clock since the file was
	// opened, see [Tx.Steady].
	steady      time.Time     // when the file was opened; zero: not known yet
	steadySaved time.Duration // when it was last written to the file, by the monotonic clock; negative: never
}

// takeOver reads the times that the owner before this process left.
func (c *clock) takeOver(db *bolt.DB, now time.Time, running time.Duration, stamp time.Time) error {
	c.mu.Lock()
	c.known, c.high, c.former, c.saved, c.seen = time.Time{}, time.Time{}, time.Time{}, time.Time{}, running
	c.distrust, c.behind = false, false
	c.mu.Unlock()
	c.notBefore(stamp)
	return c.open(db, now, running)
}

// notBefore has date return no time before t.
func (c *clock) notBefore(t time.Time) {
	if ms := t.UnixMilli(); ms > c.floor.Load() {
		c.floor.Store(ms)
	}
}

// raised returns t, or the floor if t is before it.
func (c *clock) raised(t time.Time) time.Time {
	if floor := c.floor.Load(); floor != 0 && t.UnixMilli() < floor {
		return time.UnixMilli(floor)
	}
	return t
}

// open reads the times in the file. now is the time of day, at a moment of the monotonic
// clock.
func (c *clock) open(db *bolt.DB, now time.Time, running time.Duration) error {
	return db.View(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte(metaBucket.Name))
		value, ok := verify(metaClock, meta.Get(metaClock))
		if ok && c.known.UnmarshalBinary(value) == nil { // an unreadable time counts as none
			c.saved = c.known
		}
		var st steadyState
		if value, ok = verify(metaSteady, meta.Get(metaSteady)); !ok || json.Unmarshal(value, &st) != nil {
			st = steadyState{}
		}
		c.begin(now, st)
		c.steady = c.steady.Add(-running)
		_ = c.date(now, running)
		return nil
	})
}

// steadyState is what the file keeps of the steady time, as Unix milliseconds of one
// moment.
type steadyState struct {
	Steady int64 `json:"steady"`
	High   int64 `json:"high"`
	Former int64 `json:"former,omitempty"`
}

// begin sets the steady time at the start of a run. st is the state in the file, or the
// zero value if there is none. The steady time advances by as much as the clock shows
// beyond the latest time that it had shown. If that is more than clockLeap, the clock was
// set or the program was stopped for long, and the steady time does not advance. It never
// goes back: what was made under a clock that was behind would otherwise end early once
// the clock is right.
func (c *clock) begin(now time.Time, st steadyState) {
	now = now.Round(0).UTC()
	c.steady, c.high, c.steadySaved = now, now, -1
	if st == (steadyState{}) {
		return
	}
	c.steady, c.high = time.UnixMilli(st.Steady).UTC(), time.UnixMilli(st.High).UTC()
	if st.Former != 0 {
		c.former = time.UnixMilli(st.Former).UTC()
	}
	if stopped := now.Sub(c.high); stopped > 0 && stopped <= clockLeap {
		c.steady, c.high = c.steady.Add(stopped), now
		if !c.former.IsZero() {
			c.former = c.former.Add(stopped)
		}
	}
}

// steadyAt returns the steady time at a moment of the monotonic clock.
func (c *clock) steadyAt(running time.Duration) time.Time { return c.steady.Add(running) }

// keepSteady writes the steady time into a commit that is made anyway, once a minute;
// force writes it in any case. The caller holds c.mu and has read the clock.
func (c *clock) keepSteady(put func(key, value []byte) error, running time.Duration, force bool) error {
	if !force && c.steadySaved >= 0 && running-c.steadySaved < clockSaved {
		return nil
	}
	st := steadyState{Steady: c.steadyAt(running).UnixMilli(), High: c.high.UnixMilli()}
	if !c.former.IsZero() {
		st.Former = c.former.UnixMilli()
	}
	value, err := json.Marshal(st)
	if err != nil {
		return err
	}
	c.steadySaved = running
	return put(metaSteady, value)
}

// trusted compares the time of day with the known time. running is the time on the
// monotonic clock since the file was opened. While the clock is trusted, the known time
// advances with the monotonic clock, so that only a jump of the time of day is noticed.
func (c *clock) trusted(now time.Time, running time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.look(now, running)
}

func (c *clock) look(now time.Time, running time.Duration) bool {
	now = now.Round(0)
	c.goOn(now, running)
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
		c.distrust, c.former, c.high, c.steadySaved = false, c.high, now, -1
	}
	if !c.distrust && c.known.Sub(now) <= clockLeap {
		c.known = now
	}
	if !c.distrust && now.After(c.high) {
		c.high = now
	}
	c.lookBehind(now, running)
	return !c.distrust
}

// goOn advances the times by the monotonic clock. A clock that shows the time it would
// have shown without the one that became trusted counts as corrected.
func (c *clock) goOn(now time.Time, running time.Duration) {
	if c.known.IsZero() {
		c.known = now
	}
	if c.high.IsZero() {
		c.high = c.known
	}
	went := max(0, running-c.seen)
	c.seen, c.high = running, c.high.Add(went)
	if !c.distrust {
		c.known = c.known.Add(went)
	}
	if c.former.IsZero() {
		return
	}
	c.former = c.former.Add(went)
	if c.known.Sub(now) > clockLeap && now.Sub(c.former).Abs() <= clockLeap {
		c.log.Info("the clock was corrected; the data file goes by it again", "clock", now.UTC(), "data_file", c.known.UTC())
		c.known, c.high, c.former, c.steadySaved = now, now, time.Time{}, -1
	}
}

// lookBehind notices a clock that is far behind the known time. Records dated by it would
// look old once it is corrected.
func (c *clock) lookBehind(now time.Time, running time.Duration) {
	switch far := c.known.Sub(now) > clockLeap; {
	case !far:
		c.behind = false
	case !c.behind:
		c.behind, c.lag = true, running
		c.log.Warn("the clock is far behind the last time in the data file: records get the time that follows from the data file until the clock is corrected or has run for a day",
			"clock", now.UTC(), "data_file", c.known.UTC())
	case running-c.lag >= clockTrial:
		c.behind, c.known, c.high = false, now, now
	}
	c.wrong.Store(c.behind || c.ahead())
}

// ahead reports whether the time of day is not trusted and must not date the records of a
// cell: no later record would be dated before them.
func (c *clock) ahead() bool { return c.distrust && c.floor.Load() != 0 }

// date returns the time that dates the records of a moment: the time of day, or the time that
// follows from the file if the time of day is far behind or, in a cell, far ahead.
func (c *clock) date(now time.Time, running time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.look(now, running); {
	case c.behind:
		now = c.known
	case c.ahead():
		now = c.high
	}
	return c.raised(now)
}

// dateOfView is like date but does not read the clock: it uses the result of the last
// commit.
func (c *clock) dateOfView(now time.Time, running time.Duration) time.Time {
	if !c.wrong.Load() {
		return c.raised(now)
	}
	return c.date(now, running)
}

// keep writes the times into a commit that is made anyway, once a minute; force writes
// them in any case.
func (c *clock) keep(put func(key, value []byte) error, now time.Time, running time.Duration, force bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	trusted := c.look(now, running)
	if err := c.keepSteady(put, running, force); err != nil {
		return err
	}
	if !trusted || !force && c.known.Sub(c.saved).Abs() < clockSaved {
		return nil
	}
	value, err := c.known.UTC().MarshalBinary()
	if err != nil {
		return err
	}
	c.saved = c.known
	return put(metaClock, value)
}

// unsaved notes that the commit with the times failed.
func (c *clock) unsaved() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saved, c.steadySaved = time.Time{}, -1
}

// TrustsClock reports whether the time of day may decide what is removed. It returns
// false for a day after the clock jumped ahead by more than 48 hours, in this run or
// since the last one, unless the clock is corrected before.
func (s *Store) TrustsClock() bool { return s.clock.trusted(s.opts.Now(), s.running()) }

// Now returns the current time as transactions see it, see [Tx.Now], but with the
// monotonic reading of the clock where that is right.
func (s *Store) Now() time.Time {
	now := s.opts.Now()
	return s.clock.dateOfView(now, now.Sub(s.opened))
}

// Steady returns the time by which lives of limited length are counted: see [Tx.Steady].
func (s *Store) Steady() time.Time { return s.clock.steadyAt(s.running()).Truncate(time.Millisecond) }

// ClockWentBack reports whether the clock shows a time more than a minute before one that
// it showed earlier, in this run or a previous one. The caller must then not wait for a
// time that was set before.
func (s *Store) ClockWentBack() bool {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	now := s.opts.Now()
	s.clock.look(now, now.Sub(s.opened))
	return now.Round(0).Before(s.clock.high.Add(-clockSlack))
}

// running returns how long the file has been open.
func (s *Store) running() time.Duration { return s.opts.Now().Sub(s.opened) }
