package dispatch

import (
	"math/rand/v2"
	"time"
)

// pauses are the times between attempts; the last one repeats.
var pauses = [...]time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
}

// longestPause is the most that backoff returns, with some slack: a due time further away
// was written under a different clock.
const longestPause = time.Hour + time.Hour/10 + time.Minute

// backoff returns the pause after the given number of failed attempts, starting at 1: the
// table's value plus up to a tenth of it, never less.
func backoff(failures int) time.Duration {
	base := pauses[min(max(failures, 1), len(pauses))-1]
	return base + time.Duration(rand.Int64N(int64(base)/10+1))
}
