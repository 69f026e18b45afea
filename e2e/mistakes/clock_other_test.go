//go:build !linux || !amd64

package mistakes

const (
	clockShift    = "POSTERN_TEST_CLOCK_SHIFT"
	canShiftClock = false
)

func shiftClock() {}
