// Package unixsocket opens Unix sockets at a path. It replaces the socket that a dead
// program left there, and removes its own when it is closed; the sockets of running
// programs, and files that are no sockets, are kept.
package unixsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"postern/config"
)

// listener is a Unix socket whose file is removed with it.
type listener struct {
	net.Listener
	path string
	made fs.FileInfo // the file
}

// Listen opens the socket at path with that mode. The socket that a dead program left
// there is replaced; that of a running one, and a file that is no socket, is an error.
func Listen(ctx context.Context, path string, mode fs.FileMode) (net.Listener, error) {
	free := lockFolder(filepath.Dir(path))
	defer free()
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	l, err := listenClosed(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%w; its folder must be there, and writable for this program", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(path))
	}
	made, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &listener{l, path, made}, nil
}

// removeStale removes the file of a socket without a listener.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return config.Faulty(fmt.Errorf("%s exists and is not a socket; choose another path, or move it away", path))
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("another program listens at %s; stop it, or choose another path", path)
	}
	if !refused(err) {
		return fmt.Errorf("%s exists, but it is unknown whether a program listens on it: %w", path, err)
	}
	return os.Remove(path)
}

// Close implements [net.Listener]. The file is removed first, and only if it is still the
// one that was created: while this one listens, no other program removes it.
func (l *listener) Close() error {
	free := lockFolder(filepath.Dir(l.path))
	defer free()
	var gone error
	if is, err := os.Lstat(l.path); err == nil && os.SameFile(is, l.made) {
		gone = os.Remove(l.path)
	}
	return errors.Join(l.Listener.Close(), gone)
}
