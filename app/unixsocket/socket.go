package app

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

// socket is a Unix socket whose file goes with it.
type socket struct {
	net.Listener
	path string
	made fs.FileInfo // the file
}

// listenAt opens the socket at path with that mode. The socket that a dead program left
// there is replaced; that of a running one, and a file that is no socket, is an error.
func listenAt(ctx context.Context, path string, mode fs.FileMode) (*socket, error) {
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
	return &socket{l, path, made}, nil
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

// Close implements [net.Listener]. The file goes first, and only if it is still the
// one that was created: while this one listens, no other program removes it.
func (s *socket) Close() error {
	free := lockFolder(filepath.Dir(s.path))
	defer free()
	var gone error
	if is, err := os.Lstat(s.path); err == nil && os.SameFile(is, s.made) {
		gone = os.Remove(s.path)
	}
	return errors.Join(s.Listener.Close(), gone)
}
