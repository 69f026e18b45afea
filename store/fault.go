package store

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// The file is mapped into memory. Damage after the survey at the start (a disk that no
// longer reads a page, a file that is truncated) appears as a fault of a memory access,
// or as a panic of bbolt, which asserts what it reads.

// shielded calls fn and returns an error that wraps ErrCorrupt if fn meets such damage.
// It does not recover any other panic.
func shielded(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if !byDamage(p) {
				panic(p)
			}
			err = damageMet(p)
		}
	}()
	return fn()
}

func damageMet(panicked any) error {
	return fmt.Errorf("%w: a transaction met what cannot be: %v", ErrCorrupt, panicked)
}

// byDamage reports whether damage of the file caused the panic that is being recovered:
// an access to memory that is not there, which only the mapping can cause, or a panic
// that bbolt itself raised. Only a deferred function may call it.
func byDamage(panicked any) bool {
	if _, fault := panicked.(interface{ Addr() uintptr }); fault {
		return true
	}
	var stack [64]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(0, stack[:])])
	raised := false // whether the frames are those that led to the panic
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			raised = true
		case raised && !fromStandardLibrary(frame.Function):
			return strings.HasPrefix(frame.Function, "go.etcd.io/bbolt")
		}
		if !more {
			return false
		}
	}
}

// fromStandardLibrary reports whether a function is of the standard library: the import
// paths of others have a dot in their first element, and ours are excluded by name.
func fromStandardLibrary(function string) bool {
	function, _, _ = strings.Cut(function, "[") // type arguments
	path, _, nested := strings.Cut(function, "/")
	if !nested {
		path, _, _ = strings.Cut(function, ".")
	}
	return !strings.Contains(path, ".") && path != "postern" && path != "main"
}

// doom ends the process: the file is damaged, and no page of an open transaction may be
// read again, not even to roll it back.
func (s *Store) doom(err error) error {
	s.broken.Store(true)
	return s.fail(advise(s.opts.Path, err))
}

// fail calls Options.Fatal once.
func (s *Store) fail(err error) error {
	if !s.failed.Swap(true) {
		s.opts.Fatal(err)
	}
	return fmt.Errorf("%w: %w", ErrFailed, err)
}
