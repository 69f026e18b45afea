package cluster

import "time"

var began = time.Now()

// elapsed is the larger of the time on the monotonic clock, which may stand still while
// the machine sleeps, and that on the time of day, which may be set back. A clock that is
// set ahead ends a lease early, which is safe.
func elapsed() time.Duration {
	now := time.Now()
	return max(now.Sub(began), now.Round(0).Sub(began.Round(0)))
}
