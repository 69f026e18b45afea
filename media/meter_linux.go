package media

import (
	"time"

	"golang.org/x/sys/unix"
)

// stopwatch measures the processor time of this thread, so that load on the machine does
// not count.
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
