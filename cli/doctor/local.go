package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"postern/app"
	"postern/config"
	"postern/store"
	"postern/store/files"
)

func (r *examination) configuration() (all []Finding) {
	open := config.OpenPaths(r.Config)
	for _, w := range append(slices.Clone(r.Warnings), config.Exposures(r.Config)...) {
		if !slices.Contains(open, w) { // the secrets check reports those
			all = append(all, Finding{"configuration", Warning, oneLine(w), "change it unless it is intended; see docs/configuration.md"})
		}
	}
	for _, f := range app.FileFaults(r.Config) {
		if !strings.Contains(f.Error(), ": store.path: ") { // the checks of secrets and data folder report those
			all = append(all, Finding{"configuration", Fault, oneLine(f.Error()), "put the file or folder there, or name another one"})
		}
	}
	if len(all) == 0 {
		return one("configuration", OK, "", "all settings and the files that they name are valid")
	}
	return all
}

func (r *examination) secrets() (all []Finding) {
	for _, w := range config.OpenPaths(r.Config) {
		all = append(all, Finding{"secrets", Warning, oneLine(w), "run that command: these files give full access to every account"})
	}
	_, err := config.ReadSecrets(r.Config)
	switch {
	case isMissing(err) && r.none:
		all = append(all, one("secrets", OK, "", "none yet; the first start creates them")...)
	case isMissing(err) && r.Config.Store.URL != "":
		all = append(all, one("secrets", OK, "", "none here; those of the cell count, and this node gets a copy when it owns the cell")...)
	case isMissing(err):
		all = append(all, one("secrets", Fault, "restore them from a backup, or set authentication.global_auth_token and authentication.jwt_secret; otherwise the next start creates new ones, and all tokens become invalid",
			"the data file has no secrets beside it: %v", err)...)
	case errors.Is(err, os.ErrPermission):
		all = append(all, one("secrets", Fault, asItsUser, "%v", err)...)
	case err != nil:
		all = append(all, one("secrets", Fault, "restore the file from a backup", "%v", err)...)
	}
	if len(all) == 0 {
		return one("secrets", OK, "", "%s and the files beside it are accessible to their owner only", config.KeySource(r.Config))
	}
	return all
}

func (r *examination) where() string { return filepath.Dir(r.Config.Store.Path) }

// nearest returns the data folder, or the existing folder in which it will be created.
func (r *examination) nearest() string {
	folder := config.Absolute(r.where())
	for {
		above := filepath.Dir(folder)
		if _, err := os.Stat(folder); err == nil || above == folder {
			return folder
		}
		folder = above
	}
}

func (r *examination) folder() []Finding {
	folder := config.Absolute(r.where())
	info, err := os.Stat(folder)
	switch {
	case isMissing(err):
		return one("data folder", OK, "", "%s does not exist yet; the first start creates it", folder)
	case err != nil:
		return one("data folder", Fault, asItsUser+", or give that user the folder", "%v", err)
	case !info.IsDir():
		return one("data folder", Fault, "set store.path to a file in a folder", "%s is not a folder", folder)
	}
	if err := config.Writable(folder); err != nil {
		return one("data folder", Fault, asItsUser+", or give that user the folder", "nothing can be written into %s: %v", folder, err)
	}
	if err := readWrite(r.Config.Store.Path); err != nil && !isMissing(err) {
		return one("data folder", Fault, asItsUser+", or give that user the file", "%v", err)
	}
	return one("data folder", OK, "", "%s can be written", folder)
}

// readWrite opens a file as the program does, without changing it.
func readWrite(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func (r *examination) fileSystem() []Finding {
	kind, flaw := fileSystem(r.nearest())
	switch {
	case kind == "":
		return one("file system", OK, "", "its kind cannot be determined on this system")
	case flaw == "":
		return one("file system", OK, "", "%s", kind)
	}
	return one("file system", Warning, "set store.path to a persistent local disk", "%s: %s", kind, flaw)
}

// The number and size of the measured writes, and the time limit.
const (
	syncWrites = 60
	syncBytes  = 4 << 10
	syncTime   = 5 * time.Second
)

// Limits of the 99th percentile: the program waits for one sync before each answer to
// a stored message.
const (
	slowSync  = 50 * time.Millisecond
	awfulSync = time.Second
)

func (r *examination) syncs(ctx context.Context) []Finding {
	took, err := measureSyncs(ctx, r.where(), filepath.Base(r.Config.Store.Path))
	switch {
	case isMissing(err):
		return one("fsync", OK, "", "not measured: there is no data folder yet")
	case err != nil:
		return one("fsync", Fault, "free space, or repair the disk and its permissions: the program cannot write there either", "a file of %d KiB could not be written and synced beside the data file: %v", syncWrites*syncBytes>>10, err)
	case len(took) == 0:
		return nil // interrupted
	}
	slices.Sort(took)
	p99 := took[(len(took)*99+99)/100-1]
	text := fmt.Sprintf("p99 %v, median %v of %d writes", p99.Round(10*time.Microsecond), took[len(took)/2].Round(10*time.Microsecond), len(took))
	switch advice := "every message waits for an fsync: reduce other load on the disk, or use a faster one"; {
	case p99 >= awfulSync:
		return one("fsync", Fault, advice, "%s", text)
	case p99 >= slowSync:
		return one("fsync", Warning, advice, "%s", text)
	}
	return one("fsync", OK, "", "%s", text)
}

// measureSyncs writes to an unnamed file, and measures how long each write takes
// to reach the disk.
func measureSyncs(ctx context.Context, folder, begins string) (took []time.Duration, err error) {
	const mark = ".doctor-"
	for _, left := range files.Leftovers(folder, begins, mark) { // of one that was killed before it took the name away
		_ = os.Remove(left)
	}
	f, err := os.CreateTemp(folder, begins+mark+"*")
	if err != nil {
		return nil, err
	}
	unnamed := os.Remove(f.Name())
	gone := unnamed == nil || isMissing(unnamed) // not where an open file keeps its name
	defer func() {
		err = errors.Join(err, f.Close())
		if !gone {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	page := make([]byte, syncBytes)
	for began := time.Now(); len(took) < syncWrites && time.Since(began) < syncTime && ctx.Err() == nil; {
		start := time.Now()
		if _, err := f.Write(page); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

func (r *examination) space() []Finding {
	free, known := files.FreeBytes(r.nearest())
	if !known {
		return one("free space", OK, "", "cannot be determined on this system")
	}
	var size uint64
	if info, err := os.Stat(r.Config.Store.Path); err == nil {
		size = uint64(info.Size())
	}
	text := fmt.Sprintf("%s free; the data file has %s", mebibytes(free), mebibytes(size))
	switch {
	case free < store.DefaultMinFree:
		return one("free space", Fault, "free space: nothing new is accepted until then", "%s, and %s must stay free", text, mebibytes(store.DefaultMinFree))
	case free < store.DefaultMinFree+size:
		return one("free space", Warning, "free space: a backup and postern compact need as much as the data file has", "%s", text)
	}
	return one("free space", OK, "", "%s", text)
}
