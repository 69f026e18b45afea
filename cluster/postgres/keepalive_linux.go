package postgres

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// userTimeout ends a connection whose data are not acknowledged for this long.
func userTimeout(raw syscall.RawConn, after time.Duration) error {
	var err error
	controlled := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(after.Milliseconds()))
	})
	if controlled != nil {
		return controlled
	}
	return err
}
