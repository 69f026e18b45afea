package sandbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	waLog "go.mau.fi/whatsmeow/util/log"

	"postern/e2e/bare"
	"postern/sandbox/phone"
)

// client is the real client library with a store in memory.
type client struct {
	*whatsmeow.Client
	t testing.TB

	mu      sync.Mutex
	events  []any
	changed chan struct{}
}

func httpClient(t testing.TB, e Endpoint) *http.Client {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(e.CA) {
		t.Fatal("the endpoint's CA is not PEM")
	}
	address := strings.TrimSuffix(strings.TrimPrefix(e.URL, "wss://"), "/ws/chat")
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// newClient makes a client for a device: a new one, or one that was paired before.
func newClient(t testing.TB, s *Server, device *store.Device) *client {
	t.Helper()
	log := waLog.Noop
	if testing.Verbose() {
		log = waLog.Stdout("client", "WARN", false)
	}
	return newLoggingClient(t, s, device, log)
}

// newLoggingClient is newClient with a log.
func newLoggingClient(t testing.TB, s *Server, device *store.Device, log waLog.Logger) *client {
	t.Helper()
	if device == nil {
		device = bare.NewDevice()
	}
	c := &client{Client: whatsmeow.NewClient(device, log), t: t, changed: make(chan struct{})}
	h := httpClient(t, s.Endpoint())
	c.SetWebsocketHTTPClient(h)
	c.SetPreLoginHTTPClient(h)
	c.SetMediaHTTPClient(h)
	c.AddEventHandler(c.record)
	t.Cleanup(c.Disconnect)
	return c
}

func (c *client) record(e any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
	close(c.changed)
	c.changed = make(chan struct{})
}

// count returns how many events match.
func count[E any](c *client, match func(E) bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, raw := range c.events {
		if e, ok := raw.(E); ok && match(e) {
			n++
		}
	}
	return n
}

func every[E any](E) bool { return true }

// wait returns the nth event that matches, from 1.
func wait[E any](c *client, nth int, match func(E) bool) E {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		c.mu.Lock()
		seen, changed := 0, c.changed
		for _, raw := range c.events {
			if e, ok := raw.(E); ok && match(e) {
				if seen++; seen == nth {
					c.mu.Unlock()
					return e
				}
			}
		}
		c.mu.Unlock()
		select {
		case <-changed:
		case <-timeout:
			var want E
			c.t.Fatalf("no event %T number %d", want, nth)
		}
	}
}

func (c *client) connect() {
	c.t.Helper()
	if err := c.Connect(); err != nil {
		c.t.Fatal(err)
	}
}

// pairByQR connects, lets p scan and waits for the login that follows.
func (c *client) pairByQR(p *phone.Phone) {
	c.t.Helper()
	c.connect()
	qr := wait(c, 1, every[*events.QR])
	if err := p.Scan(context.Background(), qr.Codes[0]); err != nil {
		c.t.Fatal(err)
	}
	wait(c, 1, every[*events.Connected])
	c.settle()
}

// settle waits for the library's tidying after a login, which reads its device without a
// lock while a logout may be writing it.
func (c *client) settle() {
	c.t.Helper()
	eventually(c.t, "tidying after the login", func() bool { return bare.Tidied(c.Store) })
}

func (c *client) sendText(to types.JID, text string) whatsmeow.SendResponse {
	c.t.Helper()
	r, err := c.SendMessage(context.Background(), to, &waE2E.Message{Conversation: new(text)})
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

func isText(text string) func(*events.Message) bool {
	return func(m *events.Message) bool { return m.Message.GetConversation() == text }
}
