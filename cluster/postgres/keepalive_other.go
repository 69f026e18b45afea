//go:build !linux

package postgres

import (
	"syscall"
	"time"
)

// userTimeout does nothing: only keepalive finds a connection that is dead.
func userTimeout(syscall.RawConn, time.Duration) error { return nil }
