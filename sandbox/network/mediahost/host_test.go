package mediahost

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/iotest"
)

// host is one that keeps its files in a folder, or nowhere.
func host(t *testing.T, folder string) *Host {
	t.Helper()
	h, err := New(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func TestLargeUploadIsOnlyOnTheDisk(t *testing.T) {
	const size = 24 << 20
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	m := host(t, "")
	want := bytes.Repeat([]byte("x"), size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := m.receive(bytes.NewReader(want))
	runtime.ReadMemStats(&after)
	if err != nil || f.size != size || f.data != nil {
		t.Fatalf("%d bytes, %d in memory, %v", f.size, len(f.data), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > size/2 {
		t.Errorf("%d bytes were allocated", used)
	}
	r, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	m.add("a", f)
	m.Close()
	if r, err = f.open(); err == nil {
		_, err = r.Read(make([]byte, 1))
	}
	if !errors.Is(err, os.ErrClosed) || m.total != 0 {
		t.Errorf("after the end: %v, %d bytes", err, m.total)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAnUploadThatEndsEarlyLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	m, kept := host(t, ""), host(t, filepath.Join(folder, "kept"))
	gone := errors.New("gone")
	for _, size := range []int{10, maxInMemory + 10} {
		body := io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(gone))
		if _, err := m.receive(body); !errors.Is(err, gone) {
			t.Errorf("%d bytes: %v", size, err)
		}
		body = io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(gone))
		if _, err := kept.receive(body); !errors.Is(err, gone) {
			t.Errorf("%d bytes that are to be kept: %v", size, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*", "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "sandbox-media-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOldestMediaAreRemovedFirst(t *testing.T) {
	m := host(t, "")
	for _, id := range []string{"a", "b", "c"} {
		m.add(id, sealedFile{size: maxMediaTotal / 2})
	}
	_, first := m.get("a")
	_, last := m.get("c")
	if first || !last || m.total != maxMediaTotal {
		t.Errorf("first kept: %v, last kept: %v, %d bytes", first, last, m.total)
	}
}

func TestAFileThatPhonesLostLeavesNothing(t *testing.T) {
	m := host(t, "")
	path := Path(m.Put([]byte("history")))
	again, ok := m.Again(path)
	if !ok {
		t.Fatal("the phone does not have it")
	}
	m.Lose(URL(path))
	if _, ok := m.Again(path); ok || len(m.files)+len(m.order)+len(m.again) > 0 || m.total != 0 {
		t.Errorf("%d files, %d in order, %d again, %d bytes", len(m.files), len(m.order), len(m.again), m.total)
	}
	if _, ok := m.File(again); ok {
		t.Error("what was uploaded again is still there")
	}
}
