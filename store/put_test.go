package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPutKeepsTheFormerFile(t *testing.T) {
	folder := t.TempDir()
	path, aside := filepath.Join(folder, "p.db"), filepath.Join(folder, "kept")
	made := func(name, value string) string {
		t.Helper()
		file := filepath.Join(folder, name)
		s := openTest(t, file)
		put(t, s, "a", value)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return file
	}
	held := func() *Held {
		t.Helper()
		h, err := Hold(path)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	early := held()
	if err := held().Put(made("first", "1"), ""); err != nil {
		t.Fatal(err)
	}
	second := made("second", "2")
	if err := early.Put(second, ""); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	s := openTest(t, path)
	if err := early.Put(second, aside); !errors.Is(err, ErrLocked) {
		t.Errorf("under a program: %v", err)
	}
	if _, err := Hold(path); !errors.Is(err, ErrLocked) {
		t.Errorf("held under a program: %v", err)
	}
	if got := get(t, s, "a"); got != "1" {
		t.Errorf("it holds %q", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(aside, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := held()
	if _, err := Open(Options{Path: path, Buckets: declared}); !errors.Is(err, ErrLocked) {
		t.Errorf("opened while it is held: %v", err)
	}
	if err := h.Put(second, aside); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto a kept file: %v", err)
	}
	if err := os.Remove(aside); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Put(second, aside), h.Close()); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{path: "2", aside: "1"} {
		s := openTest(t, file)
		if got := get(t, s, "a"); got != want {
			t.Errorf("%s holds %q, want %q", file, got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	all, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if strings.HasPrefix(f.Name(), "first") || strings.HasPrefix(f.Name(), "second") {
			t.Errorf("left: %s", f.Name())
		}
	}
}
