package access

import "time"

// budget lets perMinute requests through in a minute: so many at once, and then one
// more whenever a minute's share of it has passed.
type budget struct {
	left float64
	at   time.Time // when left was counted; zero: nothing was taken yet
}

// take takes one, or says when there is one again.
func (b *budget) take(perMinute int, now time.Time) (wait time.Duration) {
	most := float64(perMinute)
	if b.at.IsZero() {
		b.left = most
	}
	b.left = min(most, b.left+most*max(0, now.Sub(b.at)).Minutes())
	b.at = now
	if b.left < 1 {
		return time.Duration((1 - b.left) / most * float64(time.Minute))
	}
	b.left--
	return 0
}
