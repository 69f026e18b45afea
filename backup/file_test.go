package backup

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/store/files"
)

// TestTemporaryFilesOfKilledProcessesAreRemoved, but no other files and none being
// written.
func TestTemporaryFilesOfKilledProcessesAreRemoved(t *testing.T) {
	folder := t.TempDir()
	kept := []string{
		"a.tar.unfinished-postern-", "a.tar.unfinished-postern-12x", "a.tar.new-12", "a.tar.unfinished-postern-7.bak", ".unfinished-postern-7", "living.unfinished-postern-3",
	}
	for _, name := range append([]string{"a.tar.unfinished-postern-1", "other.zip.unfinished-postern-4294967295"}, kept...) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link, full := filepath.Join(folder, "link.unfinished-postern-4"), filepath.Join(folder, "full.unfinished-postern-5")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Skip(err)
	}
	if err := os.MkdirAll(filepath.Join(full, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	unlock, err := files.LockName(filepath.Join(folder, "living.unfinished-postern-3"))
	if err != nil {
		t.Fatal(err)
	}
	if got := Unfinished(folder); len(got) != 3 {
		t.Errorf("left are %v", got)
	}
	kept = append(kept, filepath.Base(link), filepath.Base(full), "a.tar")
	if err := WriteFile(filepath.Join(folder, "a.tar"), func(w io.Writer) error {
		// Another command in the same folder leaves the file being written alone.
		other := filepath.Join(folder, "b.tar")
		if err := WriteFile(other, func(io.Writer) error { return nil }); err != nil {
			return err
		}
		if err := os.Remove(other); err != nil {
			return err
		}
		_, err := io.WriteString(w, "whole")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(kept)
	if got := listed(t, folder); !slices.Equal(got, kept) {
		t.Errorf("files are\n%v, want\n%v", got, kept)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if got := Unfinished(folder); len(got) != 2 {
		t.Errorf("left are %v", got)
	}
}

// TestFolderOfKilledRestoreIsRemoved by the next restore to the same file, and no other
// folder.
func TestFolderOfKilledRestoreIsRemoved(t *testing.T) {
	beside := t.TempDir()
	path := filepath.Join(beside, "postern.db")
	kept := []string{"other.db.unfinished-postern-1", "postern.db.restore-20260101", "postern.db.unfinished-postern-mine"}
	for _, name := range append([]string{"postern.db.unfinished-postern-1"}, kept...) {
		if err := os.MkdirAll(filepath.Join(beside, name, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	folder, remove, err := Folder(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Folder(path); err == nil {
		t.Error("two concurrent restores to one file")
	}
	if err := WriteFile(filepath.Join(beside, "x"), func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Error(err)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, beside); !slices.Equal(got, append(kept, "x")) {
		t.Errorf("folder has %v", got)
	}
}

// TestLongFileNames are accepted up to the limit of the file system, with an error beyond
// it.
func TestLongFileNames(t *testing.T) {
	folder := t.TempDir()
	writes := func(w io.Writer) error {
		_, err := io.WriteString(w, "whole")
		return err
	}
	for _, name := range []string{strings.Repeat("x", 255), strings.Repeat("ü", 127)} {
		path := filepath.Join(folder, name)
		if err := WriteFile(path, writes); err != nil {
			t.Errorf("%d bytes: %v", len(name), err)
		}
		if err := WriteFile(path, writes); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%d bytes, again: %v", len(name), err)
		}
		into, remove, err := Folder(path)
		if err != nil {
			t.Errorf("%d bytes: %v", len(name), err)
			continue
		}
		if _, _, err := Folder(path); err == nil {
			t.Errorf("%d bytes: two concurrent restores, into %s", len(name), into)
		}
		if err := remove(); err != nil {
			t.Error(err)
		}
	}
	asked := false
	err := WriteFile(filepath.Join(folder, strings.Repeat("x", 256)), func(io.Writer) error {
		asked = true
		return nil
	})
	if err == nil || asked || !strings.Contains(err.Error(), "cannot create a file of this name: file name too long") {
		t.Errorf("256 bytes: %v; written: %v", err, asked)
	}
	if got := Unfinished(folder); len(got) > 0 {
		t.Errorf("left are %v", got)
	}
}
