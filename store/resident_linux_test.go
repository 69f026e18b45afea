package store

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestWritesDoNotKeepTheFileResident commits 128 MB, one record after the other, and then
// measures how much of the file is mapped.
func TestWritesDoNotKeepTheFileResident(t *testing.T) {
	if os.Getpagesize() != 4096 {
		t.Skip("counted for pages of 4096 bytes")
	}
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"))
	before, value := residentFile(t), bytes.Repeat([]byte("x"), 1000)
	var most int64
	for commit := range uint64(8000) {
		err := s.Update(t.Context(), func(tx *Tx) error {
			for n := range uint64(16) {
				if err := tx.Put(thing.Name, binary.BigEndian.AppendUint64(nil, commit*16+n), value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if commit%100 == 99 {
			most = max(most, residentFile(t))
		}
	}
	if grown := most - before; grown > 2*residentAfter {
		t.Errorf("%d MB of the file were mapped at once, want %d MB at most", grown>>20, 2*residentAfter>>20)
	}
}

// residentFile returns the bytes of files that the process has mapped and resident.
func residentFile(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("RssFile:"))
	kb, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
