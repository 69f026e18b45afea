package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Put gives a whole and closed data file, which lies beside path, its place there, and
// syncs it. A file that is there is refused with an error that wraps [fs.ErrExist],
// unless aside names where it is to be moved; one that a program has open is ErrLocked.
// A kill leaves one of both in its place, or none and both beside it.
func Put(file, path, aside string) (err error) {
	f, err := os.Open(file)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		if aside == "" {
			return fmt.Errorf("%s is there already: %w", path, fs.ErrExist)
		}
		old, err := lockFile(path)
		if err != nil {
			return explain(err)
		}
		defer old.Close() // whoever waits for it finds another file then
		if err := moveNew(path, aside); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(notePath(path)) // it speaks of another file
	if err := moveNew(file, path); err != nil {
		return err
	}
	_ = os.Remove(file)
	return SyncFolder(filepath.Dir(path))
}

// InUse reports whether a program has the data file open; a missing one is not.
func InUse(path string) (bool, error) {
	f, err := lockFile(path)
	switch err := explain(err); {
	case errors.Is(err, ErrLocked):
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return false, f.Close()
}
