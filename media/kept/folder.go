package kept

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"postern/media/cache"
	"postern/store/files"
)

// markName is the file that names the data file which a folder belongs to. Message ids are the same in every
// data file: two programs in one folder would replace, serve and remove each other's files.
const markName = ".postern"

// aside is the prefix of files that are being written.
const aside = ".new-"

// folder is a place in the file system.
type folder struct {
	dir string
	own bool // it belongs to the data file
	log *slog.Logger
}

// openFolder finds out whether a folder is that of the data file with the id, and makes an empty one so. A
// keeper that is to keep new files has no other.
func openFolder(dir, id string, enabled bool, log *slog.Logger) (*folder, error) {
	f := &folder{dir: dir, log: log}
	if enabled {
		if err := files.MakeFolder(dir); err != nil {
			return nil, fmt.Errorf("media.store.path: %w", err)
		}
	}
	path := filepath.Join(dir, markName)
	mark, err := os.ReadFile(path)
	f.own = err == nil && strings.TrimSpace(string(mark)) == id
	switch {
	case f.own || !enabled:
		return f, nil
	case err == nil:
		return nil, fmt.Errorf("media.store.path: %s has the files of another data file: give each program a folder of its own", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("media.store.path: %w", err)
	}
	inside, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("media.store.path: %w", err)
	}
	for _, e := range inside {
		if _, err := strconv.ParseInt(e.Name(), 10, 64); err == nil {
			return nil, fmt.Errorf("media.store.path: %s has a folder %s, and no file %s that says whose it is: choose an empty folder", dir, e.Name(), markName)
		}
	}
	if err := writeSynced(path, id+"\n"); err != nil {
		return nil, fmt.Errorf("media.store.path: %w", err)
	}
	f.own = true
	return f, files.SyncFolder(dir)
}

// writeSynced writes a small file aside and renames it.
func writeSynced(path, text string) error {
	f, err := os.OpenFile(path+aside, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+aside, path)
}

func (f *folder) of(instance int64) string {
	return filepath.Join(f.dir, strconv.FormatInt(instance, 10))
}

func (f *folder) path(key cache.Key) string {
	return filepath.Join(f.of(key.Instance), strconv.FormatInt(key.Message, 10))
}

func (f *folder) setting() string { return "media.store.path" }

func (f *folder) warning() string { return "" }

func (f *folder) ready(context.Context) error { return nil }

// create returns a file beside the place of the kept one.
func (f *folder) create(key cache.Key) (*os.File, error) {
	path := filepath.Join(f.of(key.Instance), aside+strconv.FormatInt(key.Message, 10))
	for again := true; ; again = false {
		if err := files.MakeFolder(f.of(key.Instance)); err != nil {
			return nil, fmt.Errorf("media.store.path: %w", err)
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
		if !again || !errors.Is(err, fs.ErrNotExist) { // otherwise a sweep removed the empty folder
			return file, err
		}
	}
}

// put renames a file of create.
func (f *folder) put(_ context.Context, key cache.Key, from *os.File, _ int64, _ [32]byte) error {
	if err := errors.Join(from.Sync(), from.Close()); err != nil { // Windows renames no open file
		return err
	}
	if err := os.Rename(from.Name(), f.path(key)); err != nil {
		return err
	}
	return files.SyncFolder(f.of(key.Instance))
}

func (f *folder) open(_ context.Context, key cache.Key, size int64) (io.ReadSeekCloser, error) {
	if !f.own {
		return nil, errForeign
	}
	file, err := os.Open(f.path(key))
	if err != nil {
		return nil, errNone
	}
	if info, err := file.Stat(); err != nil || info.Size() != size {
		_ = file.Close()
		return nil, errNone
	}
	return file, nil
}

func (f *folder) remove(_ context.Context, key cache.Key) error {
	if !f.own {
		return nil
	}
	return unlink(f.path(key))
}

func unlink(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f *folder) removeAll(_ context.Context, instance int64) error {
	if !f.own {
		return nil
	}
	return os.RemoveAll(f.of(instance))
}

func (f *folder) sweep(ctx context.Context, look lookFunc) (again time.Duration, err error) {
	if !f.own {
		return 0, nil
	}
	all, err := os.ReadDir(f.dir)
	if err != nil {
		return 0, err
	}
	for _, e := range all {
		instance, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || !e.IsDir() {
			continue // not ours
		}
		names, err := os.ReadDir(f.of(instance))
		if err != nil {
			f.log.Warn("a folder of kept files cannot be read: check media.store.path", "instance_id", instance, "error", err)
			continue
		}
		for _, name := range names {
			if ctx.Err() != nil {
				return 0, nil
			}
			number, unfinished := strings.CutPrefix(name.Name(), aside)
			if message, err := strconv.ParseInt(number, 10, 64); err == nil {
				path := filepath.Join(f.of(instance), name.Name())
				look(cache.Key{Instance: instance, Message: message}, unfinished, func() error { return unlink(path) })
			}
		}
		_ = os.Remove(f.of(instance)) // if it is empty
	}
	return 0, nil
}
