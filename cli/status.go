package cli

import (
	"errors"
	"io/fs"

	"postern/config"
	"postern/store"
)

// The exit statuses, of which statusStopped is the store's.
const (
	statusFailed  = 1
	statusUsage   = 2  // also that of a Go program that crashes
	statusStopped = 3  // see store.Options.Fatal
	statusConfig  = 78 // EX_CONFIG of sysexits.h, which systemd calls CONFIG
)

// statuses are the exit statuses with what they mean, in the order of their numbers.
func statuses() []struct {
	is   int
	says string
} {
	return []struct {
		is   int
		says string
	}{
		{0, "success"},
		{statusFailed, "failure; standard error has the cause and what to do"},
		{statusUsage, "invalid command line, or a checked file has faults"},
		{statusStopped, "serve stopped to protect the data file: the file is damaged, or the disk failed"},
		{statusConfig, "serve cannot start until the configuration, the data file or a permission is changed"},
	}
}

// unstarted is why the program did not start to serve.
type unstarted struct{ error }

func (u unstarted) Unwrap() error { return u.error }

// lasts reports whether every further start fails likewise until a person changes
// something: the configuration, a data file that this program cannot or must not read, a
// right. An address or a file in use, a full disk and whatever else the system refuses
// may go away by itself.
func (u unstarted) lasts() bool {
	for _, lasting := range []error{store.ErrForeign, store.ErrCorrupt, store.ErrNewer, store.ErrReadOnly, fs.ErrPermission} {
		if errors.Is(u, lasting) {
			return true
		}
	}
	return config.Lasts(u)
}

// statusOf is the exit status of an error that is no mistake of the command line.
func statusOf(err error) int {
	if u, ok := errors.AsType[unstarted](err); ok && u.lasts() {
		return statusConfig
	}
	return statusFailed
}
