//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package store

import (
	"errors"
	"io/fs"
	"os"

	berrors "go.etcd.io/bbolt/errors"
)

// lockFile opens the file. bbolt's lock cannot be taken beforehand here: a file
// that another process writes may look damaged instead of locked.
func lockFile(path string) (*os.File, error) { return openPlain(path, os.O_RDWR) }

// lockShared opens the file for reading.
func lockShared(path string) (*os.File, error) { return openPlain(path, os.O_RDONLY) }

// LockName finds out whether a folder or file is there: they have no locks here, and what
// a program has open cannot be removed.
func LockName(path string) (unlock func() error, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return func() error { return nil }, nil
}

// putInPlace gives the copy the name of f, which must be closed for that here. A
// program that opens it in between keeps the name, and the copy gets none.
func putInPlace(copied string, f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	err := os.Rename(copied, path)
	if errors.Is(err, fs.ErrPermission) { // the folder took the copy: a program has the file open
		return berrors.ErrTimeout
	}
	return err
}
