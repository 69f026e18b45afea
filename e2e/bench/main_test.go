package bench

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"postern/e2e/rig"
)

// asReference makes the test binary serve the files of a folder by http.ServeContent.
const asReference = "POSTERN_TEST_REFERENCE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asReference); dir != "" {
		fmt.Fprintln(os.Stderr, serveContent(dir))
		os.Exit(1)
	}
	rig.Main(m)
}

func serveContent(dir string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // until it is killed
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(filepath.Join(dir, filepath.Base(r.URL.Path)))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer f.Close()
		w.Header().Set("Content-Type", "image/jpeg")
		http.ServeContent(w, r, "", time.Time{}, f)
	})}
	return server.Serve(l)
}
