//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package store

import (
	"errors"
	"io/fs"
	"os"

	berrors "go.etcd.io/bbolt/errors"
)

// lockFile opens the file. It cannot take bbolt's lock beforehand here: a file that
// another process writes may look damaged instead of locked.
func lockFile(path string) (*os.File, error) { return openPlain(path, os.O_RDWR) }

// lockShared opens the file for reading.
func lockShared(path string) (*os.File, error) { return openPlain(path, os.O_RDONLY) }

// LockName checks that a folder or file exists. There are no locks for them here, and
// what a program has open cannot be removed.
func LockName(path string) (unlock func() error, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return func() error { return nil }, nil
}

// putInPlace gives the copy the name of f, which must be closed first here. If a program
// opens f in between, f keeps the name and the copy does not get it.
func putInPlace(copied string, f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	err := os.Rename(copied, path)
	if errors.Is(err, fs.ErrPermission) { // the folder accepted the copy: a program has the file open
		return berrors.ErrTimeout
	}
	return err
}
