package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// MakeFolder makes a folder, and those above it that are missing, for the
// owner alone. When it returns, a power cut takes none of their names away.
// That holds for folders that were there already too: a process that was killed
// may have made them without coming to the sync.
func MakeFolder(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(path, folderMode); err != nil {
		return err
	}
	for parent := filepath.Dir(path); ; parent = filepath.Dir(parent) {
		// A folder that may not be read was not made by this program.
		if err := SyncFolder(parent); err != nil && !errors.Is(err, fs.ErrPermission) && !isReadOnlyFS(err) {
			return err
		}
		if parent == filepath.Dir(parent) {
			return nil
		}
	}
}

// SyncFolder makes the names in a folder as durable as a file is after its
// sync: those that were made, changed and removed.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || runtime.GOOS == "windows" {
		err = nil // the file system has no such thing, and Windows none for folders
	}
	return errors.Join(err, d.Close())
}
