package cluster

import (
	"time"

	"golang.org/x/sys/unix"
)

// awake returns the time since the machine started, which goes on while it sleeps.
func awake() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return elapsed()
	}
	return time.Duration(t.Nano())
}
