package files

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"postern/httpapi/rest"
)

// client takes what steps say of each piece, and then nothing. By HTTP/1 it takes files as
// a connection does.
type client struct {
	*httptest.ResponseRecorder
	steps     []int64 // bytes; the deadline passes meanwhile
	taken     int64
	deadlines []time.Duration // from now
}

// SetWriteDeadline is called by http.ResponseController.
func (c *client) SetWriteDeadline(at time.Time) error {
	c.deadlines = append(c.deadlines, time.Until(at))
	return nil
}

// ReadFrom implements io.ReaderFrom.
func (c *client) ReadFrom(r io.Reader) (int64, error) {
	if len(c.steps) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := io.CopyN(io.Discard, r, c.steps[0])
	c.steps = c.steps[1:]
	c.taken += n
	if err == nil {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// TestStalledClientIsClosed after 30 s without a byte; a slow one is not.
func TestStalledClientIsClosed(t *testing.T) {
	c := &client{ResponseRecorder: httptest.NewRecorder(), steps: []int64{1, 1000, 1}}
	s := &stream{Response: &rest.Response{ResponseWriter: c}, plain: true}
	n, err := s.ReadFrom(&io.LimitedReader{R: zeros{}, N: 10 << 20})
	if err == nil || n != 1002 || !s.Lost || len(c.deadlines) != 4 {
		t.Errorf("%d bytes, %v, lost %t, %d deadlines", n, err, s.Lost, len(c.deadlines))
	}
	for _, d := range c.deadlines {
		if d < 29*time.Second || d > 30*time.Second {
			t.Errorf("a deadline after %v", d)
		}
	}
}

// zeros has as many bytes as are read.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestServingTakesLittleMemory: at most 1 MiB, however large the file is.
func TestServingTakesLittleMemory(t *testing.T) {
	const size = 64 << 20
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, plain := range []bool{false, true} {
		served := make(chan uint64, 1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/jpeg")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := (&stream{Response: &rest.Response{ResponseWriter: w}, plain: plain}).ReadFrom(&io.LimitedReader{R: io.NewSectionReader(f, 0, size), N: size})
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Error(err)
			}
			served <- after.TotalAlloc - before.TotalAlloc
		}))
		res, err := http.Get(server.URL) //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, res.Body); err != nil || n != size {
			t.Errorf("%d %v", n, err)
		}
		_ = res.Body.Close()
		if used := <-served; used > 1<<20 {
			t.Errorf("HTTP/1 %t: %d bytes of memory", plain, used)
		}
		server.Close()
	}
}
