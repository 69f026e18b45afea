package dispatch

import (
	"sync"
	"sync/atomic"
	"time"

	"postern/delivery"
	"postern/store"
)

// alarm is the steady time at which the next delivery expires.
type alarm struct {
	mu     sync.Mutex
	at     time.Time // zero: none expires
	nudges chan struct{}
	ticks  atomic.Int64 // Unix nanoseconds of the last check
}

func newAlarm() *alarm { return &alarm{nudges: make(chan struct{}, 1)} }

// look requests a check of the file now.
func (a *alarm) look() { a.set(time.Unix(0, 1)) }

// set moves the alarm to a time, unless it is set for an earlier one.
func (a *alarm) set(at time.Time) {
	a.mu.Lock()
	sooner := !at.IsZero() && (a.at.IsZero() || at.Before(a.at))
	if sooner {
		a.at = at
	}
	a.mu.Unlock()
	if !sooner {
		return
	}
	select {
	case a.nudges <- struct{}{}:
	default:
	}
}

// due reports whether the alarm has gone off at a steady time, and then clears it;
// otherwise it returns how long to wait.
func (a *alarm) due(now time.Time) (off bool, pause time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ticks.Store(time.Now().UnixNano())
	switch {
	case a.at.IsZero():
		return false, idle
	case a.at.After(now):
		return false, min(idle, a.at.Sub(now))
	}
	a.at = time.Time{}
	return true, 0
}

// expireStep bounds the deliveries that expire in one commit.
const expireStep = 500

// expire ends deliveries that are past their maxAge. Expiry is an event of its own, whether or
// not an attempt would be due then. The alarm is set for the earliest in the file.
func (r *Relay) expire() {
	r.expiry.look()
	for {
		off, pause := r.expiry.due(r.cfg.Store.Steady())
		if off {
			pause = r.expireNow()
		}
		timer := time.NewTimer(pause)
		select {
		case <-r.expiry.nudges:
		case <-timer.C:
		case <-r.reading.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// firstLook bounds how long a start waits for deliveries that expired before it.
const firstLook = 500 * time.Millisecond

// expireFirst ends the deliveries that expired while the program did not run, before
// anything is sent. If there are very many, it leaves the rest to expire; load sends none
// of them.
func (r *Relay) expireFirst() {
	for begin := time.Now(); time.Since(begin) < firstLook; {
		if r.expireNow() > 0 {
			return
		}
		if off, _ := r.expiry.due(r.cfg.Store.Steady()); !off {
			return
		}
	}
}

// expireNow ends the deliveries that have expired, and returns the time until the next
// check.
func (r *Relay) expireNow() time.Duration {
	var ended []delivery.Ended
	var next time.Time
	now := r.cfg.Store.Steady()
	err := r.cfg.Store.Update(r.reading, func(tx *store.Tx) (err error) {
		ended, next, err = r.cfg.Ledger.Expire(tx, now, expireStep)
		return err
	})
	if err != nil {
		if r.reading.Err() == nil {
			r.log.Error("expired deliveries not ended, trying again", "error", err)
		}
		r.expiry.set(now.Add(recordPause))
		return recordPause
	}
	r.Ended(ended)
	r.expiry.set(next)
	return 0
}
