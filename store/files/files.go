// Package files locks, maps, names and measures files by the means of the operating system,
// for programs that must not lose one.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Permissions of new files and folders.
const (
	Mode       = 0o600
	FolderMode = 0o700
)

// LockTimeout is how long a lock is waited for.
const LockTimeout = time.Second

var (
	// ErrLocked says that another process has the file open, or holds its lock.
	ErrLocked = errors.New("another process has it open")
	// ErrNoFile says that it is a folder, a pipe or the like.
	ErrNoFile = errors.New("is no file")
)

// Identity tells a file from every other, and from itself before a change.
type Identity struct {
	Device, Inode uint64
	Size          int64
	Changed       int64 // time of the last change of any kind, in nanoseconds
}

// open opens a regular file: opening a pipe would block until a process opens its
// other end.
func open(path string, flag int) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s %w", path, ErrNoFile)
	}
	return os.OpenFile(path, flag, 0)
}

// MoveNew gives temp the name path unless that name is taken. On file systems without
// hard links it renames.
func MoveNew(temp, path string) error {
	err := os.Link(temp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(temp, path)
}

// Keep gives a file a second name or, if it cannot have one, copies it. The name must be
// free.
func Keep(path, aside string) error {
	err := os.Link(path, aside)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, Mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err == nil {
		err = to.Sync()
	}
	if err := errors.Join(err, to.Close()); err != nil {
		return errors.Join(err, os.Remove(aside))
	}
	return nil
}
