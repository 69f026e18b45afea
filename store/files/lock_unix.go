//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Lock opens the file and takes the lock that bbolt takes, on the same file
// description that bbolt is then given, so that no other process can take it in between.
func Lock(path string) (*os.File, error) { return lock(path, os.O_RDWR, unix.LOCK_EX) }

// LockShared opens the file for reading and keeps writers out.
func LockShared(path string) (*os.File, error) { return lock(path, os.O_RDONLY, unix.LOCK_SH) }

func lock(path string, flag, kind int) (*os.File, error) {
	f, err := open(path, flag)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(LockTimeout); ; time.Sleep(LockTimeout / 20) {
		err := unix.Flock(int(f.Fd()), kind|unix.LOCK_NB)
		switch {
		case err == nil && !moved(f, path):
			return f, nil
		case err == nil: // a compaction replaced the file meanwhile
			_ = f.Close()
			if f, err = open(path, flag); err != nil {
				return nil, err
			}
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, errors.Join(err, f.Close())
		case time.Now().After(end):
			return nil, errors.Join(ErrLocked, f.Close())
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

// PutInPlace gives the copy the name of f, whose lock is held meanwhile.
func PutInPlace(copied string, _ *os.File, path string) error { return os.Rename(copied, path) }
