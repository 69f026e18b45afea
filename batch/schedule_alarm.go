package batch

import (
	"sync"
	"time"
)

// alarmStep is how long an alarm sleeps at most before it reads the clock
// again, and so how late it can be. A timer counts the time that the machine
// was awake: one set for three weeks is late by every hour of suspension and
// wrong by every correction of the clock, while a window means the clock on the
// wall. A look at the clock costs nothing, no store is read for it.
const alarmStep = time.Minute

// alarm calls ring in a goroutine of its own, once, when the clock shows at or
// later. It does so when the clock is set forward, and not before when it is
// set back.
type alarm struct {
	at   time.Time
	now  func() time.Time
	ring func()

	mu    sync.Mutex
	timer *time.Timer
	done  bool // rung or stopped
}

// newAlarm sets an alarm; now is time.Now but for tests. An at that came from
// time.Now is measured by the time awake, one that was parsed or stored by the
// clock.
func newAlarm(at time.Time, now func() time.Time, ring func()) *alarm {
	a := &alarm{at: at, now: now, ring: ring}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(min(at.Sub(now()), alarmStep), a.look)
	return a
}

func (a *alarm) look() {
	if a.due() {
		a.ring()
	}
}

// due reports whether it is time, and sleeps on when it is not.
func (a *alarm) due() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return false
	}
	left := a.at.Sub(a.now())
	if left > 0 {
		a.timer.Reset(min(left, alarmStep))
		return false
	}
	a.done = true
	return true
}

// stop keeps the alarm from ringing, unless it rings already. It may be called
// again, and on nil.
func (a *alarm) stop() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
	a.timer.Stop()
}
