package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestAFileIsToldFromOthers by an ID that it keeps and that everything made of it shares.
func TestAFileIsToldFromOthers(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "p.db")
	s := openTest(t, path)
	put(t, s, "a", "1")
	id := s.ID()
	if len(id) != 32 || openTest(t, filepath.Join(folder, "other.db")).ID() == id {
		t.Fatalf("the ID is %q", id)
	}
	if _, err := FileID(path); !errors.Is(err, ErrLocked) {
		t.Errorf("of an open file: %v", err)
	}
	var taken bytes.Buffer
	n, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.WriteTo(&taken)
	if err := errors.Join(err, n.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(folder, "copy.db")
	if err := os.WriteFile(copied, taken.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Compact(t.Context(), path, declared); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, copied} {
		if got, err := FileID(file); err != nil || got != id {
			t.Errorf("%s has the ID %q, %v", file, got, err)
		}
		s := openTest(t, file)
		if s.ID() != id {
			t.Errorf("%s has the ID %q", file, s.ID())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
