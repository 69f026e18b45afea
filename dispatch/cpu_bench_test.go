//go:build unix

package dispatch

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is what the process has used of the processors: on a machine that is
// busy with other work, ratios of it say more than those of the clock.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
