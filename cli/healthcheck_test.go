package cli

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/config"
)

func TestHealthcheckSaysWhatReadySays(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	for name, c := range map[string]struct {
		status, exit int
		answer, says string
	}{
		"ready":          {200, 0, `{"status":"ready"}`, "is ready\n"},
		"with a warning": {200, 0, `{"status":"ready","warnings":["2 damaged\nrecords"]}`, `warning: "2 damaged\nrecords"`},
		"not ready":      {503, 1, `{"status":"not ready","reasons":["disk is full","the relay hangs"]}`, "is not ready: disk is full; the relay hangs"},
		"somebody else":  {200, 1, `<html>`, "not an answer of Postern"},
		"another JSON":   {404, 1, `{"error":"x"}`, "answered 404 Not Found, which is not an answer of Postern"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/ready" || r.Method != http.MethodGet {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.answer)
			}))
			defer srv.Close()
			t.Setenv("SERVER_LISTEN", strings.TrimPrefix(srv.URL, "http://"))
			for _, args := range [][]string{{"healthcheck", "--url", srv.URL + "/"}, {"healthcheck"}} {
				var out bytes.Buffer
				if status := run(t.Context(), args, &out, &out); status != c.exit || !strings.Contains(out.String(), c.says) {
					t.Errorf("%v: %d %s", args, status, out.String())
				}
			}
		})
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status":"ready"}`) }))
	defer secure.Close()
	t.Setenv("SERVER_LISTEN", strings.TrimPrefix(secure.URL, "https://"))
	t.Setenv("SERVER_TLS_CERT", "cert.pem")
	t.Setenv("SERVER_TLS_KEY", "key.pem")
	var out bytes.Buffer
	if status := run(t.Context(), []string{"healthcheck"}, &out, &out); status != 0 {
		t.Errorf("of this machine by TLS: %s", out.String())
	}
	if status := run(t.Context(), []string{"healthcheck", "--url", secure.URL}, &out, &out); status != 1 || !strings.Contains(out.String(), "certificate") {
		t.Errorf("of another, untrusted one: %d %s", status, out.String())
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	out.Reset()
	if status := run(t.Context(), []string{"healthcheck", "--url", gone.URL}, &out, &out); status != 1 || !strings.Contains(out.String(), "is the program running") {
		t.Errorf("no listener: %d %s", status, out.String())
	}
	for _, wrong := range []string{"127.0.0.1:8084", "ftp://x", "http://", "unix:", "unix://host/path"} {
		out.Reset()
		if status := run(t.Context(), []string{"healthcheck", "--url", wrong}, &out, &out); status != 2 || !strings.Contains(out.String(), "--url must be") {
			t.Errorf("%q: %d %s", wrong, status, out.String())
		}
	}
}

func TestHealthcheckAsksAtTheSocket(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status":"ready"}`) }))
	_ = srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	defer srv.Close()
	settings := filepath.Join(folder, "c.toml")
	if err := os.WriteFile(settings, []byte("[server]\nlisten = ''\nsocket = '"+path+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"healthcheck", "--config", settings}, {"healthcheck", "--url", "unix:" + path}} {
		var out bytes.Buffer
		if status := run(t.Context(), args, &out, &out); status != 0 || out.String() != "unix:"+path+" is ready\n" {
			t.Errorf("%v: %d %s", args, status, out.String())
		}
	}
	srv.Close()
	var out bytes.Buffer
	if status := run(t.Context(), []string{"healthcheck", "--config", settings}, &out, &out); status != 1 || !strings.Contains(out.String(), "is the program running") {
		t.Errorf("no listener: %d %s", status, out.String())
	}
}

func TestAProgramIsAskedWhereItListens(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8084": "http://127.0.0.1:8084", "0.0.0.0:80": "http://localhost:80", ":8084": "http://localhost:8084",
		"[::]:8084": "http://localhost:8084", "[::1]:1": "http://[::1]:1", "postern.internal:9": "http://postern.internal:9",
	} {
		cfg := &config.Config{}
		cfg.Server.Listen = listen
		if got := ownURL(cfg); got != want {
			t.Errorf("%s: %s", listen, got)
		}
		cfg.Server.BasePath = "/postern"
		if got := ownURL(cfg); got != want+"/postern" {
			t.Errorf("%s below a path: %s", listen, got)
		}
		cfg.Server.BasePath = ""
		cfg.Server.TLSCert = "cert.pem"
		if got := ownURL(cfg); got != strings.Replace(want, "http:", "https:", 1) {
			t.Errorf("%s with TLS: %s", listen, got)
		}
	}
}
