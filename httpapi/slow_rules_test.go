package httpapi

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/httpapi/rest"
)

// pipes is a listener of in-memory connections, whose deadlines use the clock of a bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// slowly gives script a connection to the program's server, with the program's own limits, in a bubble where
// waiting takes no real time.
func slowly(t *testing.T, script func(t *testing.T, c net.Conn)) {
	t.Helper()
	slowlyWith(t, func(c *rest.Call) error {
		if err := c.NoBody(); err != nil {
			return err
		}
		return c.Response.JSON(http.StatusOK, struct{}{})
	}, script)
}

// slowlyWith is slowly for a handler of POST /x.
func slowlyWith(t *testing.T, read rest.Handler, script func(t *testing.T, c net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		connected(t, bare(io.Discard, rest.Route{Method: "POST", Path: "/x", Auth: rest.GlobalKey, Right: rest.Never, Handle: read}), func(c net.Conn) { script(t, c) })
	})
}

// connected serves h, with the program's own limits, and gives script one connection. It must be called in a
// bubble.
func connected(t *testing.T, h http.Handler, script func(c net.Conn)) {
	t.Helper()
	srv := NewServer(h, slog.New(slog.DiscardHandler))
	l := pipes{make(chan net.Conn), make(chan struct{})}
	done := make(chan error)
	go func() { done <- srv.Serve(l) }()
	client, server := net.Pipe()
	l.conns <- server
	script(client)
	client.Close()
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// cut returns the bytes received until the server closes, and the time until then.
func cut(t *testing.T, c net.Conn) (answer string, after time.Duration) {
	t.Helper()
	start := time.Now()
	raw, err := io.ReadAll(c)
	if err != nil {
		t.Error(err)
	}
	return string(raw), time.Since(start)
}

// cutOff checks the answer to a body that took longer than limit.
func cutOff(t *testing.T, c net.Conn, limit time.Duration) {
	t.Helper()
	answer, after := cut(t, c)
	if !strings.HasPrefix(answer, "HTTP/1.1 408 ") || !strings.Contains(answer, `"code":"BODY_TIMEOUT"`) {
		t.Errorf("got %q", answer)
	}
	if after < limit || after > limit+10*time.Second {
		t.Errorf("after %v, want %v", after, limit)
	}
}

func TestSlowHeadersAreCutOff(t *testing.T) {
	slowly(t, func(t *testing.T, c net.Conn) {
		_, _ = io.WriteString(c, "POST /x HTTP/1.1\r\nHost: x\r\nApikey: "+testKey+"\r\nX-Slow: ")
		if _, after := cut(t, c); after > readHeaderTimeout {
			t.Errorf("after %v, want %v", after, readHeaderTimeout)
		}
	})
}

func TestStalledBodyIs408After60Seconds(t *testing.T) {
	slowly(t, func(t *testing.T, c net.Conn) {
		_, _ = io.WriteString(c, "POST /x HTTP/1.1\r\nHost: x\r\nApikey: "+testKey+"\r\nContent-Length: 10\r\n\r\n{")
		cutOff(t, c, rest.BodyTimeout)
	})
}

// TestUnreadBodyHoldsNothing: the server discards the rest of a body before it answers.
func TestUnreadBodyHoldsNothing(t *testing.T) {
	slowly(t, func(t *testing.T, c net.Conn) {
		_, _ = io.WriteString(c, "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
		answer, after := cut(t, c)
		if !strings.HasPrefix(answer, "HTTP/1.1 404 ") || after > 2*rest.LingerTime {
			t.Errorf("after %v: %q", after, answer)
		}
	})
}

// TestUnauthenticatedBodyHoldsNoConnection, nor on a route that reads none: with a minute for each, a
// client could occupy all connections with little effort.
func TestUnauthenticatedBodyHoldsNoConnection(t *testing.T) {
	for request, status := range map[string]string{"POST /key": "401", "GET /free": "200", "PUT /free": "405", "POST /free": "408"} {
		t.Run(request, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := bare(io.Discard, rest.Route{Method: "POST", Path: "/key", Auth: rest.GlobalKey, Right: rest.Never, Handle: ok}, rest.Route{Method: "GET", Path: "/free", Auth: rest.Public, Right: rest.Never, Handle: ok}, rest.Route{Method: "POST", Path: "/free", Auth: rest.Public, Right: rest.Never, Handle: func(c *rest.Call) error { return c.NoBody() }})
				connected(t, a, func(c net.Conn) {
					_, _ = io.WriteString(c, request+" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
					stop := dripping(c)
					answer, after := cut(t, c)
					stop()
					if !strings.HasPrefix(answer, "HTTP/1.1 "+status+" ") || after > 2*rest.LingerTime {
						t.Errorf("after %v: %.40q", after, answer)
					}
				})
			})
		})
	}
}

// TestABodyThatDripsIsCutOffToo: a byte now and then does not extend the time.
func TestABodyThatDripsIsCutOffToo(t *testing.T) {
	slowly(t, func(t *testing.T, c net.Conn) {
		_, _ = io.WriteString(c, "POST /x HTTP/1.1\r\nHost: x\r\nApikey: "+testKey+"\r\nContent-Length: 1000\r\n\r\n")
		stop := dripping(c)
		cutOff(t, c, rest.BodyTimeout)
		stop()
	})
}

// dripping sends a space every five seconds, until stop returns.
func dripping(c net.Conn) (stop func()) {
	end, dripped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(dripped)
		for {
			select {
			case <-end:
				return
			case <-time.After(5 * time.Second):
				_ = c.SetWriteDeadline(time.Now().Add(time.Second))
				_, _ = io.WriteString(c, " ")
			}
		}
	}()
	return func() {
		close(end)
		<-dripped
	}
}

func TestIdleConnectionStaysUsableUntilClosed(t *testing.T) {
	slowly(t, func(t *testing.T, c net.Conn) {
		r := bufio.NewReader(c)
		for range 2 {
			_, _ = io.WriteString(c, "POST /x HTTP/1.1\r\nHost: x\r\nApikey: "+testKey+"\r\nContent-Length: 2\r\n\r\n{}")
			res, err := http.ReadResponse(r, nil)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("got %v, %v", res, err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			time.Sleep(idleTimeout - time.Second) // costs nothing in a bubble
		}
		start := time.Now()
		if _, err := r.ReadByte(); !errors.Is(err, io.EOF) || time.Since(start) > time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}
