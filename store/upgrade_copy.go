package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"postern/store/files"
)

// beforeSuffix ends the name of the copy of a file of an earlier release.
const beforeSuffix = ".before-upgrade"

// keepBefore copies the file at path, which the caller has locked and not yet written to.
// The copy appears under its name complete or not at all, even if the process is killed.
// It leaves spare bytes of the disk free. A copy that is there already stays: it is of an
// earlier upgrade without an orderly stop since.
func keepBefore(path string, spare uint64) (err error) {
	if there, err := os.Lstat(path + beforeSuffix); err == nil && there.Mode().IsRegular() {
		return nil
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if free, known := files.FreeBytes(filepath.Dir(path)); known && free < uint64(info.Size())+spare { //nolint:gosec // never negative
		return fmt.Errorf("%w: a copy of it is kept until the first orderly stop, which takes %d MiB, and %d MiB are free, of which %d MiB are kept free: make room first, or set store.keep_before_migration to false", errOlder, info.Size()>>20, free>>20, spare>>20)
	}
	to, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+leftoverSuffix+"*")
	if err != nil {
		return err
	}
	defer os.Remove(to.Name())
	err = files.OwnedAs(to, info)
	if err == nil || errors.Is(err, fs.ErrPermission) { // the copy is then this user's alone
		_, err = io.Copy(to, from)
	}
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Rename(to.Name(), path+beforeSuffix)
	}
	if err != nil {
		return fmt.Errorf("%w: a copy of it is kept until the first orderly stop: %w", errOlder, err)
	}
	return files.SyncFolder(filepath.Dir(path))
}

var errOlder = errors.New("the data file is of an earlier release")

// DropBefore removes the copy that Open kept of the file at path, if there is one.
func DropBefore(path string) error {
	if err := os.Remove(target(path) + beforeSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the copy of before the upgrade: %w", err)
	}
	return nil
}
