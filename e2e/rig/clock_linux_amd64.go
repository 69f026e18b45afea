package rig

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// ClockShift is the variable by which a program of the tests starts with a wrong clock: a
// duration that is added to the time of day, and after ">" another one that takes its place
// after ClockJumps.
const ClockShift = "POSTERN_TEST_CLOCK_SHIFT"

// ClockJumps is when the shift changes.
const ClockJumps = 300 * time.Millisecond

// CanShiftClock reports whether ShiftClock works on this machine.
const CanShiftClock = true

// ShiftClock sets the time of day of this process off by ClockShift. It replaces the function
// by which the kernel lets a process read clocks without a system call (clock_gettime of the
// vDSO) with one that asks the kernel and adds the shift to CLOCK_REALTIME; monotonic clocks
// stay as they are. The clock of the machine is not touched.
func ShiftClock() {
	value := os.Getenv(ClockShift)
	if value == "" {
		return
	}
	first, second, jumps := strings.Cut(value, ">")
	shift, err := time.ParseDuration(first)
	var seconds *int64
	if err == nil {
		seconds, err = replaceClock(int64(shift / time.Second))
	}
	if err == nil && time.Since(time.Unix(0, kernelTime())).Abs() < shift.Abs()-time.Minute {
		err = errors.New("the clock did not move")
	}
	if err == nil && jumps {
		shift, err = time.ParseDuration(second)
		time.AfterFunc(ClockJumps, func() { atomic.StoreInt64(seconds, int64(shift/time.Second)) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, ClockShift+":", err)
		os.Exit(1)
	}
}

func kernelTime() int64 {
	var now syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 0, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

// replaceClock returns where the shift is, in seconds.
func replaceClock(shift int64) (seconds *int64, err error) {
	begin, end, err := vdso()
	if err != nil {
		return nil, err
	}
	image := unsafe.Slice(*(**byte)(unsafe.Pointer(&begin)), end-begin) // memory of the kernel, not of the heap
	file, err := elf.NewFile(bytes.NewReader(bytes.Clone(image)))
	if err != nil {
		return nil, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_MPROTECT, begin, end-begin, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC); errno != 0 {
		return nil, errno
	}
	for _, s := range symbols {
		if s.Name != "__vdso_clock_gettime" {
			continue
		}
		code := []byte{
			0xb8, 0xe4, 0, 0, 0, // mov $SYS_clock_gettime, %eax
			0x0f, 0x05, // syscall
			0x85, 0xff, // test %edi, %edi: CLOCK_REALTIME is 0
			0x75, 0x0a, // jnz to ret
			0x48, 0x8b, 0x0d, 6, 0, 0, 0, // mov seconds(%rip), %rcx
			0x48, 0x01, 0x0e, 0xc3, // add %rcx, (%rsi); ret
		}
		at := len(image) - 64
		copy(image[at:], code)
		seconds = (*int64)(unsafe.Pointer(&image[at+24])) // the next whole word
		*seconds = shift
		jump := [8]byte{0xe9} // jmp to code
		binary.LittleEndian.PutUint32(jump[1:], uint32(int64(at)-int64(s.Value)-5))
		atomic.StoreUint64((*uint64)(unsafe.Pointer(&image[s.Value])), binary.LittleEndian.Uint64(jump[:]))
		return seconds, nil
	}
	return nil, errors.New("the vDSO has no __vdso_clock_gettime")
}

// vdso returns where the kernel has mapped the vDSO.
func vdso() (begin, end uintptr, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, "[vdso]\n") {
			_, err := fmt.Sscanf(line, "%x-%x", &begin, &end)
			return begin, end, err
		}
	}
	return 0, 0, errors.New("no vDSO")
}
