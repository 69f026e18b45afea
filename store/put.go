package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"postern/store/files"
)

// Held is the place of a data file that no program has open.
type Held struct {
	path string
	file *os.File // locked; nil: there was none
}

// Hold locks the data file at path until Close, so that no program opens it. A missing
// file is not locked, and is no error. Hold returns ErrLocked if a program has it open.
func Hold(path string) (*Held, error) {
	f, err := files.Lock(path)
	if err = explain(err); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &Held{path, f}, nil
}

// Close releases the lock.
func (h *Held) Close() error {
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}

// Put moves a whole and closed data file, which lies beside the place, into it, and syncs
// both the file and its folder. If a file exists there, Put returns an error that wraps
// [fs.ErrExist], unless aside names where to keep it; it returns ErrLocked if a program
// made one since Hold and has it open. A kill leaves one of the two in place: where there
// was a file, there always is one.
func (h *Held) Put(file, aside string) (err error) {
	f, err := os.Open(file)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(h.path); errors.Is(err, fs.ErrNotExist) {
		if err := files.MoveNew(file, h.path); err != nil {
			return err
		}
		_ = os.Remove(file) // its other name
		return files.SyncFolder(filepath.Dir(h.path))
	}
	if aside == "" {
		return fmt.Errorf("%s is there already: %w", h.path, fs.ErrExist)
	}
	if h.file == nil {
		if h.file, err = files.Lock(h.path); err != nil {
			return explain(err)
		}
	}
	return replaceBy(file, h.file, h.path, aside) // a program that waits for the lock then finds another file
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
