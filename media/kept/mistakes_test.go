package kept

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"postern/event"
	"postern/media/cache"
	"postern/store"
)

// shelf is a keeper whose folder is claimed, with a kept file of 5 bytes, message 7 of
// instance 1.
type shelf struct {
	*Keeper
	store *store.Store
	dir   string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{store: newStore(t), dir: filepath.Join(t.TempDir(), "kept")}
	s.reopen(t)
	s.store7(t)
	return s
}

func (s *shelf) reopen(t *testing.T) {
	t.Helper()
	var err error
	if s.Keeper, err = Open(Config{Store: s.store, Enabled: true, Dir: s.dir}); err != nil {
		t.Fatal(err)
	}
}

func (s *shelf) key() cache.Key { return cache.Key{Instance: 1, Message: 7} }

// putFile puts a file in its place.
func (s *shelf) putFile(key cache.Key, content string) error {
	if err := s.at.ready(context.Background()); err != nil {
		return err
	}
	f, err := s.at.create(key)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(content); err != nil {
		return err
	}
	return s.at.put(context.Background(), key, f, int64(len(content)), [32]byte{})
}

func (s *shelf) store7(t *testing.T) {
	t.Helper()
	err := errors.Join(s.putFile(s.key(), "12345"), s.store.Update(t.Context(), func(tx *store.Tx) error {
		return put(tx, 1, 7, Record{}, Record{State: Stored, Size: 5, StoredAt: event.At(time.Now())})
	}))
	if err != nil {
		t.Fatal(err)
	}
}

func (s *shelf) served(t *testing.T) bool {
	t.Helper()
	f, ok := s.Open(t.Context(), s.key())
	if ok {
		_ = f.Close()
	}
	return ok
}

// write writes a file below the folder.
func (s *shelf) write(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("54321"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func (s *shelf) has(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

func link(t *testing.T, to, from string) {
	t.Helper()
	if err := os.Symlink(to, from); err != nil {
		t.Skip(err)
	}
}

// foreignNames are not those of kept files, however alike.
func foreignNames() []string {
	return []string{"1/007", "1/+8", "1/-8", "1/0", "1/9.txt", "1/.new-x", "1/.new-09", "1/10/11", "1/99999999999999999999", "2024/1", "2024/12", "007/1", "+3/1", "notes/1", "12"}
}

// TestOnlyPosternsFilesAreSwept: others are left, in a folder that was claimed and within
// that of an instance.
func TestOnlyPosternsFilesAreSwept(t *testing.T) {
	s := newShelf(t)
	for _, name := range append(foreignNames(), "1/4711", "1/.new-12", "outside/1") {
		s.write(t, name)
	}
	outside := filepath.Join(s.dir, "outside")
	link(t, outside, filepath.Join(s.dir, "5"))
	link(t, filepath.Join(outside, "1"), filepath.Join(s.dir, "1", "6"))
	another := &folder{dir: s.dir, id: "another's"}
	if err := another.claim(filepath.Join(s.dir, "8")); err != nil {
		t.Fatal(err)
	}
	s.write(t, "8/1")
	for range 2 {
		if _, _, err := s.sweep(); err != nil {
			t.Fatal(err)
		}
	}
	if !s.has("1/7") || s.has("1/4711") || s.has("1/.new-12") {
		t.Error("the kept file is gone, or the others are there")
	}
	for _, name := range append(foreignNames(), "outside/1", "5/1", "1/6", "8/1") {
		if !s.has(name) {
			t.Errorf("%s is gone", name)
		}
	}
}

// TestOnlyPosternsFilesGoWithInstance.
func TestOnlyPosternsFilesGoWithInstance(t *testing.T) {
	s := newShelf(t)
	for _, name := range foreignNames() {
		s.write(t, name)
	}
	for _, instance := range []int64{1, 2024} {
		if err := s.at.removeAll(t.Context(), instance); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range foreignNames() {
		if !s.has(name) {
			t.Errorf("%s is gone", name)
		}
	}
	if s.has("1/7") {
		t.Error("the kept file is there")
	}
}

// TestWhatIsNoKeptFileIsNotServed: it counts as lost, and is neither followed nor replaced.
func TestWhatIsNoKeptFileIsNotServed(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string) error{
		"shorter": func(_ *testing.T, path string) error { return os.Truncate(path, 4) },
		"longer":  func(_ *testing.T, path string) error { return os.Truncate(path, 6) },
		"removed": func(_ *testing.T, path string) error { return os.Remove(path) },
		"a folder": func(_ *testing.T, path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		},
		"a link to a file of its size": func(t *testing.T, path string) error {
			err := errors.Join(os.WriteFile(path+".elsewhere", []byte("54321"), 0o600), os.Remove(path))
			link(t, path+".elsewhere", path)
			return err
		},
		"no right to read": func(t *testing.T, path string) error {
			if os.Geteuid() == 0 {
				t.Skip("root may read everything")
			}
			return os.Chmod(path, 0)
		},
		"a folder without its mark": func(_ *testing.T, path string) error { return os.Remove(filepath.Join(filepath.Dir(path), markName)) },
		"a link to the folder": func(t *testing.T, path string) error {
			dir := filepath.Dir(path)
			err := os.Rename(dir, dir+".elsewhere")
			link(t, dir+".elsewhere", dir)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			if !s.served(t) {
				t.Fatal("the kept file is not served")
			}
			if err := change(t, filepath.Join(s.dir, "1", "7")); err != nil {
				t.Fatal(err)
			}
			if s.served(t) {
				t.Error("it is served")
			}
		})
	}
}

// TestFolderRemovedWhileRunningIsMadeAgain, and the next start takes it for its own.
func TestFolderRemovedWhileRunningIsMadeAgain(t *testing.T) {
	for _, name := range []string{"", "1"} {
		s := newShelf(t)
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
		if s.served(t) || s.Lost() != 1 {
			t.Errorf("%d lost", s.Lost())
		}
		if err := s.putFile(s.key(), "12345"); err != nil {
			t.Fatal(err)
		}
		s.reopen(t)
		if !s.served(t) {
			t.Error("it is not served after a start")
		}
	}
}

// TestFolderReplacedWhileRunningIsLeftAlone: another Postern's is mounted in its place.
func TestFolderReplacedWhileRunningIsLeftAlone(t *testing.T) {
	s, other := newShelf(t), newShelf(t)
	if err := errors.Join(os.RemoveAll(s.dir), os.Rename(other.dir, s.dir)); err != nil {
		t.Fatal(err)
	}
	if s.served(t) {
		t.Error("another's file is served")
	}
	if err := s.putFile(cache.Key{Instance: 1, Message: 8}, "12345"); !errors.Is(err, errForeign) || s.Warning() == "" {
		t.Errorf("put: %v, warning %q", err, s.Warning())
	}
	_, _, err := s.sweep()
	if err := errors.Join(err, s.Delete(t.Context(), s.key()), s.clear(), s.at.removeAll(t.Context(), 1)); err != nil {
		t.Fatal(err)
	}
	if !s.has("1/7") {
		t.Error("another's file is gone")
	}
}

// TestUnfinishedFileFollowsNoLink: what it leads to is not truncated.
func TestUnfinishedFileFollowsNoLink(t *testing.T) {
	s := newShelf(t)
	s.write(t, "precious")
	link(t, filepath.Join(s.dir, "precious"), filepath.Join(s.dir, "1", ".new-8"))
	if err := s.putFile(cache.Key{Instance: 1, Message: 8}, "1"); err == nil {
		t.Error("it was put through a link")
	}
	if raw, err := os.ReadFile(filepath.Join(s.dir, "precious")); err != nil || string(raw) != "54321" {
		t.Errorf("%q %v", raw, err)
	}
}

// TestFolderWithoutRightsFailsAndWarns until it is corrected.
func TestFolderWithoutRightsFailsAndWarns(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	s := newShelf(t)
	if err := os.Chmod(filepath.Join(s.dir, "1"), 0o500); err != nil {
		t.Fatal(err)
	}
	if err := s.putFile(cache.Key{Instance: 1, Message: 8}, "1"); !errors.Is(err, fs.ErrPermission) || s.Warning() == "" {
		t.Errorf("%v, warning %q", err, s.Warning())
	}
	if !s.served(t) {
		t.Error("a kept file is not served")
	}
	if err := errors.Join(os.Chmod(filepath.Join(s.dir, "1"), 0o700), s.putFile(cache.Key{Instance: 1, Message: 8}, "1")); err != nil || s.Warning() != "" {
		t.Errorf("%v, warning %q", err, s.Warning())
	}
}

// TestRemovedBytesCountUntilFileIsGone, over a start as well.
func TestRemovedBytesCountUntilFileIsGone(t *testing.T) {
	s := newShelf(t)
	err := errors.Join(s.putFile(cache.Key{Instance: 1, Message: 8}, "123"), s.store.Update(t.Context(), func(tx *store.Tx) error {
		return errors.Join(put(tx, 1, 8, Record{}, Record{State: Stored, Size: 3, StoredAt: event.At(time.Now())}), Drop(tx, 1, 7))
	}))
	if err != nil {
		t.Fatal(err)
	}
	s.reopen(t)
	if got := s.Bytes()[1]; got != 8 {
		t.Errorf("%d bytes before the removal, want 8", got)
	}
	if err := s.clear(); err != nil {
		t.Fatal(err)
	}
	if got := s.Bytes()[1]; got != 3 {
		t.Errorf("%d bytes after it, want 3", got)
	}
}
