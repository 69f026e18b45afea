//go:build linux && !amd64

package powerloss

import "errors"

// refuse would make a system call fail; the registers differ by processor.
func refuse(int) error { return errors.ErrUnsupported }
