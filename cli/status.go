package cli

import (
	"errors"
	"io/fs"

	"postern/app"
	"postern/cluster"
	"postern/config"
	"postern/store"
)

// The exit statuses, of which statusStopped is the store's.
const (
	statusFailed  = 1
	statusUsage   = 2  // also that of a Go program that crashes
	statusStopped = 3  // see store.Options.Fatal
	statusFenced  = 4  // see app.endedByCell
	statusConfig  = 78 // EX_CONFIG of sysexits.h, which systemd calls CONFIG
)

// statuses returns the exit statuses with their meanings, in numeric order.
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
		{statusFenced, "serve stopped because another node of its cell owns the data or may own it, or takes them over from a full disk"},
		{statusConfig, "serve cannot start until the configuration, the data file or a permission is changed"},
	}
}

// unstarted is the error of a failed start.
type unstarted struct{ error }

func (u unstarted) Unwrap() error { return u.error }

// lasts reports whether further starts fail as well until a person changes
// something: the configuration, a data file that this program cannot or must not read, a
// permission. An address or a file in use, a full disk and other system errors
// may be temporary.
func (u unstarted) lasts() bool {
	for _, lasting := range []error{
		store.ErrForeign, store.ErrCorrupt, store.ErrNewer, store.ErrReadOnly, fs.ErrPermission,
		store.ErrOtherCell, store.ErrNoCell, store.ErrCopy, cluster.ErrUnfit, cluster.ErrNotSynchronous, cluster.ErrLeft, cluster.ErrWentBack, cluster.ErrSettings, cluster.ErrNameTaken,
	} {
		if errors.Is(u, lasting) {
			return true
		}
	}
	return config.Lasts(u)
}

// statusOf returns the exit status of an error other than a usage error.
func statusOf(err error) int {
	if u, ok := errors.AsType[unstarted](err); ok && u.lasts() {
		return statusConfig
	}
	if errors.Is(err, app.ErrHandedOver) {
		return statusFenced
	}
	return statusFailed
}
