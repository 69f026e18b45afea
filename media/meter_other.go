//go:build !linux

package media

import "time"

// stopwatch counts the time that passes: a thread's own is not to be had
// everywhere.
func stopwatch() func() time.Duration {
	begin := time.Now()
	return func() time.Duration { return time.Since(begin) }
}
