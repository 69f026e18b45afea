package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"postern/store/files"
)

// A restore replaces two files, the secrets and the data file, which cannot be one step. A
// note beside the secrets says what a restore that is cut off in between had begun. The next
// program that holds the data file settles it: the former secrets come back unless it is
// the new one.

// swapJSON is the note.
type swapJSON struct {
	Kept     string    `json:"kept,omitempty"` // the name of the file with the former secrets; empty: there were none
	Size     int64     `json:"size"`           // of the new data file
	Modified time.Time `json:"modified"`
}

// swapSuffix is added to the name of the secrets for that of the note.
const swapSuffix = ".restoring"

func swapPath(c *Config) string { return SecretsPath(c) + swapSuffix }

// errCutOff refuses secrets that may not be those of the data file.
var errCutOff = errors.New("a restore is under way, or was cut off: start the program, or restore again")

// SwapSecrets is [RestoreSecrets] with a data file, which place puts in its place. The
// secrets are the former ones again if place fails before that. The caller has the data
// file that is there, and file is the new one.
func SwapSecrets(c *Config, raw []byte, force bool, stamp, file string, place func() error) (kept string, err error) {
	p, err := planRestore(c, raw, force, stamp)
	if err != nil {
		return "", err
	}
	if p.same {
		return "", place()
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	note := swapJSON{Size: info.Size(), Modified: info.ModTime()}
	if p.kept != "" {
		note.Kept = filepath.Base(p.kept)
	}
	_, none := os.Stat(c.Store.Path)
	if none == nil { // else the place of the data file is free, and a start would settle it now
		raw, err := json.Marshal(note)
		if err != nil {
			return "", err
		}
		if err := writeAside(swapPath(c), raw, os.Rename); err != nil {
			return "", err
		}
	}
	if err = p.write(SecretsPath(c)); err == nil {
		err = place()
	}
	if err == nil {
		return p.kept, note.drop(c)
	}
	if _, now := os.Stat(c.Store.Path); none == nil || now != nil { // else a program made a data file, and has read the secrets
		err = errors.Join(err, note.settle(c))
	}
	if _, gone := os.Lstat(p.kept); gone != nil {
		return "", err
	}
	return p.kept, err
}

// SettleSecrets ends what a restore that was cut off had begun. The caller has the data
// file.
func SettleSecrets(c *Config) error {
	raw, err := os.ReadFile(swapPath(c))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var note swapJSON
	if err == nil {
		err = json.Unmarshal(raw, &note)
	}
	if err == nil {
		err = note.settle(c)
	}
	if err != nil {
		return fmt.Errorf("a restore was cut off: %s: %w", swapPath(c), err)
	}
	return nil
}

// lockAndSettle is SettleSecrets for a start, which does not have the data file yet.
func lockAndSettle(c *Config) error {
	if _, err := os.Lstat(swapPath(c)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := files.Lock(c.Store.Path)
	if errors.Is(err, files.ErrLocked) {
		return fmt.Errorf("a restore to %s is under way: %w", c.Store.Path, err)
	}
	if err == nil {
		defer f.Close()
	}
	return SettleSecrets(c)
}

// settle puts the former secrets back unless the data file is the new one.
func (n swapJSON) settle(c *Config) error {
	path := SecretsPath(c)
	info, err := os.Stat(c.Store.Path)
	switch {
	case err == nil && info.Size() == n.Size && info.ModTime().Equal(n.Modified):
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case n.Kept == "":
		err = os.Remove(path)
	default:
		kept := filepath.Join(filepath.Dir(path), filepath.Base(n.Kept))
		if err = os.Rename(kept, path); err == nil {
			_ = os.Remove(kept) // a second name of the same file stays
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it had not come to that
		return err
	}
	if err := files.SyncFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return n.drop(c)
}

func (swapJSON) drop(c *Config) error {
	if err := os.Remove(swapPath(c)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	return files.SyncFolder(filepath.Dir(swapPath(c)))
}
