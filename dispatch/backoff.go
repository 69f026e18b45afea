package dispatch

import (
	"math/rand/v2"
	"time"
)

// pauses are the times between attempts; the last one repeats.
var pauses = [...]time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
}

// longestPause is the most that backoff returns, with some slack: a due time
// further away was written under another clock.
const longestPause = time.Hour + time.Hour/10 + time.Minute

// backoff is the pause after the given number of failed attempts, from 1: the
// table's value plus up to a tenth of it, never less.
func backoff(failures int) time.Duration {
	base := pauses[min(max(failures, 1), len(pauses))-1]
	return base + time.Duration(rand.Int64N(int64(base)/10+1))
}

// breakerLimit is how many failures in a row open the breaker.
const breakerLimit = 5

// breaker tells whether the receiver is worth trying. It is guarded by its
// owner's lock.
type breaker struct {
	failures int       // in a row, while closed
	open     bool      // deliveries are held back
	probes   int       // failed probes since it opened
	probeAt  time.Time // when open: the next probe not before then
	probing  uint64    // when open: the probe on its way, 0 for none
	number   uint64    // of the last probe
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
func (b *breaker) sent() (probe uint64) {
	if !b.open {
		return 0
	}
	b.number++
	b.probing = b.number
	return b.probing
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
func (b *breaker) result(o Outcome, probe uint64, now time.Time) {
	awaited := b.withdrawn(probe)
	switch {
	case !o.Down():
		*b = breaker{number: b.number}
	case awaited:
		b.probes++
		b.probeAt = now.Add(max(backoff(b.probes+1), o.RetryAfter))
	case !b.open:
		if b.failures++; b.failures >= breakerLimit {
			*b = breaker{open: true, number: b.number, probeAt: now.Add(max(backoff(1), o.RetryAfter))}
		}
	}
}
