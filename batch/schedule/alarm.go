package schedule

import (
	"sync"
	"time"
)

// AlarmStep is the longest sleep of an alarm before it reads the clock
// again, and so how late it can be. A timer counts the time that the machine
// was awake: one set for three weeks is late by every hour of suspension and
// wrong by every correction of the clock, while a window means the clock on the
// wall. Reading the clock costs little; it reads no store.
const AlarmStep = time.Minute

// drift is the change of the wall clock that goes unnoticed.
const drift = 10 * time.Millisecond

// Alarm calls ring in a goroutine of its own, once, when the clock shows at or
// later. It does so when the clock is set forward, and not before when it is
// set back.
type Alarm struct {
	at   time.Time
	from time.Time // when it was set, if it also rings once the clock is set; else zero
	now  func() time.Time
	ring func()

	mu    sync.Mutex
	timer *time.Timer
	done  bool // rung or stopped
}

// NewAlarm sets an alarm; now is time.Now but for tests. An at that came from
// time.Now is measured by the time awake, one that was parsed or stored by the
// clock.
func NewAlarm(at time.Time, now func() time.Time, ring func()) *Alarm {
	return (&Alarm{at: at, now: now, ring: ring}).begin()
}

// NewLook returns an alarm for the check of due work: it rings at that
// time, and within a minute when the clock was set, for what came next before
// that need not be what comes next now.
func NewLook(at time.Time, now func() time.Time, ring func()) *Alarm {
	return (&Alarm{at: at, from: now(), now: now, ring: ring}).begin()
}

func (a *Alarm) begin() *Alarm {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(min(a.at.Sub(a.now()), AlarmStep), a.look)
	return a
}

func (a *Alarm) look() {
	if a.due() {
		a.ring()
	}
}

// due reports whether it is time, and continues to sleep otherwise.
func (a *Alarm) due() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return false
	}
	now := a.now()
	if left := a.at.Sub(now); left > 0 && !a.wasSet(now) {
		a.timer.Reset(min(left, AlarmStep))
		return false
	}
	a.done = true
	return true
}

// wasSet reports whether the clock was set since the alarm was.
func (a *Alarm) wasSet(now time.Time) bool {
	if a.from.IsZero() {
		return false
	}
	awake, wall := now.Sub(a.from), now.Round(0).Sub(a.from.Round(0))
	return (wall - awake).Abs() > drift
}

// Stop keeps the alarm from ringing, unless it rings already. It may be called
// again, and on nil.
func (a *Alarm) Stop() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
	a.timer.Stop()
}
