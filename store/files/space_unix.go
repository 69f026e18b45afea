//go:build unix

package files

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// FreeBytes returns the free space on the disk of a folder, and whether it is known.
func FreeBytes(folder string) (free uint64, known bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		return 0, false
	}
	return uint64(st.Bavail) * uint64(st.Bsize), true
}

// IsReadOnly reports whether err is of a file system that is mounted read-only.
func IsReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
