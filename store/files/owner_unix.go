//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Identify returns the identity of f. The time of its last change of any kind is the one
// time of a file that programs cannot set.
func Identify(f *os.File) (i Identity, known bool) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return i, false
	}
	return Identity{uint64(s.Dev), s.Ino, s.Size, s.Ctim.Nano()}, true
}

// OwnedAs gives a new file the owner and the permissions of another, so that a command
// run by root does not take a file away from the program's user. A file that has the owner
// is left alone, since a service may be forbidden every change of owners. On an error the
// file keeps the permissions it was created with.
func OwnedAs(f *os.File, other os.FileInfo) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	has, known := is.Sys().(*syscall.Stat_t)
	wanted, ok := other.Sys().(*syscall.Stat_t)
	if known && ok && (has.Uid != wanted.Uid || has.Gid != wanted.Gid) {
		if err := f.Chown(int(wanted.Uid), int(wanted.Gid)); err != nil {
			return err
		}
	}
	return f.Chmod(other.Mode().Perm())
}

// OwnAs gives a file that root made the owner of another file or folder, for the same
// reason. Files that another user made keep their owner.
func OwnAs(file, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var s unix.Stat_t
	if err := unix.Stat(like, &s); err != nil {
		return &os.PathError{Op: "stat", Path: like, Err: err}
	}
	return os.Lchown(file, int(s.Uid), int(s.Gid))
}

// moved reports whether path is no longer the open file.
func moved(f *os.File, path string) bool {
	is, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err != nil || !os.SameFile(is, there)
}
