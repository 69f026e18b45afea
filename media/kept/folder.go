package kept

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"postern/store/files"
)

// markName is the file that names the data file which a folder belongs to. Message ids are the same in every
// data file: two programs in one folder would replace, serve and remove each other's files.
const markName = ".postern"

// claim finds out whether the folder is the data file's own, and makes an empty one so. A keeper that is to
// keep new files has no other.
func (k *Keeper) claim() error {
	path := filepath.Join(k.cfg.Dir, markName)
	mark, err := os.ReadFile(path)
	k.own = err == nil && strings.TrimSpace(string(mark)) == k.cfg.Store.ID()
	switch {
	case k.own || !k.cfg.Enabled:
		return nil
	case err == nil:
		return fmt.Errorf("media.store.path: %s has the files of another data file: give each program a folder of its own", k.cfg.Dir)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("media.store.path: %w", err)
	}
	inside, err := os.ReadDir(k.cfg.Dir)
	if err != nil {
		return fmt.Errorf("media.store.path: %w", err)
	}
	for _, e := range inside {
		if _, err := strconv.ParseInt(e.Name(), 10, 64); err == nil {
			return fmt.Errorf("media.store.path: %s has a folder %s, and no file %s that says whose it is: choose an empty folder", k.cfg.Dir, e.Name(), markName)
		}
	}
	if err := writeSynced(path, k.cfg.Store.ID()+"\n"); err != nil {
		return fmt.Errorf("media.store.path: %w", err)
	}
	k.own = true
	return files.SyncFolder(k.cfg.Dir)
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
