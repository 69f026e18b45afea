package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// MakeFolder creates a folder and its missing parents for the owner alone. When it
// returns, their names survive a power cut. This includes folders that existed before: a
// process that was killed may have created them without the sync.
func MakeFolder(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(path, FolderMode); err != nil {
		return err
	}
	for parent := filepath.Dir(path); ; parent = filepath.Dir(parent) {
		// A folder that this process may not read was not made by this program.
		if err := SyncFolder(parent); err != nil && !errors.Is(err, fs.ErrPermission) && !IsReadOnly(err) {
			return err
		}
		if parent == filepath.Dir(parent) {
			return nil
		}
	}
}

// SyncFolder makes the names in a folder durable: those that were added, changed and
// removed.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || runtime.GOOS == "windows" {
		err = nil // the file system has no such operation, and Windows has none for folders
	}
	return errors.Join(err, d.Close())
}
