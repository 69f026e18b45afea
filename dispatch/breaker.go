package dispatch

import (
	"math/rand/v2"
	"time"
)

// breakerLimit is how many failures in a row open the breaker.
const breakerLimit = 5

// The pace of probes while the breaker is open: soon at first, so that a
// receiver that is back hears it at once, and later not to be a nuisance.
const (
	probeSoon  = 5 * time.Second
	soonFor    = 15 * time.Minute
	probeLater = time.Minute
)

// breaker tells whether the receiver is worth trying. It is guarded by its
// owner's lock.
type breaker struct {
	failures int       // in a row, while closed
	open     bool      // deliveries are held back
	since    time.Time // when it opened
	probeAt  time.Time // when open: the next probe not before then
	probing  uint64    // when open: the probe on its way, 0 for none
	sentAt   time.Time // when it went out
	number   uint64    // of the last probe
	answers  bool      // the last probe failed by an answer, so there is a receiver

	// A detour closed it, and what that let out soon opened it again: the
	// entries that were probed first are held to be such as no receiver takes.
	wary     bool
	detoured time.Time // when a detour closed it last
}

// allows reports whether a delivery may go out now. When it may not because of
// the pause, again is when to ask once more; it is zero while a probe is on
// its way.
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

// sent notes that a delivery goes out. It returns the probe's number, or 0
// when the delivery is not a probe.
func (b *breaker) sent(now time.Time) (probe uint64) {
	if !b.open {
		return 0
	}
	b.number++
	b.probing, b.sentAt = b.number, now
	return b.probing
}

// detour reports whether the next probe should not be the entry that waited
// longest of its batch: when all of those are events that the receiver cannot
// take, it would never be found to accept others. It answers, and has refused
// the first ones for long, so every second probe tries another.
func (b *breaker) detour(now time.Time) bool {
	return b.open && b.answers && now.Sub(b.since) >= soonFor && b.number%2 == 1
}

// withdrawn notes that a delivery was not attempted after all, and reports
// whether it was the probe that is waited for.
func (b *breaker) withdrawn(probe uint64) bool {
	if probe == 0 || probe != b.probing {
		return false
	}
	b.probing = 0
	return true
}

// result notes how a delivery ended. Those that were on their way when the
// breaker opened say nothing new by failing; any answer that is not a failure
// of the receiver closes it.
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

// trip opens the breaker. Soon after a detour it is the same outage.
func (b *breaker) trip(now time.Time) {
	wary := now.Sub(b.detoured) < probeLater
	since := now
	if wary {
		since = b.since
	}
	*b = breaker{open: true, since: since, number: b.number, wary: wary, answers: wary}
}

// plan sets the time of the next probe: at the pace from the last one on, and
// not before the receiver asked for it.
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
