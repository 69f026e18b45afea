package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	waBinary "go.mau.fi/whatsmeow/binary"

	"postern/sandbox/network/wire"
	"postern/sandbox/phone"
)

// dial opens a WebSocket without a handshake.
func dial(t *testing.T, s *Server, origin string) (*websocket.Conn, error) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.Endpoint().CA)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	ws, _, err := websocket.Dial(t.Context(), s.Endpoint().URL, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Origin": {origin}},
	})
	if err == nil {
		t.Cleanup(func() { _ = ws.CloseNow() })
	}
	return ws, err
}

func TestPageOfAnotherOriginCannotConnect(t *testing.T) {
	s := rigServer(t)
	if _, err := dial(t, s, "https://example.com"); err == nil {
		t.Error("a browser's page of another origin was let in")
	}
	if _, err := dial(t, s, "https://web.whatsapp.com"); err != nil {
		t.Errorf("a client was refused: %v", err)
	}
}

func TestCloseDoesNotWaitForASilentClient(t *testing.T) {
	s := rigServer(t)
	if _, err := dial(t, s, "https://web.whatsapp.com"); err != nil {
		t.Fatal(err)
	}
	soon(t, "connection", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.conns) == 1
	})
	start := time.Now()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(start); waited > handshakeTimeout/2 {
		t.Errorf("closing took %s", waited)
	}
}

// FuzzRequests sends stanzas of any shape, as a paired client could.
func FuzzRequests(f *testing.F) {
	s, err := Open(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	p, err := s.AddPhone(phone.Options{Number: "5511911111111"})
	if err != nil {
		f.Fatal(err)
	}
	for _, key := range []iqKey{
		{"encrypt", "get", "key"},
		{"encrypt", "set", "registration"},
		{"usync", "get", "usync"},
		{"md", "set", "link_code_companion_reg"},
		{"md", "set", "remove-companion-device"},
	} {
		n := stanza("iq", "id", "1", "xmlns", key.xmlns, "type", key.kind)
		n.Content = []waBinary.Node{{Tag: key.child, Content: []waBinary.Node{{Tag: "user"}}}}
		raw, _ := wire.Encode(n)
		f.Add(raw)
	}
	for _, tag := range []string{"message", "receipt", "presence", "chatstate", "ack"} {
		raw, _ := wire.Encode(stanza(tag, "id", "1", "to", p.JID(), "type", "subscribe"))
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		n, err := wire.Decode(frame)
		if err != nil || strings.HasPrefix(n.Tag, "stream") {
			return
		}
		c := looseConn(t, s)
		s.mu.Lock()
		a := s.accountOf(p.LID())
		d := &device{account: a, id: 1, conn: c}
		a.devices[1], c.device = d, d
		s.mu.Unlock()
		s.handle(c, n)
	})
}

// looseConn is a connection without a network.
func looseConn(t *testing.T, s *Server) *conn {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := &conn{ctx: ctx, cancel: cancel, log: s.log, wake: make(chan struct{}, 1), waiting: map[string]chan waBinary.Node{}}
	t.Cleanup(func() {
		cancel(nil)
		c.finish()
	})
	return c
}
