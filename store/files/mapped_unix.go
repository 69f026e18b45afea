//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"

	"golang.org/x/sys/unix"
)

// mapped reads a file through a memory mapping: a system call for each of a million pages
// takes as long as all further work on them.
type mapped []byte

// Map maps the file for reading until done is called. Where the address space is
// small, the file is read by system calls.
func Map(f *os.File, size int64) (r io.ReaderAt, done func()) {
	if strconv.IntSize < 64 {
		return f, func() {}
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return f, func() {}
	}
	return mapped(m), func() { _ = unix.Munmap(m) }
}

// ReadAt implements [io.ReaderAt]. If the disk cannot read a page, it returns an error
// instead of ending the process.
func (m mapped) ReadAt(p []byte, at int64) (n int, err error) {
	if at < 0 || at >= int64(len(m)) {
		return 0, io.EOF
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			n, err = 0, fmt.Errorf("the disk cannot read it: %v", fault)
		}
	}()
	if n = copy(p, m[at:]); n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
