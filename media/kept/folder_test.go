package kept

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/event"
	"postern/media/cache"
	"postern/store"
)

func newStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "data.db"), Buckets: Buckets(), MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// foreign returns a folder with a file of another program.
func foreign(t *testing.T, mark string) (folder, file string) {
	t.Helper()
	folder = t.TempDir()
	file = filepath.Join(folder, "1", "7")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if mark != "" {
		if err := os.WriteFile(filepath.Join(folder, markName), []byte(mark), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, file
}

func TestFolderOfAnotherDataFileIsRefused(t *testing.T) {
	s := newStore(t)
	for name, mark := range map[string]string{"another's": strings.Repeat("0", 32) + "\n", "of no known one": ""} {
		folder, file := foreign(t, mark)
		if _, err := Open(Config{Store: s, Enabled: true, Dir: folder}); err == nil || !strings.Contains(err.Error(), "media.store.path") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	folder := t.TempDir()
	for range 2 { // the second start finds the mark of the first
		if _, err := Open(Config{Store: s, Enabled: true, Dir: folder}); err != nil {
			t.Error(err)
		}
	}
}

// TestNothingOfAnotherFolderIsServedOrRemoved: files are not kept any more, the path names another program's folder,
// and the record of a file of that size says STORED.
func TestNothingOfAnotherFolderIsServedOrRemoved(t *testing.T) {
	s := newStore(t)
	folder, file := foreign(t, "")
	key := cache.Key{Instance: 1, Message: 7}
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		return put(tx, 1, 7, Record{}, Record{State: Stored, Size: 5, StoredAt: event.At(time.Now())})
	})
	if err != nil {
		t.Fatal(err)
	}
	k, err := Open(Config{Store: s, Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := k.Open(t.Context(), key); ok {
		t.Error("it is served")
	}
	if err := k.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.sweep(); err != nil {
		t.Error(err)
	}
	if err := k.clear(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
