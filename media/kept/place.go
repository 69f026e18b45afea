package kept

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"postern/media/cache"
)

// place is where the files are kept: a folder, or a bucket of S3. Its methods may be called
// concurrently, those that change a file only by who holds its key (Keeper.hold).
type place interface {
	// setting names the setting that an operator corrects if files are missing.
	setting() string
	// warning says that files cannot be kept, for readers without access to the log; empty if
	// they can.
	warning() string
	// ready reports whether files can be put, before one is fetched for it. It may claim the
	// place for the data file.
	ready(ctx context.Context) error
	// create returns an empty local file for what is fetched. Its user closes and removes it.
	create(key cache.Key) (*os.File, error)
	// put keeps what is in a file of create, which it may close. Once it returns nil no crash loses it.
	put(ctx context.Context, key cache.Key, from *os.File, size int64, sha [32]byte) error
	// open returns a file for reading, until ctx ends. The error is errNone if there is none
	// of that size.
	open(ctx context.Context, key cache.Key, size int64) (io.ReadSeekCloser, error)
	// remove removes a file, if there is one. In a place of another data file it does nothing.
	remove(ctx context.Context, key cache.Key) error
	// removeAll removes all files of an instance.
	removeAll(ctx context.Context, instance int64) error
	// sweep passes the files that are there to look. It returns when to sweep again; 0: not
	// before the next start.
	sweep(ctx context.Context, look lookFunc) (again time.Duration, err error)
}

// lookFunc removes a file if no record names it and no fetch works on it. unfinished says
// that no record can name it.
type lookFunc func(key cache.Key, unfinished bool, remove func() error)

var (
	errNone = errors.New("no such file is kept")
	// errForeign means that a place belongs to another data file.
	errForeign = errors.New("the files there are of another data file")
)
