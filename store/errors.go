package store

import (
	"errors"
	"fmt"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"

	"postern/store/survey"
)

// Errors of Open, View and Update. Those of Open say in their text what to do.
var (
	// ErrLocked: another process has the file open.
	ErrLocked = errors.New("the data file is in use: another Postern is already running on it; stop that one first, or set store.path to another file")
	// ErrForeign: the file is not a Postern data file.
	ErrForeign = survey.ErrForeign
	// ErrCorrupt: the file is damaged beyond single records.
	ErrCorrupt = survey.ErrCorrupt
	// ErrNewer: the file was written by a newer release.
	ErrNewer = survey.ErrNewer
	// ErrMissing: there is no file.
	ErrMissing = errors.New("there is no such data file; the first start makes the one that store.path names")
	// ErrNoAccess: a file that is only to be read cannot be.
	ErrNoAccess = errors.New("the data file cannot be read; run this command as the user that runs Postern")
	// ErrReadOnly: the folder or the file cannot be written.
	ErrReadOnly = errors.New("the data file cannot be written; give the user that runs Postern write access to the folder and the file")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrFailed: an earlier commit ended in an unknown state; see Options.Fatal.
	ErrFailed = errors.New("store has failed: a commit may or may not have happened; restart Postern")
	// ErrDiskFull: the disk has no room for the change, which did not happen.
	ErrDiskFull = errors.New("disk is full or nearly full; free some space, Postern goes on by itself")
	// ErrDamaged: the record's checksum is wrong.
	ErrDamaged = errors.New("record is damaged")
	// ErrUnreadable: a record was not written, for it could not be read back.
	ErrUnreadable = errors.New("record nests deeper than a reader of JSON goes")
	// ErrUnknownBucket: no owner declared the bucket.
	ErrUnknownBucket = errors.New("bucket is not declared")
)

// advise adds to ErrCorrupt what the operator can do.
func advise(path string, err error) error {
	if !errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w; `postern check %s` lists the damage and what it costs; put back a copy of the file, or move it away to start empty", err, path)
}

// IsFull reports whether err, returned by a write to any file, says that the file cannot
// grow: the disk is full, or a quota or a limit on the size of files is reached. It is
// also true for ErrDiskFull.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) ||
		errors.Is(err, berrors.ErrMaxSizeReached) || errors.Is(err, ErrDiskFull)
}
