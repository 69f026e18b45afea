package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestFilesLieBesideTheTargetOfALink: leftovers, the snapshot, the note of the stop,
// and the disk whose free space counts.
func TestFilesLieBesideTheTargetOfALink(t *testing.T) {
	folder, links := t.TempDir(), t.TempDir()
	path, link := filepath.Join(folder, "p.db"), filepath.Join(links, "link.db")
	if err := openTest(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(path, link), os.WriteFile(path+leftoverSuffix+"1", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, link, func(o *Options) { o.SurveyFrom, o.NoSync = 1, false })
	if _, err := os.Stat(path + leftoverSuffix + "1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the leftover is there: %v", err)
	}
	if real, err := filepath.EvalSymlinks(folder); err != nil || s.space.folder != real {
		t.Errorf("the free space of %s counts: %v", s.space.folder, err)
	}
	n, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if found, err := filepath.Glob(path + leftoverSuffix + "*"); err != nil || len(found) != 1 {
		t.Errorf("copies beside the file: %v, %v", found, err)
	}
	if err := errors.Join(n.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(notePath(path)); err != nil {
		t.Errorf("the note of the stop: %v", err)
	}
	if all, err := os.ReadDir(links); err != nil || len(all) != 1 {
		t.Errorf("beside the link: %v, %v", all, err)
	}
	if s = openTest(t, link, func(o *Options) { o.SurveyFrom, o.NoSync = 1, false }); !s.unread {
		t.Error("the start did not find the note")
	}
}

func TestLoadReplacesAFileNotItsLink(t *testing.T) {
	folder, links := t.TempDir(), t.TempDir()
	path, link := filepath.Join(folder, "p.db"), filepath.Join(links, "link.db")
	if err := errors.Join(openTest(t, path).Close(), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	d := newDatabase()
	put(t, d.owner(t, filepath.Join(t.TempDir(), "owner.db")), "a", "of the cell")
	d.load(t, link)
	if to, err := os.Readlink(link); err != nil || to != path {
		t.Errorf("the link leads to %q: %v", to, err)
	}
	if got := get(t, openTest(t, path, follow), "a"); got != "of the cell" {
		t.Errorf("the file holds %q", got)
	}
}
