package sandbox

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"

	"postern/sandbox/handset"
	"postern/sandbox/network"
	"postern/sandbox/phone"
)

// patience is how long a test waits for what has to happen.
const patience = 15 * time.Second

// TestMain sets the library's globals before any client reads them. testAuthority signs for
// every server of this process: the client library knows one root key.
func TestMain(m *testing.M) {
	handset.SetLogger(slog.New(slog.DiscardHandler))
	a, err := network.NewAuthority()
	if err != nil {
		panic(err)
	}
	testAuthority = a
	whatsmeow.WACertPubKey = a.RootPub()
	whatsmeow.KeepAliveIntervalMin, whatsmeow.KeepAliveIntervalMax = 500*time.Millisecond, 600*time.Millisecond
	whatsmeow.KeepAliveResponseDeadline = 500 * time.Millisecond
	os.Exit(m.Run())
}

var testAuthority *network.Authority

func openServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	cfg.Reserved = true
	return openGiving(t, cfg)
}

// openGiving is openServer whose phones give the key of the state to a device that logs in, as
// they do outside of tests.
func openGiving(t testing.TB, cfg Config) *Server {
	t.Helper()
	cfg.Authority = testAuthority
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func addPhone(t testing.TB, s *Server, number string) *phone.Phone {
	t.Helper()
	p, err := s.AddPhone(phone.Options{Number: number, PushName: "Phone " + number})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// paired is a server with one phone and its linked client.
func paired(t testing.TB) (*Server, *phone.Phone, *client) {
	t.Helper()
	s := openServer(t, Config{})
	p := addPhone(t, s, "5511911111111")
	c := newClient(t, s, nil)
	c.pairByQR(p)
	return s, p, c
}

// online reports whether a linked device of the phone has a session.
func online(s *Server, p *phone.Phone) bool {
	_, devices := s.Devices(p.JID())
	return slices.ContainsFunc(devices, func(d network.Device) bool { return d.Online })
}

// queuedFor counts what waits for the phone's linked devices.
func queuedFor(s *Server, p *phone.Phone) int {
	n := 0
	_, devices := s.Devices(p.JID())
	for _, d := range devices {
		n += d.Queued
	}
	return n
}

// eventually waits for a condition that no channel announces.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// node is a stanza with attributes given as pairs.
func node(tag string, pairs ...any) waBinary.Node {
	n := waBinary.Node{Tag: tag, Attrs: waBinary.Attrs{}}
	for i := 0; i < len(pairs); i += 2 {
		n.Attrs[pairs[i].(string)] = pairs[i+1]
	}
	return n
}

func text(s string) *waE2E.Message { return &waE2E.Message{Conversation: new(s)} }

func receive(t *testing.T, p *phone.Phone, text string) phone.Received {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := p.WaitReceived(ctx, func(r phone.Received) bool { return r.Text == text })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func send(t *testing.T, from, to *phone.Phone, text string) string {
	t.Helper()
	id, err := from.SendText(context.Background(), to.JID(), text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
