package access

import "time"

// bucket lets atOnce through at once, and then perMinute a minute.
type bucket struct {
	left float64
	at   time.Time // when left was counted; zero: nothing was taken yet
}

// take takes one, or says when there is one again.
func (b *bucket) take(perMinute, atOnce int, now time.Time) (wait time.Duration) {
	if b.at.IsZero() {
		b.left = float64(atOnce)
	}
	b.left = min(float64(atOnce), b.left+float64(perMinute)*max(0, now.Sub(b.at)).Minutes())
	b.at = now
	if b.left < 1 {
		return 1 + time.Duration((1-b.left)/float64(perMinute)*float64(time.Minute)) // 0 would be none
	}
	b.left--
	return 0
}
