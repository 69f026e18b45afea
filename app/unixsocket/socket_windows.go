package unixsocket

import (
	"context"
	"errors"
	"net"

	"golang.org/x/sys/windows"
)

func lockFolder(string) (free func()) { return func() {} }

func listenClosed(ctx context.Context, path string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "unix", path)
}

func refused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }
