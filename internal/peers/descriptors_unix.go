//go:build unix

package peers

import (
	"math"

	"golang.org/x/sys/unix"
)

// Descriptors returns how many files and connections the system lets this process
// have open.
func Descriptors() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
