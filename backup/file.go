package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"postern/store"
)

const asideSuffix = ".new-"

// ErrLeft tells that the file is there, whole, though something went wrong: a power cut
// may take it away.
var ErrLeft = errors.New("the file could not be removed again")

// WriteFile makes the file at path of what write writes: aside, synced, and under its
// name when it is whole. It replaces no file that is there, which is an error that
// wraps [fs.ErrExist]; after an error nothing is left, but for ErrLeft.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return exists(path)
	}
	folder := filepath.Dir(path)
	f, err := os.CreateTemp(folder, filepath.Base(path)+asideSuffix+"*") // with mode 0600
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err // its name says nothing
		}
		return fmt.Errorf("%s: nothing can be written into the folder %s: %w", path, folder, err)
	}
	defer os.Remove(f.Name())
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		if store.IsFull(err) {
			err = fmt.Errorf("%w; make room in %s, or choose another folder", err, folder)
		}
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return exists(path)
		}
		if err := os.Rename(f.Name(), path); err != nil { // a file system without hard links
			return err
		}
	}
	if err := store.SyncFolder(folder); err != nil {
		if left := os.Remove(path); left != nil {
			err = fmt.Errorf("%w; %w: %w", err, ErrLeft, left)
		}
		return err
	}
	return nil
}

func exists(path string) error {
	return fmt.Errorf("%s is there already; choose another name, or move it away: %w", path, fs.ErrExist)
}

// spare is what writing a file leaves free of a disk: a data file on it has to grow.
const spare = store.DefaultMinFree

// room refuses to fill the disk of a folder, unless it is none.
func room(folder string, size int64) error {
	if folder == "" {
		return nil
	}
	if free, known := store.FreeBytes(folder); known && free < uint64(size)+spare { //nolint:gosec // never negative
		return fmt.Errorf("%w: %d MiB are needed in %s and %d MiB are free, of which %d MiB are kept free: make room first", syscall.ENOSPC, size>>20, folder, free>>20, spare>>20)
	}
	return nil
}
