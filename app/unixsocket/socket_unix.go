//go:build unix

package unixsocket

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockFolder keeps other starts and stops of this program from the sockets in a
// folder, unless another process holds the lock for good. free gives it back.
func lockFolder(folder string) (free func()) {
	f, err := os.Open(folder)
	if err != nil {
		return func() {}
	}
	for range 20 {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return func() { _ = f.Close() }
}

// listenClosed opens a socket that only this user may connect to, until its mode
// is set.
func listenClosed(ctx context.Context, path string) (net.Listener, error) {
	before := unix.Umask(0o177)
	defer unix.Umask(before)
	return (&net.ListenConfig{}).Listen(ctx, "unix", path)
}

// refused reports that a socket has no listener.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}
