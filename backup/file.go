package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"postern/store"
	"postern/store/files"
)

// unfinished and digits end the name of a file or restore folder that is being written,
// or that a killed process left.
const unfinished = ".unfinished-postern-"

// ErrLeft reports that the complete file could not be removed after an error. A power
// failure may still lose it.
var ErrLeft = errors.New("the partial file could not be removed")

// WriteFile writes the file at path atomically: to a temporary file, which is synced and
// then renamed. It never overwrites a file; the error then wraps [fs.ErrExist]. An error
// leaves no file, except with ErrLeft. WriteFile also removes temporary files that killed
// processes left in the folder.
func WriteFile(path string, write func(io.Writer) error) error { return writeFile(path, write, nil) }

// writeFile is WriteFile, with an optional verify that checks the synced file before it
// gets its name.
func writeFile(path string, write func(io.Writer) error, verify func(f *os.File, size int64) error) (err error) {
	folder := filepath.Dir(path)
	switch _, err := os.Lstat(path); {
	case err == nil:
		return exists(path)
	case !errors.Is(err, fs.ErrNotExist): // for example, the name is too long
		return fmt.Errorf("%s: cannot create a file of this name: %w", path, pathless(err))
	}
	sweep(folder)
	f, unlock, err := aside(path)
	if err != nil {
		return fmt.Errorf("%s: cannot write to the folder %s: %w", path, folder, pathless(err))
	}
	defer func() { _ = errors.Join(os.Remove(f.Name()), unlock()) }()
	err = write(&syncing{f: f})
	if err == nil {
		err = f.Sync()
	}
	if err == nil && verify != nil {
		err = readBack(f, verify)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		if store.IsFull(err) {
			err = fmt.Errorf("%w; free space in %s or choose another folder", err, folder)
		}
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return exists(path)
		}
		if err := os.Rename(f.Name(), path); err != nil { // for file systems without hard links
			return err
		}
	}
	if err := files.SyncFolder(folder); err != nil {
		if left := os.Remove(path); left != nil {
			err = fmt.Errorf("%w; %w: %w", err, ErrLeft, left)
		}
		return err
	}
	return nil
}

// readBack makes verify read the file from the disk, bypassing the page cache where the
// system allows it.
func readBack(f *os.File, verify func(f *os.File, size int64) error) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	forget(f)
	return verify(f, info.Size())
}

// syncing flushes a file while it is written. A single sync at the end would write
// gigabytes at once and delay the commits of a program on the same disk.
type syncing struct {
	f        *os.File
	unsynced int
}

const syncStep = 8 << 20

// Write implements [io.Writer].
func (s *syncing) Write(p []byte) (n int, err error) {
	n, err = s.f.Write(p)
	if s.unsynced += n; err == nil && s.unsynced >= syncStep {
		s.unsynced = 0
		err = s.f.Sync()
	}
	return n, err
}

// aside creates the temporary file for path with mode 0600 and, where the system supports
// locks, holds its lock until unlock, so that sweep leaves it alone.
func aside(path string) (f *os.File, unlock func() error, err error) {
	for range 5 { // a concurrent sweep may remove it before it is locked
		if f, err = os.CreateTemp(filepath.Dir(path), begins(filepath.Base(path))+unfinished+"*"); err != nil {
			return nil, nil, err
		}
		unlock, err = files.LockName(f.Name())
		if !errors.Is(err, files.ErrLocked) && !errors.Is(err, fs.ErrNotExist) {
			if err != nil { // the file system has no locks
				unlock = func() error { return nil }
			}
			if _, err = os.Lstat(f.Name()); err == nil {
				return f, unlock, nil
			}
			_ = unlock()
		}
		_ = f.Close()
	}
	return nil, nil, err
}

// begins truncates a name so that a suffix fits: file systems allow 255 bytes, some only
// 143.
func begins(name string) string {
	if len(name) > 100 {
		return strings.ToValidUTF8(name[:100], "")
	}
	return name
}

// Folder creates a folder beside the file at path, for preparing its replacement, and
// removes one that a killed process left. It is locked until remove; if another one is
// locked, Folder fails.
func Folder(path string) (folder string, remove func() error, err error) {
	for _, left := range files.Leftovers(filepath.Dir(path), begins(filepath.Base(path)), unfinished) {
		unlock, err := taken(left, fs.FileMode.IsDir)
		if errors.Is(err, files.ErrLocked) {
			return "", nil, fmt.Errorf("another restore to %s is running, in %s: wait until it ends", path, left)
		}
		if err == nil {
			_ = errors.Join(os.RemoveAll(left), unlock())
		}
	}
	if folder, err = os.MkdirTemp(filepath.Dir(path), begins(filepath.Base(path))+unfinished+"*"); err != nil {
		return "", nil, fmt.Errorf("cannot write to the folder %s: %w; run this command as the user that runs Postern", filepath.Dir(path), pathless(err))
	}
	unlock, err := files.LockName(folder)
	if err != nil {
		return "", nil, fmt.Errorf("another restore to %s started at the same time: %w", path, errors.Join(err, os.RemoveAll(folder)))
	}
	return folder, func() error { return errors.Join(os.RemoveAll(folder), unlock()) }, nil
}

// Unfinished returns the temporary files that killed processes left in a folder of
// backups, restores and other outputs of WriteFile: those that no process has locked.
func Unfinished(folder string) (paths []string) {
	for _, path := range files.Leftovers(folder, "", unfinished) {
		unlock, err := taken(path, func(m fs.FileMode) bool { return m.IsRegular() || m.IsDir() })
		if err == nil {
			_ = unlock()
			paths = append(paths, path)
		}
	}
	return paths
}

// sweep removes the files of Unfinished. It leaves folders, which the next restore to the
// same file removes.
func sweep(folder string) {
	for _, path := range files.Leftovers(folder, "", unfinished) {
		if unlock, err := taken(path, fs.FileMode.IsRegular); err == nil {
			_ = errors.Join(os.Remove(path), unlock())
		}
	}
}

// taken locks the entry at path if it is of the kind; it leaves links and pipes of that
// name alone.
func taken(path string, kind func(fs.FileMode) bool) (unlock func() error, err error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !kind(info.Mode()):
		return nil, fs.ErrInvalid
	}
	return files.LockName(path)
}

// pathless strips the file name, which is a temporary one, from an error.
func pathless(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

func exists(path string) error {
	return fmt.Errorf("%s already exists; choose another name or move it: %w", path, fs.ErrExist)
}

// spare is the disk space that writing a file leaves free, for the data file to grow.
const spare = store.DefaultMinFree

// room returns an error if the disk of a folder is too small for size. An empty folder is
// not checked.
func room(folder string, size int64) error {
	if folder == "" {
		return nil
	}
	if free, known := files.FreeBytes(folder); known && free < uint64(size)+spare { //nolint:gosec // never negative
		return fmt.Errorf("%w: %d MiB are needed in %s; %d MiB are free, of which %d MiB are reserved: free space first", syscall.ENOSPC, size>>20, folder, free>>20, spare>>20)
	}
	return nil
}
