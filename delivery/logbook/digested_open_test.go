package logbook

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"postern/delivery"
	"postern/delivery/digest"
	"postern/store"
)

// TestAFirstStartHasNothingToSetRight and so logs no warning.
func TestAFirstStartHasNothingToSetRight(t *testing.T) {
	st, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "t.db"), Buckets: buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var said bytes.Buffer
	if _, _, err := (options{Log: true, Logger: slog.New(slog.NewTextHandler(&said, nil))}).open(st, nil); err != nil {
		t.Fatal(err)
	}
	if said.Len() != 0 {
		t.Error(said.String())
	}
}

// TestKillDuringRehashLeavesNoOldHashes: the next start continues the rebuild,
// whichever commit was the last.
func TestKillDuringRehashLeavesNoOldHashes(t *testing.T) {
	r := newRig(t, options{Log: true})
	r.failed(1, 3*digest.BlockRows)
	r.flush()
	r.update(func(tx *store.Tx) error { return tx.Put(logs, []byte(digest.KeyName), make([]byte, digest.KeySize-1)) }) // that of a former release
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	var images []string
	var err error
	r.s, err = store.Open(store.Options{Path: r.path, Buckets: buckets(), NoSync: true, MinFree: 1, OnCommit: func(int, time.Duration) {
		raw, err := os.ReadFile(r.path)
		image := filepath.Join(t.TempDir(), "killed.db")
		if err == nil {
			err = os.WriteFile(image, raw, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
		images = append(images, image)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.cfg.open(r.s, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	for n, image := range images {
		k := &rig{t: t, path: image, cfg: r.cfg}
		k.open()
		page, err := k.log.List(t.Context(), delivery.Filter{Query: notice(1).About.Chat}, "", 10)
		if err != nil || page.Total != 3*digest.BlockRows {
			t.Errorf("after commit %d of %d: %d are found, %v", n+1, len(images), page.Total, err)
		}
		if err := k.s.Close(); err != nil {
			t.Error(err)
		}
	}
}
