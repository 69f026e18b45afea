package access

import "time"

// bucket is a token bucket: it allows a burst of atOnce, then perMinute a minute.
type bucket struct {
	left float64
	at   time.Time // when left was computed; zero: never
}

// take takes one token, or returns how long to wait for one.
func (b *bucket) take(perMinute, atOnce int, now time.Time) (wait time.Duration) {
	if b.at.IsZero() {
		b.left = float64(atOnce)
	}
	b.left = min(float64(atOnce), b.left+float64(perMinute)*max(0, now.Sub(b.at)).Minutes())
	b.at = now
	if b.left < 1 {
		return 1 + time.Duration((1-b.left)/float64(perMinute)*float64(time.Minute)) // never 0, which would mean no wait
	}
	b.left--
	return 0
}
