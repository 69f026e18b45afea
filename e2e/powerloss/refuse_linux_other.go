//go:build linux && !amd64

package powerloss

import (
	"errors"
	"syscall"
)

// refuse would make a system call fail; the registers differ by processor.
func refuse(int, syscall.Errno) error { return errors.ErrUnsupported }
