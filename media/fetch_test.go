package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"postern/event"
)

func TestFileLargerThanLimitIsRejected(t *testing.T) {
	l := newLibrary(t, func(c *Config) { c.MaxBytes = 1000 })
	if path, err := l.Spool(strings.NewReader(strings.Repeat("x", 1000))); err != nil {
		t.Error(err)
	} else {
		_ = os.Remove(path)
	}
	for name, r := range map[string]io.Reader{
		"too large": strings.NewReader(strings.Repeat("x", 1001)), "empty": strings.NewReader(""),
		"broken off": io.MultiReader(strings.NewReader("x"), iotest.ErrReader(errors.New("gone"))),
	} {
		if _, err := l.Spool(r); !errors.Is(err, event.ErrMedia) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left := l.spooled(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestFetching(t *testing.T) {
	photo := example(t, "photo.jpg")
	mux := http.NewServeMux()
	mux.HandleFunc("/photo.jpg", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			t.Error("a credential was sent")
		}
		_, _ = w.Write(photo)
	})
	mux.HandleFunc("/named", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="../../list.pdf"`)
		_, _ = io.WriteString(w, "%PDF-1.4")
	})
	mux.HandleFunc("/moved/{n}", func(w http.ResponseWriter, r *http.Request) {
		n := r.PathValue("n")
		if n == "0" {
			http.Redirect(w, r, "/photo.jpg", http.StatusFound)
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/moved/%c", n[0]-1), http.StatusFound)
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "99999999999") })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	l := newLibrary(t, nil)

	open := func(path string, m event.Media) (event.MediaSource, error) {
		m.URL = server.URL + path
		return l.Open(t.Context(), 1, &m)
	}
	for _, path := range []string{"/photo.jpg", "/moved/4", "/photo.jpg?of=the shop"} {
		src, err := open(path, event.Media{Kind: event.MediaImage})
		if err != nil || src.File.Width != 160 {
			t.Fatalf("%s: %v", path, err)
		}
		src.Close()
	}
	src, err := open("/named", event.Media{Kind: event.MediaDocument})
	if err != nil || src.File.FileName != "list.pdf" || src.File.MimeType != "application/pdf" {
		t.Fatalf("%+v, %v", src, err)
	}
	src.Close()
	for _, path := range []string{"/nowhere", "/moved/9", "/file", "/huge", "/endless"} {
		if _, err := open(path, event.Media{Kind: event.MediaDocument}); !errors.Is(err, event.ErrMedia) || strings.Contains(err.Error(), server.URL+path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if info, err := l.Preview(t.Context(), 1, server.URL+"/photo.jpg"); err != nil || len(info.Thumbnail) == 0 {
		t.Error(err)
	}
	if left := l.spooled(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestGuardChecksEveryAddress(t *testing.T) {
	refused := errors.New("not there")
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the inner server was reached") }))
	defer inner.Close()
	outer := httptest.NewServer(http.RedirectHandler(inner.URL+"/secret", http.StatusFound))
	defer outer.Close()
	_, port, err := net.SplitHostPort(inner.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	l := newLibrary(t, func(c *Config) {
		c.Control = func(_, address string, _ syscall.RawConn) error {
			if strings.HasSuffix(address, ":"+port) {
				return refused
			}
			return nil
		}
	})
	if _, err := l.Open(t.Context(), 1, &event.Media{Kind: event.MediaImage, URL: outer.URL}); !errors.Is(err, refused) || !errors.Is(err, event.ErrMedia) || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("got %v", err)
	}
}

func TestHangingServerTimesOut(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "begun")
		w.(http.Flusher).Flush()
		<-release
	}))
	defer server.Close()
	defer close(release)
	l := newLibrary(t, func(c *Config) { c.Timeout = 50 * time.Millisecond })
	if _, err := l.Open(t.Context(), 1, &event.Media{Kind: event.MediaDocument, URL: server.URL}); !errors.Is(err, event.ErrMedia) {
		t.Errorf("got %v", err)
	}
}

// TestRedirectSendsNoReferer: a URL may be a secret by itself, and
// its host is nothing for the next one to know.
func TestRedirectSendsNoReferer(t *testing.T) {
	var headers []http.Header
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers = append(headers, r.Header.Clone())
		if n := len(headers); n < 4 {
			http.Redirect(w, r, fmt.Sprintf("%s/%d", server.URL, n), http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "here")
	}))
	defer server.Close()
	l := newLibrary(t, nil)
	src, err := l.Open(t.Context(), 1, &event.Media{Kind: event.MediaDocument, URL: server.URL + "/secret-path?token=secret"})
	if err != nil {
		t.Fatal(err)
	}
	src.Close()
	if len(headers) != 4 {
		t.Fatalf("%d requests", len(headers))
	}
	for i, h := range headers {
		for name, values := range h {
			if name == "Referer" || strings.Contains(strings.Join(values, " "), "secret") {
				t.Errorf("request %d has %s: %q", i, name, values)
			}
		}
	}
}

func TestFetchErrorsContainNoAddresses(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := refused.Addr().String()
	_ = refused.Close()
	banner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer banner.Close()
	go func() {
		for {
			c, err := banner.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "220 mail.internal ESMTP\r\n")
			_ = c.(*net.TCPConn).CloseWrite()
		}
	}()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("udp", banner.Addr().String()) // without a resolver
	}}
	l := newLibrary(t, func(c *Config) { c.Resolver, c.Timeout = resolver, 5*time.Second })
	for target, want := range map[string]string{
		"http://" + closed:                 "the connection was refused",
		"http://" + banner.Addr().String(): "what answers there is not HTTP",
		secure.URL:                         "TLS: its certificate is not signed by a trusted authority",
		"http://intern.example./x":         "its host could not be looked up",
	} {
		_, err := l.Open(t.Context(), 1, &event.Media{Kind: event.MediaDocument, URL: target})
		if !errors.Is(err, event.ErrMedia) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", target, err, want)
			continue
		}
		for _, hidden := range []string{"127.0.0.1", "mail", "intern", "lookup", "://"} {
			if strings.Contains(err.Error(), hidden) {
				t.Errorf("%v shows %s", err, hidden)
			}
		}
	}
}
