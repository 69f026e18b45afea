//go:build unix

package dispatch

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the processor time of the process: on a machine with other load, ratios
// of it are more reliable than ratios of elapsed time.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
