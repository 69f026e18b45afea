package moving

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/store/sqlstore"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	waLog "go.mau.fi/whatsmeow/util/log"
	_ "modernc.org/sqlite" // the database of the old program

	"postern/e2e/rig"
	"postern/sandbox"
)

// patience is how long a test waits for what has to happen.
const patience = 30 * time.Second

// oldProgram is a program on the client library with its own store in SQLite.
type oldProgram struct {
	t     testing.TB
	net   *sandbox.Server
	path  string // of the database
	db    *sql.DB
	store *sqlstore.Container
}

// startOld opens the database at path, which may be new.
func startOld(t testing.TB, net *sandbox.Server, path string) *oldProgram {
	t.Helper()
	whatsmeow.WACertPubKey = net.Endpoint().RootKey
	o := &oldProgram{t: t, net: net, path: path}
	var err error
	if o.db, err = sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)"); err != nil {
		t.Fatal(err)
	}
	o.db.SetMaxOpenConns(1)
	o.store = sqlstore.NewWithDB(o.db, "sqlite", waLog.Noop)
	if err := o.store.Upgrade(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

// stop ends the program in order.
func (o *oldProgram) stop() {
	o.t.Helper()
	if err := o.db.Close(); err != nil {
		o.t.Fatal(err)
	}
}

// oldClient is a connection of the old program.
type oldClient struct {
	*whatsmeow.Client
	t       testing.TB
	mu      sync.Mutex
	events  []any
	changed chan struct{}
}

func (o *oldProgram) client(device *wastore.Device) *oldClient {
	o.t.Helper()
	e := o.net.Endpoint()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(e.CA) {
		o.t.Fatal("the CA of the endpoint is no PEM")
	}
	address := strings.TrimSuffix(strings.TrimPrefix(e.URL, "wss://"), "/ws/chat")
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	o.t.Cleanup(transport.CloseIdleConnections)
	c := &oldClient{Client: whatsmeow.NewClient(device, waLog.Noop), t: o.t, changed: make(chan struct{})}
	h := &http.Client{Transport: transport}
	c.SetWebsocketHTTPClient(h)
	c.SetPreLoginHTTPClient(h)
	c.SetMediaHTTPClient(h)
	c.AddEventHandler(c.record)
	return c
}

func (c *oldClient) record(e any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
	close(c.changed)
	c.changed = make(chan struct{})
}

// await returns the first event that matches.
func await[E any](c *oldClient, match func(E) bool) E {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		c.mu.Lock()
		seen, changed := c.events, c.changed
		c.mu.Unlock()
		for _, raw := range seen {
			if e, is := raw.(E); is && match(e) {
				return e
			}
		}
		select {
		case <-changed:
		case <-timeout:
			var want E
			c.t.Fatalf("no event %T", want)
		}
	}
}

func every[E any](E) bool { return true }

// pair links a new device of a phone.
func (o *oldProgram) pair(p *sandbox.Phone) *oldClient {
	o.t.Helper()
	c := o.client(o.store.NewDevice())
	if err := c.Connect(); err != nil {
		o.t.Fatal(err)
	}
	if err := p.Scan(o.t.Context(), await(c, every[*events.QR]).Codes[0]); err != nil {
		o.t.Fatal(err)
	}
	await(c, every[*events.Connected])
	return c
}

func (c *oldClient) send(to types.JID, text string) {
	c.t.Helper()
	if _, err := c.SendMessage(c.t.Context(), to, &waE2E.Message{Conversation: &text}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *oldClient) reads(text string) {
	c.t.Helper()
	await(c, func(m *events.Message) bool { return m.Message.GetConversation() == text })
}

// phone adds a simulated phone.
func phone(w *rig.World, number string) *sandbox.Phone {
	w.T.Helper()
	p, err := w.Sandbox.AddPhone(sandbox.PhoneOptions{Number: number, PushName: "Phone " + number})
	if err != nil {
		w.T.Fatal(err)
	}
	return p
}

// gets waits for a text at a phone, and wants it there once.
func gets(t *testing.T, p *sandbox.Phone, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := p.WaitReceived(ctx, func(r sandbox.Received) bool { return r.Text == text })
	if err != nil {
		t.Fatalf("%s at %s: %v", text, p.Number(), err)
	}
	if n := p.ReceivedCount(r.ID); n != 1 {
		t.Errorf("%s reads %q %d times", p.Number(), text, n)
	}
}

// chatting is an account of the old program with two contacts, one of whom is also
// in a group with it, and texts in both directions.
type chatting struct {
	own, anne, bob *sandbox.Phone
	client         *oldClient
	group          types.JID
}

func (o *oldProgram) chat(w *rig.World, number string) *chatting {
	o.t.Helper()
	t := w.T
	c := &chatting{own: phone(w, number), anne: phone(w, number+"1"), bob: phone(w, number+"2")}
	c.client = o.pair(c.own)
	for i := range 3 {
		text := fmt.Sprintf("old %d of %s", i, number)
		c.client.send(c.anne.JID(), text)
		gets(t, c.anne, text)
		answer := "answer to " + text
		if _, err := c.anne.SendText(t.Context(), c.own.JID(), answer); err != nil {
			t.Fatal(err)
		}
		c.client.reads(answer)
	}
	info, err := c.client.CreateGroup(t.Context(), whatsmeow.ReqCreateGroup{Name: "team", Participants: []types.JID{c.anne.JID(), c.bob.JID()}})
	if err != nil {
		t.Fatal(err)
	}
	c.group = info.JID
	for i := range 3 {
		text := fmt.Sprintf("group %d of %s", i, number)
		c.client.send(c.group, text)
		gets(t, c.anne, text)
		gets(t, c.bob, text)
		answer := "answer to " + text
		if _, err := c.bob.SendText(t.Context(), c.group, answer); err != nil {
			t.Fatal(err)
		}
		c.client.reads(answer)
	}
	return c
}

// databasePath returns where the old program of a test keeps its store.
func databasePath(t testing.TB) string { return filepath.Join(t.TempDir(), "whatsmeow.db") }
