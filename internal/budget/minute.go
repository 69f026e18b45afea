// Package budget limits requests to a number in any 60 seconds. It is a sliding window: a
// counter for each minute of the clock would admit twice as many around its turn, and so
// would a token bucket after a pause.
package budget

import "time"

// slots is the number of seconds that a Minute counts separately: those of a minute, and
// the one in which the window began.
const slots = 61

// Minute admits a number of requests in any 60 seconds. It counts by the second, which
// bounds its memory; a rejected request may have to wait up to a second longer than
// necessary. The zero value is ready to use. Concurrent use needs a lock.
type Minute struct {
	begin  time.Time // of the first request; zero: none yet
	passed time.Duration
	second int64 // the newest counted one
	count  int   // sum of taken
	taken  *[slots]int32
}

// Take counts one of perMinute requests, or returns how long to wait for the next one.
func (m *Minute) Take(perMinute int, now time.Time) (wait time.Duration) {
	if m.taken == nil {
		m.begin, m.taken = now, &[slots]int32{}
	}
	m.reach(now)
	if m.count < perMinute {
		m.taken[m.second%slots]++
		m.count++
		return 0
	}
	left := m.count
	for at := m.second + 1; ; at++ { // the slot of the oldest second is reused next
		if left -= int(m.taken[at%slots]); left < perMinute {
			return time.Duration(at)*time.Second - m.passed
		}
	}
}

// reach forgets the requests that are older than a minute at now.
func (m *Minute) reach(now time.Time) {
	m.passed = max(m.passed, now.Sub(m.begin)) // a clock that is set back changes nothing
	m.turn(int64(m.passed / time.Second))
}

// Empty reports whether nothing was taken in the minute before now.
func (m *Minute) Empty(now time.Time) bool {
	if m.taken == nil {
		return true
	}
	m.reach(now)
	return m.count == 0
}

// turn forgets the requests that are older than a minute at a second.
func (m *Minute) turn(second int64) {
	m.second = max(m.second, second-slots)
	for m.second < second {
		m.second++
		slot := &m.taken[m.second%slots]
		m.count -= int(*slot)
		*slot = 0
	}
}
