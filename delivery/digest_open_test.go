package delivery

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"testing"

	"postern/store"
)

// TestAFirstStartHasNothingToSetRight, and so warns of nothing.
func TestAFirstStartHasNothingToSetRight(t *testing.T) {
	st, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "t.db"), Buckets: Buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var said bytes.Buffer
	if _, err := Open(st, Config{Log: true, Logger: slog.New(slog.NewTextHandler(&said, nil))}); err != nil {
		t.Fatal(err)
	}
	if said.Len() != 0 {
		t.Error(said.String())
	}
}
