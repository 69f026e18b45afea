//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package store

import (
	"errors"
	"os"
	"time"

	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

// lockFile opens the file and takes the lock that bbolt takes, on the same file
// description that bbolt is then given, so that no other process can take it in between.
func lockFile(path string) (*os.File, error) { return lock(path, os.O_RDWR, unix.LOCK_EX) }

// lockShared opens the file for reading and keeps writers out.
func lockShared(path string) (*os.File, error) { return lock(path, os.O_RDONLY, unix.LOCK_SH) }

func lock(path string, flag, kind int) (*os.File, error) {
	f, err := openPlain(path, flag)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockTimeout); ; time.Sleep(lockTimeout / 20) {
		err := unix.Flock(int(f.Fd()), kind|unix.LOCK_NB)
		switch {
		case err == nil && !moved(f, path):
			return f, nil
		case err == nil: // a compaction replaced the file meanwhile
			_ = f.Close()
			if f, err = openPlain(path, flag); err != nil {
				return nil, err
			}
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, errors.Join(err, f.Close())
		case time.Now().After(end):
			return nil, errors.Join(berrors.ErrTimeout, f.Close())
		}
	}
}

// LockName locks the folder or file at path until unlock is called or the process ends.
// It returns ErrLocked if another process holds the lock.
func LockName(path string) (unlock func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// putInPlace gives the copy the name of f, whose lock is held meanwhile.
func putInPlace(copied string, _ *os.File, path string) error { return os.Rename(copied, path) }
