//go:build unix

package store

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

func freeBytes(folder string) (free uint64, known bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		return 0, false
	}
	return uint64(st.Bavail) * uint64(st.Bsize), true
}

func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }
