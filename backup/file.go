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
)

// unfinished and digits are the end of the name of what is being written, or what a kill
// left of it: a file, or the folder of a restore.
const unfinished = ".unfinished-postern-"

// ErrLeft tells that the file is there, whole, though something went wrong: a power cut
// may take it away.
var ErrLeft = errors.New("the file could not be removed again")

// WriteFile makes the file at path of what write writes: aside, synced, and under its
// name when it is whole. It replaces no file that is there, which is an error that
// wraps [fs.ErrExist]; after an error nothing is left, but for ErrLeft. What a kill left
// in the same folder of an earlier one is removed.
func WriteFile(path string, write func(io.Writer) error) error { return writeFile(path, write, nil) }

// writeFile is WriteFile that calls verify, unless it is nil, with the synced file before
// it gets its name.
func writeFile(path string, write func(io.Writer) error, verify func(f *os.File, size int64) error) (err error) {
	folder := filepath.Dir(path)
	switch _, err := os.Lstat(path); {
	case err == nil:
		return exists(path)
	case !errors.Is(err, fs.ErrNotExist): // such as that of a name that is too long
		return fmt.Errorf("%s: no file of this name can be made: %w", path, pathless(err))
	}
	sweep(folder)
	f, unlock, err := aside(path)
	if err != nil {
		return fmt.Errorf("%s: nothing can be written into the folder %s: %w", path, folder, pathless(err))
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

// readBack has verify read what the disk has, and not what the system remembers of it,
// where that can be asked for.
func readBack(f *os.File, verify func(f *os.File, size int64) error) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	forget(f)
	return verify(f, info.Size())
}

// syncing has the disk take a file as it is written. Gigabytes that wait for a sync at the
// end go out all at once, and the commits of a program on the same disk behind them.
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

// aside makes the file that is to be called path when it is whole, with mode 0600, and
// holds its lock until unlock, where there are locks: whoever sweeps leaves it then.
func aside(path string) (f *os.File, unlock func() error, err error) {
	for range 5 { // somebody who sweeps may take it away before it is locked
		if f, err = os.CreateTemp(filepath.Dir(path), begins(filepath.Base(path))+unfinished+"*"); err != nil {
			return nil, nil, err
		}
		unlock, err = store.LockName(f.Name())
		if !errors.Is(err, store.ErrLocked) && !errors.Is(err, fs.ErrNotExist) {
			if err != nil { // the file system has none
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

// begins is the beginning of a name behind which there is room for more: file systems
// take 255 bytes, and some 143.
func begins(name string) string {
	if len(name) > 100 {
		return strings.ToValidUTF8(name[:100], "")
	}
	return name
}

// Folder makes a folder beside the file at path, where what is to take its place can be
// made ready, and removes what a kill left of one. It is locked until remove; another one
// that is locked is an error.
func Folder(path string) (folder string, remove func() error, err error) {
	for _, left := range store.Leftovers(filepath.Dir(path), begins(filepath.Base(path)), unfinished) {
		unlock, err := taken(left, fs.FileMode.IsDir)
		if errors.Is(err, store.ErrLocked) {
			return "", nil, fmt.Errorf("another restore to %s goes on, in %s: wait for its end", path, left)
		}
		if err == nil {
			_ = errors.Join(os.RemoveAll(left), unlock())
		}
	}
	if folder, err = os.MkdirTemp(filepath.Dir(path), begins(filepath.Base(path))+unfinished+"*"); err != nil {
		return "", nil, fmt.Errorf("nothing can be written into the folder %s: %w; run this command as the user that runs Postern", filepath.Dir(path), pathless(err))
	}
	unlock, err := store.LockName(folder)
	if err != nil {
		return "", nil, fmt.Errorf("another restore to %s began at the same moment: %w", path, errors.Join(err, os.RemoveAll(folder)))
	}
	return folder, func() error { return errors.Join(os.RemoveAll(folder), unlock()) }, nil
}

// Unfinished is what kills left in a folder of backups, restores and what else WriteFile
// writes: nobody has it locked, so it is of no use to anybody.
func Unfinished(folder string) (paths []string) {
	for _, path := range store.Leftovers(folder, "", unfinished) {
		unlock, err := taken(path, func(m fs.FileMode) bool { return m.IsRegular() || m.IsDir() })
		if err == nil {
			_ = unlock()
			paths = append(paths, path)
		}
	}
	return paths
}

// sweep removes the files of Unfinished. A folder is left to who looks for it by the name
// of its file.
func sweep(folder string) {
	for _, path := range store.Leftovers(folder, "", unfinished) {
		if unlock, err := taken(path, fs.FileMode.IsRegular); err == nil {
			_ = errors.Join(os.Remove(path), unlock())
		}
	}
}

// taken locks what is there and of the kind, and leaves a link or a pipe of that name
// alone.
func taken(path string, kind func(fs.FileMode) bool) (unlock func() error, err error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !kind(info.Mode()):
		return nil, fs.ErrInvalid
	}
	return store.LockName(path)
}

// pathless is an error without the name of a file that nobody knows.
func pathless(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
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
