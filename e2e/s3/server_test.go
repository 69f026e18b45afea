package s3

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	bucketName = "files"
	accessKey  = "AKIAPOSTERNTEST"
	secretKey  = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"
)

// build compiles the server; after the first time that is only linking.
func build(t *testing.T) (program string, err error) {
	program = filepath.Join(t.TempDir(), "server")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	cmd.Dir = filepath.Join("e2e", "s3", "server")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %.500s", err, out)
	}
	return program, nil
}

// server is an S3 server behind a gate, which tests close.
type server struct {
	*testing.T
	direct string // its own URL
	gate   *httptest.Server

	mu     sync.Mutex
	down   bool
	cut    bool                // bodies of PUT requests
	short  bool                // bodies of answers to GET
	before func(*http.Request) // a request is passed on
	after  func(*http.Request) // it was answered, and the answer is not passed on yet
	log    []string            // "METHOD path range"
}

type object struct {
	Key, SHA256 string
	Size        int64
}

func newServer(t *testing.T) *server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real processes")
	}
	program, err := build(t)
	if err != nil {
		t.Skipf("the S3 server cannot be built: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-bucket", bucketName, "-access", accessKey, "-secret", secretKey)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s := &server{T: t, direct: "http://" + strings.TrimSpace(address)}
	s.gate = httptest.NewServer(http.HandlerFunc(s.pass))
	t.Cleanup(s.gate.Close)
	return s
}

// set changes how the gate behaves.
func (s *server) set(change func(*server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *server) pass(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down, cut, short, before, after := s.down, s.cut && r.Method == http.MethodPut, s.short, s.before, s.after
	s.log = append(s.log, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
	s.mu.Unlock()
	if down {
		panic(http.ErrAbortHandler)
	}
	if r.Method == http.MethodPut && (r.ContentLength <= 0 || len(r.Header.Get("X-Amz-Content-Sha256")) != 64 || r.Header.Get("X-Amz-Checksum-Sha256") == "") {
		s.Errorf("%s: length %d, hashes %q %q", r.URL.Path, r.ContentLength, r.Header.Get("X-Amz-Content-Sha256"), r.Header.Get("X-Amz-Checksum-Sha256"))
	}
	if before != nil {
		before(r)
	}
	to, _ := url.Parse(s.direct)
	p := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Host = p.In.Host // it is signed
			if cut {
				p.Out.Body = io.NopCloser(io.LimitReader(p.In.Body, p.In.ContentLength/2))
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			if short && resp.Request.Method == http.MethodGet {
				resp.Body = struct {
					io.Reader
					io.Closer
				}{io.LimitReader(resp.Body, resp.ContentLength/2), resp.Body}
			}
			if after != nil {
				after(r)
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.ServeHTTP(w, r)
}

// seen reports whether the gate saw a request.
func (s *server) seen(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.log, line)
}

func (s *server) post(path, body string) {
	s.Helper()
	resp, err := http.Post(s.direct+path, "", strings.NewReader(body)) //nolint:noctx // of this machine
	if err != nil {
		s.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.Fatalf("%s: %d", path, resp.StatusCode)
	}
}

// objects returns those of kept files, and the keys of all.
func (s *server) objects() (kept map[string]object, keys []string) {
	s.Helper()
	resp, err := http.Get(s.direct + "/-/objects") //nolint:noctx // of this machine
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	var all []object
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		s.Fatal(err)
	}
	kept = map[string]object{}
	for _, o := range all {
		keys = append(keys, o.Key)
		if o.Key != "postern/.postern" {
			kept[o.Key] = o
		}
	}
	return kept, keys
}

// environment is that of a program that keeps files there.
func (s *server) environment() []string {
	return []string{
		"MEDIA_STORE_KIND=s3", "MEDIA_STORE_S3_ENDPOINT=" + s.gate.URL, "MEDIA_STORE_S3_BUCKET=" + bucketName,
		"MEDIA_STORE_S3_ACCESS_KEY=" + accessKey, "MEDIA_STORE_S3_SECRET_KEY=" + secretKey, "MEDIA_CACHE=0",
	}
}
