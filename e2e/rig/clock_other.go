//go:build !linux || !amd64

package rig

const (
	ClockShift    = "POSTERN_TEST_CLOCK_SHIFT"
	CanShiftClock = false
)

func ShiftClock() {}
