//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package files

import (
	"errors"
	"io/fs"
	"os"
)

// Lock opens the file. It cannot take bbolt's lock beforehand here: a file that
// another process writes may look damaged instead of locked.
func Lock(path string) (*os.File, error) { return open(path, os.O_RDWR) }

// LockShared opens the file for reading.
func LockShared(path string) (*os.File, error) { return open(path, os.O_RDONLY) }

// LockName checks that a folder or file exists. There are no locks for them here, and
// what a program has open cannot be removed.
func LockName(path string) (unlock func() error, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return func() error { return nil }, nil
}

// PutInPlace gives the copy the name of f, which must be closed first here. If a program
// opens f in between, f keeps the name and the copy does not get it.
func PutInPlace(copied string, f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	err := os.Rename(copied, path)
	if errors.Is(err, fs.ErrPermission) { // the folder accepted the copy: a program has the file open
		return ErrLocked
	}
	return err
}
