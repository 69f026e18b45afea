//go:build unix

package sqlite

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// The bytes that SQLite locks as long as it has a file open with a write-ahead log, and in
// any mode as long as it reads or writes.
const (
	lockedFrom, lockedBytes       = 0x40000000, 512 // of the file
	lockedLogFrom, lockedLogBytes = 120, 9          // of the -shm beside it
)

// lockedBy returns the holder of an SQLite lock on the file at path; empty: none or
// unknown.
func lockedBy(path string) string {
	for _, part := range []struct {
		path        string
		from, bytes int64
	}{{path, lockedFrom, lockedBytes}, {path + "-shm", lockedLogFrom, lockedLogBytes}} {
		f, err := os.Open(part.path)
		if err != nil {
			continue
		}
		lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: part.from, Len: part.bytes}
		err = unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock)
		_ = f.Close()
		switch {
		case err != nil || lock.Type == unix.F_UNLCK:
		case lock.Pid > 0:
			return fmt.Sprintf("process %d", lock.Pid)
		default: // of another namespace, or a lock that no process owns
			return "another process"
		}
	}
	return ""
}
