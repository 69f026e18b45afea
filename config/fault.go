package config

import (
	"errors"
	"io/fs"
	"syscall"
)

// fault is an error of the configuration, or of a file that it names.
type fault struct{ error }

func (f fault) Unwrap() error { return f.error }

// Faulty marks an error as one of the configuration, or of a file that it names. nil
// stays nil.
func Faulty(err error) error {
	if err == nil {
		return nil
	}
	return fault{err}
}

// Lasts reports whether err is marked by [Faulty] and remains until the configuration is
// changed. A temporary refusal by the system, such as a disk that does not answer, does not.
func Lasts(err error) bool {
	if !errors.As(err, new(fault)) {
		return false
	}
	errno, system := errors.AsType[syscall.Errno](err)
	return !system || errors.Is(errno, fs.ErrNotExist) || errors.Is(errno, fs.ErrPermission) ||
		errno == syscall.EISDIR || errno == syscall.ENOTDIR || errno == syscall.EROFS
}
