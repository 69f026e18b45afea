package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"postern/store/files"
)

// Put moves a whole and closed data file, which lies beside path, to path, and syncs both
// the file and its folder. If a file exists at path, Put returns an error that wraps
// [fs.ErrExist], unless aside names where to keep it; it returns ErrLocked if a program
// has it open. A kill leaves one of the two in place: where there was a file, there
// always is one.
func Put(file, path, aside string) (err error) {
	f, err := os.Open(file)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := files.MoveNew(file, path); err != nil {
			return err
		}
		_ = os.Remove(file) // its other name
		return files.SyncFolder(filepath.Dir(path))
	}
	if aside == "" {
		return fmt.Errorf("%s is there already: %w", path, fs.ErrExist)
	}
	old, err := files.Lock(path)
	if err != nil {
		return explain(err)
	}
	defer old.Close() // a program that waits for its lock then finds another file
	return replaceBy(file, old, path, aside)
}

// replaceBy moves a synced file into the place of the one at path, which is locked as f.
// The old file is kept under the name aside, unless that fails.
func replaceBy(copied string, f *os.File, path, aside string) error {
	if err := files.Keep(path, aside); err != nil {
		return err
	}
	_ = os.Remove(notePath(path)) // it describes the old file
	if err := files.PutInPlace(copied, f, path); err != nil {
		return errors.Join(err, os.Remove(aside))
	}
	return files.SyncFolder(filepath.Dir(path))
}

// InUse reports whether a program has the data file open. It returns false for a missing
// file.
func InUse(path string) (bool, error) {
	f, err := files.Lock(path)
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
