package sends

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"postern/e2e/rig"
)

// hostileFiles returns a server that does to a client whatever a
// server can do. Its paths are the names of the rows below.
func hostileFiles(t *testing.T) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/to/{target...}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("u"))
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		w.WriteHeader(code)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for piece := make([]byte, 64<<10); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/stalls", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/trickles", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
	mux.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/jpeg")
		_, _ = io.WriteString(w, "<!DOCTYPE html><html>no picture</html>")
	})
	mux.HandleFunc("/empty", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "99999999999") })
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		for piece := make([]byte, 1<<20); ; {
			if _, err := zip.Write(piece); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/no-gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "this is not compressed")
	})
	mux.HandleFunc("/raw/{what}", func(w http.ResponseWriter, r *http.Request) { rawAnswer(t, w, r.PathValue("what")) })
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// rawAnswer is an answer that breaks HTTP.
func rawAnswer(t *testing.T, w http.ResponseWriter, what string) {
	conn, out, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	switch what {
	case "short": // ends before the length that it named
		_, _ = out.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nten bytes.")
	case "headers": // no end of headers
		endless(conn, out)
	case "garbage":
		_, _ = out.WriteString("\x00\x01\x02 this is no HTTP\r\n\r\n")
	case "lengths":
		_, _ = out.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Length: 20\r\n\r\n0123456789")
	case "nothing":
	}
	_ = out.Flush()
}

func endless(conn net.Conn, out *bufio.ReadWriter) {
	_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, err := out.WriteString("HTTP/1.1 200 OK\r\n")
	for line := "X-More: " + strings.Repeat("x", 1000) + "\r\n"; err == nil; {
		_, err = out.WriteString(line)
	}
}

// TestHostileFileServerIsRefused fetches each by each route
// that takes a URL.
func TestHostileFileServerIsRefused(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := rig.NewSendScene(t, "MEDIA_TIMEOUT=1s", "MEDIA_MAX_BYTES=1048576")
	s.Vars["evil"] = hostileFiles(t)
	s.Do(t, rig.Act("$own", `{"do":"group-create","subject":"All","participants":["$anne"]}`).As("all"))
	const (
		unreached = "its address is not allowed"
		tooLarge  = "larger than 1048576 bytes"
		notHTTP   = "must be an http or https URL"
	)
	before := s.Metric("go_goroutines")
	for name, row := range map[string]struct{ url, code, text string }{
		"metadata":                     {"http://169.254.169.254/latest/meta-data", "INVALID_MEDIA", unreached},
		"metadata in one number":       {"http://2852039166/", "INVALID_MEDIA", ""},
		"metadata, IPv6-mapped":        {"http://[::ffff:169.254.169.254]/", "INVALID_MEDIA", unreached},
		"metadata through NAT64":       {"http://[64:ff9b::a9fe:a9fe]/", "INVALID_MEDIA", unreached},
		"metadata of Amazon":           {"http://[fd00:ec2::254]/", "INVALID_MEDIA", unreached},
		"link-local":                   {"http://[fe80::1%25lo]/", "INVALID_MEDIA", unreached},
		"a redirect to metadata":       {"$evil/to/x?u=http://169.254.169.254/latest", "INVALID_MEDIA", unreached},
		"a redirect to mapped":         {"$evil/to/x?u=http://[::ffff:a9fe:a9fe]/", "INVALID_MEDIA", unreached},
		"a redirect to link-local":     {"$evil/to/x?u=http://[fe80::1%2525lo]/", "INVALID_MEDIA", unreached},
		"a redirect to a file":         {"$evil/to/x?u=file:///etc/passwd", "INVALID_MEDIA", "a redirect to file"},
		"a redirect to gopher":         {"$evil/to/x?u=gopher://127.0.0.1:25/x", "INVALID_MEDIA", "a redirect to gopher"},
		"a redirect to nowhere":        {"$evil/to/x?u=http://%2500/", "INVALID_MEDIA", ""},
		"a redirect without a target":  {"$evil/to/x", "INVALID_MEDIA", ""},
		"redirects in a circle":        {"$evil/loop", "INVALID_MEDIA", "more than 5 redirects"},
		"an endless body":              {"$evil/endless", "INVALID_MEDIA", tooLarge},
		"a body that stalls":           {"$evil/stalls", "INVALID_MEDIA", "ended early"},
		"a body that trickles":         {"$evil/trickles", "INVALID_MEDIA", "ended early"},
		"no answer":                    {"$evil/silent", "INVALID_MEDIA", "no answer in time"},
		"a length that is too large":   {"$evil/huge", "INVALID_MEDIA", tooLarge},
		"a length that is not kept":    {"$evil/raw/short", "INVALID_MEDIA", "ended early"},
		"two lengths":                  {"$evil/raw/lengths", "INVALID_MEDIA", "could not be fetched"},
		"endless headers":              {"$evil/raw/headers", "INVALID_MEDIA", "could not be fetched"},
		"no HTTP":                      {"$evil/raw/garbage", "INVALID_MEDIA", "what answers there is not HTTP"},
		"a connection that is closed":  {"$evil/raw/nothing", "INVALID_MEDIA", "closed before an answer"},
		"a type that is a lie":         {"$evil/page", "INVALID_MEDIA", "text/html"},
		"an empty file":                {"$evil/empty", "INVALID_MEDIA", "empty"},
		"a bomb of gzip":               {"$evil/bomb", "INVALID_MEDIA", tooLarge},
		"gzip that is none":            {"$evil/no-gzip", "INVALID_MEDIA", "ended early"},
		"not found":                    {"$evil/status/404", "INVALID_MEDIA", "the server returned status 404"},
		"a part":                       {"$evil/status/206", "INVALID_MEDIA", "the server returned status 206"},
		"a fault":                      {"$evil/status/500", "INVALID_MEDIA", "the server returned status 500"},
		"a port without a listener":    {"http://127.0.0.1:1/x", "INVALID_MEDIA", "the connection was refused"},
		"a file":                       {"file:///etc/passwd", "INVALID_MESSAGE", notHTTP},
		"FTP":                          {"ftp://127.0.0.1/x", "INVALID_MESSAGE", notHTTP},
		"data":                         {"data:image/png;base64,AAAA", "INVALID_MESSAGE", notHTTP},
		"a script":                     {"javascript:alert(1)", "INVALID_MESSAGE", notHTTP},
		"a path":                       {"/etc/passwd", "INVALID_MESSAGE", notHTTP},
		"no host":                      {"http:///x", "INVALID_MESSAGE", notHTTP},
		"an address without its end":   {"http://[::1/x", "INVALID_MESSAGE", notHTTP},
		"a URL that is far too long":   {"http://127.0.0.1/" + strings.Repeat("x", 2100), "INVALID_MESSAGE", notHTTP},
		"a line break in the URL":      {`http://127.0.0.1/\r\nHost: other`, "INVALID_MESSAGE", notHTTP},
		"a second scheme in the first": {"view-source:http://127.0.0.1/", "INVALID_MESSAGE", notHTTP},
	} {
		t.Run(name, func(t *testing.T) { fetchEverywhere(t, s, row.url, row.code, row.text) })
	}
	nothingReached(t, s, rig.AnneNumber)
	if left, err := filepath.Glob(filepath.Join(s.DataFile()+".media", "*")); err != nil || len(left) > 0 {
		t.Errorf("left in the spool folder: %v, %v", left, err)
	}
	s.API.HTTP.CloseIdleConnections()
	s.Await("an end of all that was begun", func() bool {
		n := s.Metric("go_goroutines")
		return n > 0 && n <= before+10
	})
	s.Stop()
}

// fetchEverywhere has every route fetch a URL.
func fetchEverywhere(t *testing.T, s *rig.SendScene, url, code, text string) {
	routes := []struct{ method, path, body string }{
		{"POST", "send/media", `{"number":"$anne","mediaMessage":{"mediatype":"image","media":%}}`},
		{"POST", "send/ptt", `{"number":"$anne","audioMessage":{"audio":%}}`},
		{"POST", "send/sticker", `{"number":"$anne","stickerMessage":{"sticker":%}}`},
		{"POST", "send/link", `{"number":"$anne","linkMessage":{"link":"https://example.org","thumbnailUrl":%}}`},
		{"POST", "media/uploads", `{"mediaType":"image","media":%}`},
		{"PUT", "group/update-picture", `{"groupJid":"$all.group","image":%}`},
	}
	for _, slow := range []string{"/stalls", "/trickles", "/silent"} {
		if strings.HasSuffix(url, slow) { // a second each
			routes = []struct{ method, path, body string }{routes[0], routes[5]}
		}
	}
	if strings.HasPrefix(url, "data:") {
		routes = routes[3:] // the sends take it for the file itself
	}
	for _, row := range routes {
		began := time.Now()
		body := strings.Replace(row.body, "%", `"`+url+`"`, 1)
		a := s.Request(t, row.method, s.Fill("/instance/$name/")+row.path, "application/json", strings.NewReader(s.Fill(body)))
		refused(t, a, http.StatusUnprocessableEntity, code)
		if !strings.Contains(string(a.Body), text) || bytes.Contains(a.Body, []byte("127.0.0.1")) || bytes.Contains(a.Body, []byte("169.254")) {
			t.Errorf("%s: %s, want %q", row.path, a.Body, text)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %s", row.path, took)
		}
	}
}
