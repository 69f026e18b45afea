package sandbox

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/socket"
	"go.mau.fi/whatsmeow/types"
)

// pieces is a frameSource that returns the stream in pieces of n bytes.
func pieces(stream []byte, n int) frameSource {
	return func(context.Context) ([]byte, error) {
		if len(stream) == 0 {
			return nil, io.EOF
		}
		piece := stream[:min(n, len(stream))]
		stream = stream[len(piece):]
		return piece, nil
	}
}

func TestFramesAreReadHoweverTheStreamIsCut(t *testing.T) {
	stream := bytes.Clone(socket.WAConnHeader)
	for _, content := range []string{"first", "", "third"} {
		frame, err := packFrame([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		stream = append(stream, frame...)
	}
	for n := 1; n <= len(stream); n++ {
		f := frameReader{next: pieces(stream, n)}
		if _, err := f.preamble(t.Context()); err != nil {
			t.Fatalf("pieces of %d: %v", n, err)
		}
		for _, want := range []string{"first", "", "third"} {
			got, err := f.frame(t.Context())
			if err != nil || string(got) != want {
				t.Fatalf("pieces of %d: frame %q, %v, want %q", n, got, err, want)
			}
		}
	}
}

func TestHostileFramesAreRefused(t *testing.T) {
	huge := frameReader{next: pieces([]byte{0xFF, 0xFF, 0xFF, 1}, 4)}
	if _, err := huge.frame(t.Context()); !errors.Is(err, errFrame) {
		t.Errorf("16 MiB frame: %v", err)
	}
	other := frameReader{next: pieces([]byte("GET / HTTP/1.1"), 100)}
	if _, err := other.preamble(t.Context()); !errors.Is(err, errFrame) {
		t.Errorf("foreign protocol: %v", err)
	}
}

func TestHostileStanzasAreRefused(t *testing.T) {
	nested := bytes.Repeat([]byte{248, 2, 3, 248, 1}, 200)
	for name, frame := range map[string][]byte{
		"empty":                         {},
		"flag only":                     {0},
		"list longer than its bytes":    {0, 249, 255, 255, 3},
		"nested too deep":               append([]byte{0}, nested...),
		"tag that is a number of bytes": {0, 248, 1, 252},
		"tag that is no text":           {0, 248, 1, 0},
		"broken compression":            {2, 1, 2, 3},
	} {
		if n, err := decodeStanza(frame); !errors.Is(err, errStanza) {
			t.Errorf("%s: %v, %v", name, n, err)
		}
	}
}

func TestDeepAndOverlongStanzasAreRefusedBeforeTheyAreBuilt(t *testing.T) {
	deep := node("iq", "id", "1")
	for range maxDepth {
		deep = waBinary.Node{Tag: "iq", Content: []waBinary.Node{deep}}
	}
	raw, err := encodeStanza(deep)
	if err != nil {
		t.Fatal(err)
	}
	for want, frame := range map[string][]byte{
		"nested too deep": raw, "list of 65535 in 2 bytes": {0, 248, 2, 3, 249, 255, 255, 248, 1},
	} {
		if _, err := decodeStanza(frame); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestStanzasSurviveTheWire(t *testing.T) {
	jid := types.JID{User: "123", Server: types.HiddenUserServer, Device: 7}
	n := node("message", "id", "3A00", "to", jid)
	n.Content = []waBinary.Node{{Tag: "enc", Attrs: waBinary.Attrs{"v": "2"}, Content: bytes.Repeat([]byte{1}, 70_000)}}
	raw, err := encodeStanza(n)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeStanza(raw)
	if err != nil {
		t.Fatal(err)
	}
	inner := firstChild(got)
	if got.Tag != "message" || attrJID(got, "to") != jid || attr(&inner, "v") != "2" || len(content(inner)) != 70_000 {
		t.Errorf("decoded %s with %d bytes", got.Tag, len(content(inner)))
	}
}

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
	s := openServer(t, Config{})
	if _, err := dial(t, s, "https://example.com"); err == nil {
		t.Error("a browser's page of another origin was let in")
	}
	if _, err := dial(t, s, "https://web.whatsapp.com"); err != nil {
		t.Errorf("a client was refused: %v", err)
	}
}

func TestGarbageEndsOnlyItsOwnConnection(t *testing.T) {
	s, _, c := paired(t)
	hello := append(bytes.Clone(socket.WAConnHeader), 0, 0, 2, 0xFF, 0xFF)
	for name, bytes := range map[string][]byte{
		"header": []byte("not a client"), "hello": hello, "length": append(socket.WAConnHeader[:4:4], 255, 255, 255),
	} {
		ws, err := dial(t, s, "https://web.whatsapp.com")
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.Write(t.Context(), websocket.MessageBinary, bytes); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ws.Read(t.Context()); err == nil {
			t.Errorf("%s: the server answered", name)
		}
	}
	contact, _ := s.Phone("5511922222222")
	c.sendText(contact.JID(), "unharmed")
	receive(t, contact, "unharmed")
}

func TestCloseDoesNotWaitForASilentClient(t *testing.T) {
	s := openServer(t, Config{})
	if _, err := dial(t, s, "https://web.whatsapp.com"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "connection", func() bool {
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

func TestHandshakeHasToEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), handshakeTimeout)
		defer cancel()
		start := time.Now()
		f := frameReader{next: func(ctx context.Context) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		if _, err := f.preamble(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("silent client: %v", err)
		}
		if waited := time.Since(start); waited != handshakeTimeout {
			t.Errorf("waited %s", waited)
		}
	})
}

func FuzzDecodeStanza(f *testing.F) {
	raw, _ := encodeStanza(node("iq", "id", "1", "xmlns", "usync", "type", "get", "to", types.ServerJID))
	f.Add(raw)
	f.Add([]byte{0, 248, 2, 3, 248, 1})
	f.Add([]byte{2, 0x78, 0x9c})
	f.Fuzz(func(_ *testing.T, frame []byte) {
		if len(frame) <= maxFrame {
			_, _ = decodeStanza(frame)
		}
	})
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("WA\x06\x03\x00\x00\x01x"), 3)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		r := frameReader{next: pieces(stream, max(cut, 1))}
		if _, err := r.preamble(t.Context()); err != nil {
			return
		}
		for {
			if _, err := r.frame(t.Context()); err != nil {
				return
			}
		}
	})
}

func FuzzHandshake(f *testing.F) {
	a, err := newAuthority()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0x12, 0x22, 0x0a, 0x20}, []byte{0x22, 0})
	f.Add(append([]byte{0x12, 0x22, 0x0a, 0x20}, bytes.Repeat([]byte{9}, 32)...), []byte{})
	f.Fuzz(func(t *testing.T, hello, finish []byte) {
		state, err := newNoiseState(socket.WAConnHeader)
		if err != nil {
			t.Fatal(err)
		}
		r := &responder{state: state, static: a.static}
		if _, err := r.hello(hello, []byte("certificate")); err != nil {
			return
		}
		if _, _, _, err := r.finish(finish); err == nil {
			t.Error("a client without keys completed the handshake")
		}
	})
}

// FuzzRequests sends stanzas of any shape, as a paired client could.
func FuzzRequests(f *testing.F) {
	s, err := Open(Config{authority: testAuthority})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	p, err := s.AddPhone(PhoneOptions{Number: "5511911111111"})
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
		n := node("iq", "id", "1", "xmlns", key.xmlns, "type", key.kind)
		n.Content = []waBinary.Node{{Tag: key.child, Content: []waBinary.Node{{Tag: "user"}}}}
		raw, _ := encodeStanza(n)
		f.Add(raw)
	}
	for _, tag := range []string{"message", "receipt", "presence", "chatstate", "ack"} {
		raw, _ := encodeStanza(node(tag, "id", "1", "to", p.JID(), "type", "subscribe"))
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		n, err := decodeStanza(frame)
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
