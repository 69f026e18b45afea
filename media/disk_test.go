package media

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"postern/event"
	"postern/store"
)

func TestNearlyFullDiskRejectsSpooling(t *testing.T) {
	st, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "m.db"), Buckets: Buckets(), NoSync: true, MinFree: 1 << 62})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	l := newLibrary(t, func(c *Config) { c.Store = st })
	photo := example(t, "photo.jpg")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(photo) }))
	defer server.Close()
	read := false
	body := readerFunc(func([]byte) (int, error) { read = true; return 0, errors.New("read") })
	if _, err := l.Spool(body); !errors.Is(err, store.ErrDiskFull) || read {
		t.Errorf("a body: %v, read: %v", err, read)
	}
	if _, err := l.Create(); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("a file from elsewhere: %v", err)
	}
	m := event.Media{Kind: event.MediaImage, URL: server.URL}
	if _, err := l.Open(t.Context(), 1, &m); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("by URL: %v", err)
	}
	if left := l.spooled(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestFileThatFillsTheDiskIsRemoved(t *testing.T) {
	l := newLibrary(t, nil)
	asked := 0
	l.admit = func() error {
		if asked++; asked > 3 {
			return store.ErrDiskFull
		}
		return nil
	}
	if _, err := l.Spool(bytes.NewReader(make([]byte, 1<<20))); !errors.Is(err, store.ErrDiskFull) || asked != 4 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	if left := l.spooled(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
