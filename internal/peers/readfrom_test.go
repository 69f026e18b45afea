package peers

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// copying counts the files that a server passes to the connection itself.
type copying struct {
	net.Conn
	files *atomic.Int32
}

// ReadFrom implements io.ReaderFrom.
func (c copying) ReadFrom(r io.Reader) (int64, error) {
	if limited, is := r.(*io.LimitedReader); is {
		if _, is := limited.R.(*os.File); is {
			c.files.Add(1)
		}
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, r)
}

type copyingListener struct {
	net.Listener
	files *atomic.Int32
}

// Accept implements net.Listener.
func (l copyingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return copying{c, l.files}, err
}

// TestFilesArePassedToTheConnection: the kernel can copy them.
func TestFilesArePassedToTheConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	tcp, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var files atomic.Int32
	l := Listen(copyingListener{tcp, &files}, Limits{Total: 10})
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(path)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		w.Header().Set("Content-Type", "image/jpeg")
		http.ServeContent(w, r, "", time.Time{}, f)
	})}
	go func() { _ = l.Serve(server) }()
	t.Cleanup(func() { _ = server.Close() })
	res, err := http.Get("http://" + tcp.Addr().String()) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, res.Body); err != nil || n != 1<<20 || files.Load() == 0 {
		t.Errorf("%d bytes, %d passed, %v", n, files.Load(), err)
	}
}
