package access

import "time"

// budgetSlots are the seconds of which a budget knows how many requests came in each:
// those of a minute, and the one that the minute before began in.
const budgetSlots = 61

// budget lets perMinute requests through in any 60 seconds. It counts by the second, so
// that what it needs is bounded, and one that is refused may have to wait a second
// longer than a minute.
type budget struct {
	begin  time.Time // when the first was asked for; zero: nothing was yet
	passed time.Duration
	second int64 // the newest that was counted
	count  int   // in all of taken
	taken  *[budgetSlots]int32
}

// take takes one, or says when there is one again.
func (b *budget) take(perMinute int, now time.Time) (wait time.Duration) {
	if b.taken == nil {
		b.begin, b.taken = now, &[budgetSlots]int32{}
	}
	b.passed = max(b.passed, now.Sub(b.begin)) // whatever is done to a clock
	b.turn(int64(b.passed / time.Second))
	if b.count < perMinute {
		b.taken[b.second%budgetSlots]++
		b.count++
		return 0
	}
	left := b.count
	for at := b.second + 1; ; at++ { // the slot of the oldest second is the next to be used
		if left -= int(b.taken[at%budgetSlots]); left < perMinute {
			return time.Duration(at)*time.Second - b.passed
		}
	}
}

// turn forgets what was a minute before a second.
func (b *budget) turn(second int64) {
	b.second = max(b.second, second-budgetSlots)
	for b.second < second {
		b.second++
		slot := &b.taken[b.second%budgetSlots]
		b.count -= int(*slot)
		*slot = 0
	}
}

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
