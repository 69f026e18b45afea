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
	failures int       // in a row
	probeAt  time.Time // when open: not before then
	probing  bool      // when open: one is on its way
}

func (b *breaker) open() bool { return b.failures >= breakerLimit }

// allows reports whether a delivery may go out now, and if not because of the
// pause, when to ask again; a zero time means that a probe is on its way.
func (b *breaker) allows(now time.Time) (ok bool, again time.Time) {
	switch {
	case !b.open():
		return true, time.Time{}
	case b.probing:
		return false, time.Time{}
	default:
		return !now.Before(b.probeAt), b.probeAt
	}
}

// sent notes that a delivery goes out.
func (b *breaker) sent() { b.probing = b.open() }

// result notes how a delivery ended. An answer that blames the event alone is
// no failure of the receiver, but no proof of its health either.
func (b *breaker) result(o Outcome, now time.Time) {
	b.probing = false
	switch {
	case o.Delivered():
		b.failures = 0
	case o.Down():
		b.failures++
		if b.open() {
			b.probeAt = now.Add(max(backoff(b.failures-breakerLimit+1), o.RetryAfter))
		}
	case b.open():
		b.failures = breakerLimit - 1 // it answers; the next failure opens again
	}
}
