package dispatch

import (
	"math/rand/v2"
	"time"
)

// breakerLimit is how many failures in a row open the breaker.
const breakerLimit = 5

// The interval of probes while the breaker is open: short at first, so that a receiver
// that is back gets its events at once, and longer later, to be no nuisance.
const (
	probeSoon  = 5 * time.Second
	soonFor    = 15 * time.Minute
	probeLater = time.Minute
)

// breaker decides whether the receiver is worth an attempt. Its owner's lock guards it.
type breaker struct {
	failures int       // in a row, while closed
	open     bool      // deliveries are held back
	since    time.Time // when it opened
	probeAt  time.Time // when open: no probe before this time
	probing  uint64    // when open: the probe in flight, 0 for none
	sentAt   time.Time // when that was sent
	number   uint64    // of the last probe
	answers  bool      // the last probe failed with an answer, so there is a receiver

	// A detour closed the breaker, and the entries that this released soon opened it
	// again: the entries that were probed first are taken for such that no receiver
	// accepts.
	wary     bool
	detoured time.Time // when a detour last closed it
}

// allows reports whether a delivery may be sent now. If the pause forbids it, again is
// the time to ask once more; again is zero while a probe is in flight.
func (b *breaker) allows(now time.Time) (ok bool, again time.Time) {
	switch {
	case !b.open:
		return true, time.Time{}
	case b.probing != 0:
		return false, time.Time{}
	default:
		return !now.Before(b.probeAt), b.probeAt
	}
}

// sent notes that a delivery is sent. It returns the probe's number, or 0 if the delivery
// is not a probe.
func (b *breaker) sent(now time.Time) (probe uint64) {
	if !b.open {
		return 0
	}
	b.number++
	b.probing, b.sentAt = b.number, now
	return b.probing
}

// detour reports whether the next probe should be another entry than the oldest of its
// batch. If the receiver cannot accept any of the oldest entries, probes with them would
// never show that it accepts others. If it answers and has refused the first entries for
// long, every second probe is a detour.
func (b *breaker) detour(now time.Time) bool {
	return b.open && b.answers && now.Sub(b.since) >= soonFor && b.number%2 == 1
}

// withdrawn notes that a delivery was not attempted after all, and reports whether it was
// the current probe.
func (b *breaker) withdrawn(probe uint64) bool {
	if probe == 0 || probe != b.probing {
		return false
	}
	b.probing = 0
	return true
}

// result notes how a delivery ended. A failure of a delivery that was in flight when the
// breaker opened adds no information. Any answer that is not a failure of the receiver
// closes the breaker.
func (b *breaker) result(o Outcome, f flight, now time.Time) {
	awaited := b.withdrawn(f.probe)
	switch {
	case !o.Down() && b.open && f.detour:
		*b = breaker{number: b.number, since: b.since, detoured: now}
	case !o.Down():
		*b = breaker{number: b.number, since: b.since, detoured: b.detoured}
	case awaited:
		b.answers = o.Err == nil
		b.plan(b.sentAt, o, now)
	case !b.open:
		if b.failures++; b.failures >= breakerLimit {
			b.trip(now)
			b.plan(now, o, now)
		}
	}
}

// trip opens the breaker. Soon after a detour, this continues the same outage.
func (b *breaker) trip(now time.Time) {
	wary := now.Sub(b.detoured) < probeLater
	since := now
	if wary {
		since = b.since
	}
	*b = breaker{open: true, since: since, number: b.number, wary: wary, answers: wary}
}

// plan sets the time of the next probe: one interval after the last one, and not before
// the time that the receiver asked for.
func (b *breaker) plan(last time.Time, o Outcome, now time.Time) {
	pause := probeSoon
	if now.Sub(b.since) >= soonFor {
		pause = probeLater
	}
	pause += rand.N(pause/10 + 1)
	b.probeAt = last.Add(pause)
	if asked := now.Add(o.RetryAfter); asked.After(b.probeAt) {
		b.probeAt = asked
	}
}
