package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"postern/store/files"
	"postern/store/pages"
	"postern/store/schema"
	"postern/store/survey"
)

// mmapSize is the address space reserved at once: to remap a growing file, the writer would
// have to wait for every reader.
const mmapSize = 1 << 30

// openFile opens the bbolt file at path. If there is none, it creates the file under
// another name and moves it into place. The file is surveyed under bbolt's lock before
// bbolt reads it.
func openFile(path string, sch schema.Schema, noSync bool) (*bolt.DB, *survey.Survey, error) {
	folder := filepath.Dir(path)
	if err := makeFolder(folder, noSync); err != nil {
		return nil, nil, explain(err)
	}
	_, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = create(path, sch)
	case err == nil && !noSync:
		// A process that was killed may have created the file without this sync.
		err = files.SyncFolder(folder)
	}
	if err != nil {
		return nil, nil, explain(err)
	}
	f, err := files.Lock(path)
	if err != nil {
		return nil, nil, explain(err)
	}
	found, err := surveyed(f, sch)
	if err != nil {
		return nil, nil, errors.Join(explain(err), f.Close())
	}
	db, err := openBolt(path, noSync, f)
	if err != nil {
		_ = f.Close() // bbolt may have closed it
		return nil, nil, explain(err)
	}
	removeLeftovers(path)
	return db, found, nil
}

// target returns the file that a link at path leads to: what belongs to a file lies beside
// it, on its disk. A path without a file is returned as it is.
func target(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// create builds a complete empty file under another name and links it to its place. A
// crash leaves either no file or a whole one. A second process that creates the file at
// the same moment keeps the first one's file instead of replacing it.
func create(path string, sch schema.Schema) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+leftoverSuffix+"*")
	if err != nil {
		return err
	}
	temp := f.Name()
	defer os.Remove(temp)
	if err := f.Close(); err != nil {
		return err
	}
	db, err := openBolt(temp, false, nil)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error { return initialise(tx, sch) })
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := os.Chmod(temp, files.Mode); err != nil {
		return err
	}
	if err := files.MoveNew(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return files.SyncFolder(filepath.Dir(path))
}

const leftoverSuffix = ".new-"

// removeLeftovers deletes the files that a crash during creation or compaction left. The
// caller holds the lock of the real file, so no process is creating it. A file that
// cannot be deleted does no harm.
func removeLeftovers(path string) {
	for _, left := range files.Leftovers(filepath.Dir(path), filepath.Base(path), leftoverSuffix) {
		_ = os.Remove(left)
	}
}

func makeFolder(path string, noSync bool) error {
	if noSync {
		return os.MkdirAll(path, files.FolderMode)
	}
	return files.MakeFolder(path)
}

// openBolt opens the file with bbolt and turns the panics that bbolt raises on some
// damaged files into errors. If file is not nil, it is the open and locked file; bbolt
// closes it.
func openBolt(path string, noSync bool, file *os.File) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("%w (%v)", ErrCorrupt, p)
		}
	}()
	open := os.OpenFile
	if file != nil {
		open = func(string, int, os.FileMode) (*os.File, error) { return file, nil }
	}
	return bolt.Open(path, files.Mode, &bolt.Options{
		OpenFile:        open,
		Timeout:         files.LockTimeout,
		NoFreelistSync:  true,
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: initialMmap(),
		NoSync:          noSync,
	})
}

// initialMmap returns mmapSize where that reserves address space only: bbolt on Windows
// makes the file as long as its mapping.
func initialMmap() int {
	if strconv.IntSize < 64 || runtime.GOOS == "windows" {
		return 0
	}
	return mmapSize
}

// lockShared opens the file for reading and keeps writers out.
func lockShared(path string) (*os.File, error) {
	f, err := files.LockShared(path)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w (%w)", ErrNoAccess, err)
	}
	return f, err
}

// explain wraps err in the sentinel error that says what the operator can do.
func explain(err error) error {
	switch {
	case errors.Is(err, files.ErrLocked), errors.Is(err, berrors.ErrTimeout):
		return ErrLocked
	case errors.Is(err, files.ErrNoFile):
		return fmt.Errorf("%w (%w)", ErrForeign, err)
	case errors.Is(err, ErrNoAccess), errors.Is(err, ErrForeign):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w (%w)", ErrMissing, err)
	case errors.Is(err, pages.ErrForeign), errors.Is(err, syscall.EISDIR):
		return ErrForeign
	case errors.As(err, new(*pages.Fault)), errors.Is(err, survey.ErrTooManyDamaged):
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case errors.Is(err, fs.ErrPermission), files.IsReadOnly(err):
		return fmt.Errorf("%w (%w)", ErrReadOnly, err)
	case IsFull(err):
		return fmt.Errorf("%w (%w)", ErrDiskFull, err)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		return fmt.Errorf("%w (%w)", ErrCorrupt, err)
	}
	return err
}

// maxPasses bounds how often the file is mended and surveyed again: first head pages and
// records, then the branches above them.
const maxPasses = 3

// surveyed reads the file and decides whether it may be opened. It first repairs the
// flipped bits that are known with certainty. Each repair writes one byte, so that a
// crash in between causes no new damage.
func surveyed(f *os.File, sch schema.Schema) (*survey.Survey, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%w (it is a folder)", ErrForeign)
	case info.Size() == 0:
		return nil, fmt.Errorf("%w (it is empty)", ErrForeign)
	}
	if found := unread(f, info.Size(), sch); found != nil {
		return found, nil
	}
	var mended []string
	for range maxPasses {
		found, err := survey.Read(f, info.Size())
		if err != nil {
			return nil, err
		}
		found.Mended = mended
		if err := found.Identify(sch); err != nil {
			return nil, err
		}
		what, mends := found.Mends()
		if len(mends) == 0 {
			if err := found.Judge(sch); err != nil {
				return nil, err
			}
			return found, found.DropList(f)
		}
		for _, m := range mends {
			if _, err := f.WriteAt([]byte{m.Byte}, m.Offset); err != nil {
				return nil, fmt.Errorf("put a flipped bit right: %w", err)
			}
		}
		if err := f.Sync(); err != nil {
			return nil, fmt.Errorf("put a flipped bit right: %w", err)
		}
		mended = append(mended, what...)
	}
	return nil, fmt.Errorf("%w: flipped bits cannot be put right, they come back", ErrCorrupt)
}
