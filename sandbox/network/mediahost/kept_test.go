package mediahost

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// put stores a file as an upload does.
func put(t *testing.T, h *Host, data []byte) (path string) {
	t.Helper()
	f, err := h.receive(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	id := newID()
	h.add(id, f)
	return Path(id)
}

// TestKeptFilesSurviveARestart, in either size, with what WhatsApp has forgotten.
func TestKeptFilesSurviveARestart(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "p.db.media")
	h := host(t, folder)
	small, large := []byte("small"), bytes.Repeat([]byte("large"), maxInMemory)
	paths := map[string][]byte{put(t, h, small): small, put(t, h, large): large}
	gone, lost := put(t, h, small), put(t, h, small)
	h.Forget(gone)
	h.Lose(lost)
	if again, ok := h.Again(gone); !ok {
		t.Error("phones do not have what WhatsApp forgot")
	} else if data, ok := h.File(again); !ok || !bytes.Equal(data, small) {
		t.Errorf("uploaded again: %q %v", data, ok)
	}
	for range 2 {
		for path, want := range paths {
			if data, ok := h.File(URL(path)); !ok || !bytes.Equal(data, want) {
				t.Errorf("%s: %d bytes, %v", path, len(data), ok)
			}
		}
		if _, ok := h.File(gone); ok {
			t.Error("what WhatsApp forgot is there")
		}
		if again, ok := h.Again(gone); !ok {
			t.Error("phones do not have what WhatsApp forgot")
		} else if data, ok := h.File(again); !ok || !bytes.Equal(data, small) {
			t.Errorf("uploaded again: %q %v", data, ok)
		}
		if _, ok := h.Again(lost); ok {
			t.Error("phones have what they lost")
		}
		if want := int64(2*len(small) + len(large)); h.total != want {
			t.Errorf("%d bytes in all, want %d", h.total, want)
		}
		h.Close()
		h = host(t, folder)
	}
	if files, _ := os.ReadDir(folder); len(files) != 3 {
		t.Errorf("%d files", len(files))
	}
}

// TestWhatIsOldOrTooMuchGoes, at the start as later, and what is not the host's stays.
func TestWhatIsOldOrTooMuchGoes(t *testing.T) {
	folder := t.TempDir()
	make := func(name string, size int64, age time.Duration) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	id := func(c string) string { return strings.Repeat(c, 32) }
	make(id("a"), 5, maxMediaAge+time.Hour)
	make(id("b")+goneSuffix, 5, maxMediaAge+time.Hour)
	make(id("c"), maxMediaTotal/2, 3*time.Hour)
	make(id("d"), maxMediaTotal/2, 2*time.Hour)
	make(id("e"), maxMediaTotal/2, time.Hour)
	make(newPrefix+"123", 5, 0)
	make("notes.txt", 5, 2*maxMediaAge)
	h := host(t, folder)
	left := func() (names string) {
		files, _ := os.ReadDir(folder)
		for _, f := range files {
			for _, made := range []string{id("a"), id("b"), id("c"), id("d"), id("e"), newPrefix, "notes"} {
				if strings.HasPrefix(f.Name(), made) {
					names += made[:1]
				}
			}
		}
		return names
	}
	if got := left(); got != "den" {
		t.Errorf("after the start there are %s", got)
	}
	h.Put([]byte("one more"))
	if got := left(); got != "en" || h.total != maxMediaTotal/2+8 {
		t.Errorf("after one more file there are %s, of %d bytes", got, h.total)
	}
}

// TestFailingDiskKeepsFilesInMemory, as they were before.
func TestFailingDiskKeepsFilesInMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	h := host(t, filepath.Join(file, "media"))
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if data, ok := h.File(Path(h.Put([]byte("small")))); !ok || string(data) != "small" {
		t.Errorf("%q, %v", data, ok)
	}
	if _, err := New(file); err == nil {
		t.Error("a file is taken for the folder")
	}
}
