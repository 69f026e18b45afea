//go:build linux

package rig

import (
	"testing"

	"golang.org/x/sys/unix"
)

// FileLimit bounds the files of the running program and returns what undoes
// it. No byte, or a few pages, is a full disk: every commit fails.
func (w *World) FileLimit(t *testing.T, bytes uint64) (lift func()) {
	t.Helper()
	set := func(limit, old *unix.Rlimit) {
		if err := unix.Prlimit(w.Cmd.Process.Pid, unix.RLIMIT_FSIZE, limit, old); err != nil {
			t.Fatal(err)
		}
	}
	var before unix.Rlimit
	set(nil, &before)
	set(&unix.Rlimit{Cur: bytes, Max: before.Max}, nil)
	return func() { set(&before, nil) }
}
