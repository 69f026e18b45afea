package httpapi

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"testing"
)

// TestRefusalReachesClientsThatSendFirst: the body is larger than the buffers at both ends of a connection.
func TestRefusalReachesClientsThatSendFirst(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := NewServer(r.h, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	defer func() {
		_ = srv.Close()
		<-done
	}()
	for _, c := range []struct {
		path, contentType string
		status            int
	}{
		{"/instance/a/media/uploads", "multipart/form-data; boundary=x", http.StatusBadRequest},
		{"/instance/a/media/uploads", "text/plain", http.StatusUnsupportedMediaType},
		{"/instance/a/send/text", "application/json", http.StatusBadRequest},
	} {
		const size = 32 << 20
		conn, err := net.Dial("tcp", l.Addr().String()) //nolint:noctx // closed below
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n--x\r\n"+
			"Content-Disposition: form-data; name=\"nobody\"\r\n\r\n", c.path, token, c.contentType, size)
		if _, err := conn.Write(make([]byte, size-100)); err != nil {
			t.Errorf("%s as %s: the body was not taken: %v", c.path, c.contentType, err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s as %s: %v", c.path, c.contentType, err)
		} else if _ = res.Body.Close(); res.StatusCode != c.status {
			t.Errorf("%s as %s: %d, want %d", c.path, c.contentType, res.StatusCode, c.status)
		}
		_ = conn.Close()
	}
}
