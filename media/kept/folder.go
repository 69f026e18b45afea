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
	"sync"
	"time"

	"postern/media/cache"
	"postern/store/files"
)

// markName is the file that names the data file which a folder belongs to. Message ids are the same in every
// data file: two programs in one folder would replace, serve and remove each other's files. The folder of an
// instance has one, too: without it nothing there is Postern's, whatever its name.
const markName = ".postern"

// aside is the prefix of files that are being written.
const aside = ".new-"

// folder is a place in the file system.
type folder struct {
	dir string
	id  string // of the data file
	own bool   // it belonged to the data file at the start
	log *slog.Logger

	making sync.Mutex // held while the folder of an instance is made or removed

	mu      sync.Mutex
	trouble bool      // the last file could not be kept
	logged  time.Time // last warning of it
}

// openFolder finds out whether a folder is that of the data file with the id, and makes an empty one so. A
// keeper that is to keep new files has no other.
func openFolder(dir, id string, enabled bool, log *slog.Logger) (*folder, error) {
	f := &folder{dir: dir, id: id, log: log}
	if !enabled {
		f.own = f.owned(dir) == nil
		return f, nil
	}
	if err := f.claim(dir); err != nil {
		return nil, err
	}
	f.own = true
	return f, nil
}

// owned reports whether a folder is the data file's own: nil, errForeign, or that there is no folder or no mark.
func (f *folder) owned(dir string) error {
	mark, err := os.ReadFile(filepath.Join(dir, markName))
	if err == nil && strings.TrimSpace(string(mark)) != f.id {
		err = fmt.Errorf("%w: %s: give each program a folder of its own", errForeign, dir)
	}
	return err
}

// claim makes a folder the data file's own, unless it is another's or has files that look like kept ones.
func (f *folder) claim(dir string) error {
	err := f.owned(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = f.mark(dir)
	}
	if err != nil {
		return fmt.Errorf("media.store.path: %w", err)
	}
	return nil
}

func (f *folder) mark(dir string) error {
	if err := files.MakeFolder(dir); err != nil {
		return err
	}
	inside, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range inside {
		if _, ours := idOf(e.Name()); ours {
			return fmt.Errorf("%w, or of one that is unknown: %s has %s, and no file %s that says whose it is; copy that file, too, if the folder is a copy, or choose an empty folder", errForeign, dir, e.Name(), markName)
		}
	}
	if err := writeSynced(filepath.Join(dir, markName), f.id+"\n"); err != nil {
		return err
	}
	return files.SyncFolder(dir)
}

// writeSynced writes a small file aside and renames it.
func writeSynced(path, text string) error {
	_ = os.Remove(path + aside)
	f, err := os.OpenFile(path+aside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(path+aside, path)
	}
	if err != nil {
		_ = os.Remove(path + aside)
	}
	return err
}

// idOf returns the id that is the name of a folder or file.
func idOf(name string) (id int64, ok bool) {
	id, err := strconv.ParseInt(name, 10, 64)
	return id, err == nil && id > 0 && strconv.FormatInt(id, 10) == name
}

func (f *folder) of(instance int64) string {
	return filepath.Join(f.dir, strconv.FormatInt(instance, 10))
}

func (f *folder) path(key cache.Key) string {
	return filepath.Join(f.of(key.Instance), strconv.FormatInt(key.Message, 10))
}

// has reports whether the folder of an instance is the data file's own. The error is as that of owned; a
// symbolic link is no folder of Postern's.
func (f *folder) has(instance int64) error {
	dir := f.of(instance)
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%w: %s is no folder", errForeign, dir)
	}
	if err != nil {
		return err
	}
	return f.owned(dir)
}

func (f *folder) setting() string { return "media.store.path" }

func (f *folder) warning() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.trouble {
		return ""
	}
	return "files of messages cannot be kept in media.store.path: the log says why"
}

// judge notes whether a file could be kept, and logs once a minute that none can.
func (f *folder) judge(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.trouble = err != nil; f.trouble && time.Since(f.logged) > time.Minute {
		f.logged = time.Now()
		f.log.Warn("files of messages cannot be kept; trying again: check media.store.path", "error", err)
	}
	return err
}

// ready finds out whether the folder is still the one of the start; it makes one that was removed.
func (f *folder) ready(context.Context) error {
	if err := f.claim(f.dir); err != nil {
		return f.judge(err)
	}
	return nil
}

// create returns a file beside the place of the kept one.
func (f *folder) create(key cache.Key) (*os.File, error) {
	f.making.Lock()
	defer f.making.Unlock()
	err := f.has(key.Instance)
	if errors.Is(err, fs.ErrNotExist) {
		err = f.claim(f.of(key.Instance))
	}
	path := filepath.Join(f.of(key.Instance), aside+strconv.FormatInt(key.Message, 10))
	if err == nil {
		err = unlink(path)
	}
	if err != nil {
		return nil, f.judge(err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, f.judge(err)
	}
	return file, nil
}

// put renames a file of create.
func (f *folder) put(_ context.Context, key cache.Key, from *os.File, _ int64, _ [32]byte) error {
	err := errors.Join(from.Sync(), from.Close()) // Windows renames no open file
	if err == nil {
		err = os.Rename(from.Name(), f.path(key))
	}
	if err == nil {
		err = files.SyncFolder(f.of(key.Instance))
	}
	return f.judge(err)
}

func (f *folder) open(_ context.Context, key cache.Key, size int64) (io.ReadSeekCloser, error) {
	if !f.own {
		return nil, errForeign
	}
	if err := f.has(key.Instance); err != nil {
		return nil, noneOr(err)
	}
	path := f.path(key)
	there, err := os.Lstat(path)
	if err != nil || !there.Mode().IsRegular() || there.Size() != size { // a pipe would block
		return nil, errNone
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, errNone
	}
	if info, err := file.Stat(); err != nil || !os.SameFile(info, there) || info.Size() != size {
		_ = file.Close()
		return nil, errNone
	}
	return file, nil
}

func noneOr(err error) error {
	if errors.Is(err, errForeign) {
		return err
	}
	return errNone
}

func (f *folder) remove(_ context.Context, key cache.Key) error {
	if !f.own {
		return nil
	}
	if err := f.has(key.Instance); err != nil {
		return unlessAbsent(err)
	}
	return unlink(f.path(key))
}

// unlessAbsent returns the error of has, or nil if there is nothing of Postern's.
func unlessAbsent(err error) error {
	if err == nil || errors.Is(err, errForeign) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// unlink removes a regular file, if there is one. Postern makes no other kind.
func unlink(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f *folder) removeAll(_ context.Context, instance int64) error {
	if !f.own {
		return nil
	}
	err := f.each(instance, func(_ int64, path string, _ bool) error { return unlink(path) })
	if err != nil {
		return err
	}
	return f.tidy(instance)
}

// each calls fn for the kept and the unfinished files of an instance.
func (f *folder) each(instance int64, fn func(message int64, path string, unfinished bool) error) error {
	if err := f.has(instance); err != nil {
		return unlessAbsent(err)
	}
	inside, err := os.ReadDir(f.of(instance))
	if err != nil {
		return err
	}
	for _, e := range inside {
		number, unfinished := strings.CutPrefix(e.Name(), aside)
		if message, ours := idOf(number); ours && e.Type().IsRegular() {
			if err := fn(message, filepath.Join(f.of(instance), e.Name()), unfinished); err != nil {
				return err
			}
		}
	}
	return nil
}

// tidy removes the folder of an instance if it has no file.
func (f *folder) tidy(instance int64) error {
	f.making.Lock()
	defer f.making.Unlock()
	dir := f.of(instance)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return unlessAbsent(err)
	}
	inside, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range inside {
		if name := e.Name(); name != markName && name != markName+aside {
			return nil
		}
	}
	if len(inside) > 0 {
		if err := f.has(instance); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unlessAbsent(err)
		}
		if err := files.SyncFolder(dir); err != nil { // no file is there without the mark
			return err
		}
		if err := errors.Join(unlink(filepath.Join(dir, markName+aside)), unlink(filepath.Join(dir, markName))); err != nil {
			return err
		}
	}
	return os.Remove(dir)
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
		instance, ours := idOf(e.Name())
		if !ours || !e.IsDir() {
			continue
		}
		err := f.each(instance, func(message int64, path string, unfinished bool) error {
			if ctx.Err() == nil {
				look(cache.Key{Instance: instance, Message: message}, unfinished, func() error { return unlink(path) })
			}
			return context.Cause(ctx)
		})
		if ctx.Err() != nil {
			return 0, nil
		}
		if err = errors.Join(err, f.tidy(instance)); err != nil {
			f.log.Warn("a folder of kept files cannot be read or removed: check media.store.path", "instance_id", instance, "error", err)
		}
	}
	return 0, nil
}
