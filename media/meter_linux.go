package media

import (
	"time"

	"golang.org/x/sys/unix"
)

// stopwatch counts what this thread takes of a processor from now on, so that a
// busy machine makes no file too much work.
func stopwatch() func() time.Duration {
	spent := func() time.Duration {
		var at unix.Timespec
		if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at) != nil {
			return 0
		}
		return time.Duration(at.Nano())
	}
	begin := spent()
	return func() time.Duration { return spent() - begin }
}
