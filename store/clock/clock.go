// Package clock decides which time of day a data file trusts.
package clock

import (
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A clock that is wrong by weeks makes every record look old. Before the time of day
// decides what is removed, [Clock] compares it with the last trusted time, which the file
// keeps. A clock that is behind by as much does not date records.
const (
	leap    = 48 * time.Hour // how far ahead the clock may be after a stop
	trial   = 24 * time.Hour // how long a clock that is further ahead must run before it is trusted
	saveAge = time.Minute    // the age at which a commit writes the times again
	slack   = time.Minute    // smaller steps back are ignored
)

// Keys of the records that a file has of its clock.
var (
	KnownKey  = []byte("clock")
	SteadyKey = []byte("steady")
)

// Clock is the time of day that a file trusts. Its methods take the time of day, and how
// long the file has been open by the monotonic clock.
type Clock struct {
	log *slog.Logger

	mu       sync.Mutex
	known    time.Time     // the last trusted time of day; zero: none
	seen     time.Duration // when the clock was last read, by the monotonic clock
	distrust bool
	since    time.Duration // when distrust began
	behind   bool          // the time of day is far behind the known time and is not used
	lag      time.Duration // when the clock was first behind
	wrong    atomic.Bool   // the time of day dates no record, for readers
	floor    atomic.Int64  // no record is dated before it, in Unix milliseconds
	saved    time.Time     // the time in the file

	// high is the latest trusted time of day. It advances with the monotonic clock, so
	// setting the clock back does not lower it. former is the known time as it would be
	// without a clock that was ahead and became trusted because it ran long enough; zero:
	// there was none.
	high, former time.Time

	// The steady time is steady plus the time on the monotonic clock since the file was
	// opened, see [Clock.SteadyAt].
	steady      time.Time     // when the file was opened; zero: not known yet
	steadySaved time.Duration // when it was last written to the file, by the monotonic clock; negative: never
}

// New returns a clock that has seen no file.
func New(log *slog.Logger) *Clock { return &Clock{log: log} }

// TakeOver reads the times that the owner before this process left.
func (c *Clock) TakeOver(get func(key []byte) []byte, now time.Time, running time.Duration, stamp time.Time) {
	c.mu.Lock()
	c.known, c.high, c.former, c.saved, c.seen = time.Time{}, time.Time{}, time.Time{}, time.Time{}, running
	c.distrust, c.behind = false, false
	c.mu.Unlock()
	c.NotBefore(stamp)
	c.Open(get, now, running)
}

// NotBefore has Date return no time before t.
func (c *Clock) NotBefore(t time.Time) {
	if ms := t.UnixMilli(); ms > c.floor.Load() {
		c.floor.Store(ms)
	}
}

// raised returns t, or the floor if t is before it.
func (c *Clock) raised(t time.Time) time.Time {
	if floor := c.floor.Load(); floor != 0 && t.UnixMilli() < floor {
		return time.UnixMilli(floor)
	}
	return t
}

// Open reads the times in the file. get returns the value of a record, or nil if there is
// none that is whole.
func (c *Clock) Open(get func(key []byte) []byte, now time.Time, running time.Duration) {
	if c.known.UnmarshalBinary(get(KnownKey)) == nil { // an unreadable time counts as none
		c.saved = c.known
	}
	var st steadyState
	if json.Unmarshal(get(SteadyKey), &st) != nil {
		st = steadyState{}
	}
	c.begin(now, st)
	c.steady = c.steady.Add(-running)
	_ = c.Date(now, running)
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
// beyond the latest time that it had shown. If that is more than leap, the clock was
// set or the program was stopped for long, and the steady time does not advance. It never
// goes back: what was made under a clock that was behind would otherwise end early once
// the clock is right.
func (c *Clock) begin(now time.Time, st steadyState) {
	now = now.Round(0).UTC()
	c.steady, c.high, c.steadySaved = now, now, -1
	if st == (steadyState{}) {
		return
	}
	c.steady, c.high = time.UnixMilli(st.Steady).UTC(), time.UnixMilli(st.High).UTC()
	if st.Former != 0 {
		c.former = time.UnixMilli(st.Former).UTC()
	}
	if stopped := now.Sub(c.high); stopped > 0 && stopped <= leap {
		c.steady, c.high = c.steady.Add(stopped), now
		if !c.former.IsZero() {
			c.former = c.former.Add(stopped)
		}
	}
}

// SteadyAt returns the steady time at a moment of the monotonic clock.
func (c *Clock) SteadyAt(running time.Duration) time.Time { return c.steady.Add(running) }

// keepSteady writes the steady time into a commit that is made anyway, once a minute;
// force writes it in any case. The caller holds c.mu and has read the clock.
func (c *Clock) keepSteady(put func(key, value []byte) error, running time.Duration, force bool) error {
	if !force && c.steadySaved >= 0 && running-c.steadySaved < saveAge {
		return nil
	}
	st := steadyState{Steady: c.SteadyAt(running).UnixMilli(), High: c.high.UnixMilli()}
	if !c.former.IsZero() {
		st.Former = c.former.UnixMilli()
	}
	value, err := json.Marshal(st)
	if err != nil {
		return err
	}
	c.steadySaved = running
	return put(SteadyKey, value)
}

// Trusted compares the time of day with the known time. running is the time on the
// monotonic clock since the file was opened. While the clock is trusted, the known time
// advances with the monotonic clock, so that only a jump of the time of day is noticed.
func (c *Clock) Trusted(now time.Time, running time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.look(now, running)
}

func (c *Clock) look(now time.Time, running time.Duration) bool {
	now = now.Round(0)
	c.goOn(now, running)
	switch ahead := now.Sub(c.known); {
	case ahead <= leap:
		if c.distrust {
			c.log.Info("the clock agrees with the data file again; records are removed at the end of their retention again")
		}
		c.distrust = false
	case !c.distrust:
		c.distrust, c.since = true, running
		c.log.Warn("the clock is far ahead of the last time in the data file: nothing is removed for its age until the clock is corrected or has run for a day",
			"clock", now.UTC(), "data_file", c.known.UTC())
	case running-c.since >= trial:
		c.distrust, c.former, c.high, c.steadySaved = false, c.high, now, -1
	}
	if !c.distrust && c.known.Sub(now) <= leap {
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
func (c *Clock) goOn(now time.Time, running time.Duration) {
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
	if c.known.Sub(now) > leap && now.Sub(c.former).Abs() <= leap {
		c.log.Info("the clock was corrected; the data file goes by it again", "clock", now.UTC(), "data_file", c.known.UTC())
		c.known, c.high, c.former, c.steadySaved = now, now, time.Time{}, -1
	}
}

// lookBehind notices a clock that is far behind the known time. Records dated by it would
// look old once it is corrected.
func (c *Clock) lookBehind(now time.Time, running time.Duration) {
	switch far := c.known.Sub(now) > leap; {
	case !far:
		c.behind = false
	case !c.behind:
		c.behind, c.lag = true, running
		c.log.Warn("the clock is far behind the last time in the data file: records get the time that follows from the data file until the clock is corrected or has run for a day",
			"clock", now.UTC(), "data_file", c.known.UTC())
	case running-c.lag >= trial:
		c.behind, c.known, c.high = false, now, now
	}
	c.wrong.Store(c.behind || c.ahead())
}

// ahead reports whether the time of day is not trusted and must not date the records of a
// cell: no later record would be dated before them.
func (c *Clock) ahead() bool { return c.distrust && c.floor.Load() != 0 }

// Date returns the time that dates the records of a moment: the time of day, or the time that
// follows from the file if the time of day is far behind or, in a cell, far ahead.
func (c *Clock) Date(now time.Time, running time.Duration) time.Time {
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

// DateOfView is like Date but does not read the clock: it uses the result of the last
// commit.
func (c *Clock) DateOfView(now time.Time, running time.Duration) time.Time {
	if !c.wrong.Load() {
		return c.raised(now)
	}
	return c.Date(now, running)
}

// Keep writes the times into a commit that is made anyway, once a minute; force writes
// them in any case.
func (c *Clock) Keep(put func(key, value []byte) error, now time.Time, running time.Duration, force bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	trusted := c.look(now, running)
	if err := c.keepSteady(put, running, force); err != nil {
		return err
	}
	if !trusted || !force && c.known.Sub(c.saved).Abs() < saveAge {
		return nil
	}
	value, err := c.known.UTC().MarshalBinary()
	if err != nil {
		return err
	}
	c.saved = c.known
	return put(KnownKey, value)
}

// Unsaved notes that the commit with the times failed.
func (c *Clock) Unsaved() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saved, c.steadySaved = time.Time{}, -1
}

// WentBack reports whether the clock shows a time more than a minute before one that it
// showed earlier, in this run or a previous one.
func (c *Clock) WentBack(now time.Time, running time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look(now, running)
	return now.Round(0).Before(c.high.Add(-slack))
}
