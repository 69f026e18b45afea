package backup

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget drops the pages of a synced file from the page cache, so that the next read
// comes from the disk.
func forget(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
