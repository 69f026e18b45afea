package logbook

import (
	"bytes"
	"os"
	"runtime"
	"testing"
	"time"

	"postern/delivery"
	"postern/delivery/digest"
	"postern/store"
)

func newLargeRig(t *testing.T) *rig {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("every start reads the file here")
	}
	r := newRig(t, options{Log: true})
	r.large = true
	r.reopen()
	return r
}

// stopped is a log of ten blocks, opened again after an orderly stop.
func (r *rig) stopped() (ids []uint64) {
	r.t.Helper()
	ids = r.failed(1, 10*digest.BlockRows)
	r.flush()
	r.reopen()
	return ids
}

func TestAStartAfterAStopReadsNoDigest(t *testing.T) {
	r := newLargeRig(t)
	r.stopped()
	if looked := r.s.Stats().Looked; looked >= 10 {
		t.Errorf("%d records and keys of 10 blocks were read", looked)
	}
	page, err := r.log.List(t.Context(), delivery.Filter{States: []delivery.State{delivery.Failed}}, "", 5)
	if err != nil || page.Total != 10*digest.BlockRows || len(page.Records) != 5 {
		t.Errorf("%d of %d, %v", len(page.Records), page.Total, err)
	}
}

// TestWhatAStopCouldNotEndIsDropped: no memory holds it any more.
func TestWhatAStopCouldNotEndIsDropped(t *testing.T) {
	r := newLargeRig(t)
	hanging, ended := r.log.Queued(notice(1), oldWay()), r.log.Queued(notice(1), oldWay())
	r.flush()
	ended.Done(delivery.Delivered, delivery.Attempt{Status: 200})
	r.flush()
	r.reopen()
	if rec, _ := r.record(hanging.id); rec.State != delivery.Dropped || rec.LastError != interrupted {
		t.Errorf("%+v", rec)
	}
	if rec, _ := r.record(ended.id); rec.State != delivery.Delivered {
		t.Errorf("%+v", rec)
	}
	r.reopen()
	if _, left := r.s.Left("delivery digest", []string{records, digests, logs}); !left {
		t.Error("the digest was read although nothing is pending")
	}
}

// TestDamagedDigestIsFoundAfterTheStart without a request for a list.
func TestDamagedDigestIsFoundAfterTheStart(t *testing.T) {
	r := newLargeRig(t)
	ids := r.stopped()
	var key, block []byte
	r.view(func(tx *store.Tx) (err error) {
		key = store.Key(digest.BlockOf(ids[3*digest.BlockRows]))
		block, err = tx.Get(digests, key)
		return err
	})
	spoilInPlace(t, r.path, sealed(key, block))
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for begun, err := time.Now(), store.ErrDamaged; err != nil; {
		if time.Since(begun) > 30*time.Second {
			t.Fatal("it was not made anew:", err)
		}
		err = r.s.View(func(tx *store.Tx) error {
			_, err := tx.Get(digests, key)
			return err
		})
	}
	if page, err := r.log.List(t.Context(), delivery.Filter{}, "", 1); err != nil || page.Total != len(ids) {
		t.Errorf("%d records, %v", page.Total, err)
	}
}

// spoilInPlace flips bits of a row in an open file.
func spoilInPlace(t *testing.T, path string, row []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for at := 0; ; found++ {
		i := bytes.Index(raw[at:], row)
		if i < 0 {
			break
		}
		last := at + i + len(row) - 1
		if _, err := f.WriteAt([]byte{raw[last] ^ 0x5a}, int64(last)); err != nil {
			t.Fatal(err)
		}
		at = last + 1
	}
	if found == 0 {
		t.Fatal("the row is not in the file")
	}
}
