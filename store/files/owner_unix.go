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
// run by root does not take a file away from the program's user.
func OwnedAs(f *os.File, other os.FileInfo) error {
	if err := f.Chmod(other.Mode().Perm()); err != nil {
		return err
	}
	if s, ok := other.Sys().(*syscall.Stat_t); ok {
		return f.Chown(int(s.Uid), int(s.Gid))
	}
	return nil
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
