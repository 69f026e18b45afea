package sandbox

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/iotest"

	"go.mau.fi/whatsmeow"
)

func TestALargeUploadIsOnTheDiskWhileTheServerRunsAndNeverInMemory(t *testing.T) {
	const size = 24 << 20
	folder := t.TempDir()
	m := newMediaStore(folder)
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
	if got, err := io.ReadAll(f.reader()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	m.add("a", f)
	m.close()
	if _, err := f.reader().Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) || m.total != 0 {
		t.Errorf("after the end: %v, %d bytes", err, m.total)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAnUploadThatEndsEarlyLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	m := newMediaStore(folder)
	gone := errors.New("gone")
	for _, size := range []int{10, maxInMemory + 10} {
		body := io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(gone))
		if _, err := m.receive(body); !errors.Is(err, gone) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestTheOldestMediaGoWhenThereAreTooMany(t *testing.T) {
	m := newMediaStore(t.TempDir())
	for _, id := range []string{"a", "b", "c"} {
		m.add(id, sealedFile{size: maxMediaTotal / 2})
	}
	_, first := m.get("a")
	_, last := m.get("c")
	if first || !last || m.total != maxMediaTotal {
		t.Errorf("first kept: %v, last kept: %v, %d bytes", first, last, m.total)
	}
}

func TestALargeFileComesBackAsItWasUploaded(t *testing.T) {
	s, _, c := synced(t, Config{})
	want := bytes.Repeat([]byte("bread "), maxInMemory/4)
	up, err := c.Upload(t.Context(), want, whatsmeow.MediaDocument)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.DownloadMediaWithPath(t.Context(), up.DirectPath, up.FileEncSHA256, up.FileSHA256, up.MediaKey, whatsmeow.MediaDocument, "", false)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	s.ForgetMedia(up.DirectPath)
	if _, ok := s.Media(up.URL); ok {
		t.Error("it is still there")
	}
}
