package sandbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"go.mau.fi/whatsmeow/util/keys"
	waLog "go.mau.fi/whatsmeow/util/log"

	"postern/sandbox/handset"
)

// patience is how long a test waits for what has to happen.
const patience = 15 * time.Second

// TestMain sets the library's globals before any client reads them. testAuthority signs for
// every server of this process: the client library knows one root key.
func TestMain(m *testing.M) {
	handset.SetLogger(slog.New(slog.DiscardHandler))
	a, err := newAuthority()
	if err != nil {
		panic(err)
	}
	testAuthority = a
	whatsmeow.WACertPubKey = a.rootPub()
	whatsmeow.KeepAliveIntervalMin, whatsmeow.KeepAliveIntervalMax = 500*time.Millisecond, 600*time.Millisecond
	whatsmeow.KeepAliveResponseDeadline = 500 * time.Millisecond
	os.Exit(m.Run())
}

var testAuthority *authority

func openServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	cfg.authority, cfg.reserved = testAuthority, true
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

func addPhone(t testing.TB, s *Server, number string) *Phone {
	t.Helper()
	p, err := s.AddPhone(PhoneOptions{Number: number, PushName: "Phone " + number})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

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
	if device == nil {
		device = newMemoryDevice()
	}
	log := waLog.Noop
	if testing.Verbose() {
		log = waLog.Stdout("client", "WARN", false)
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

// count tells how many events match.
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
func (c *client) pairByQR(p *Phone) {
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
	m, ok := c.Store.Container.(*memoryStore)
	eventually(c.t, "tidying after the login", func() bool { return ok && m.hasTidied() })
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

// node is a stanza with attributes given as pairs.
func node(tag string, pairs ...any) waBinary.Node {
	n := waBinary.Node{Tag: tag, Attrs: waBinary.Attrs{}}
	for i := 0; i < len(pairs); i += 2 {
		n.Attrs[pairs[i].(string)] = pairs[i+1]
	}
	return n
}

func text(s string) *waE2E.Message { return &waE2E.Message{Conversation: new(s)} }

// online tells whether a linked device of the phone has a session.
func online(s *Server, p *Phone) bool {
	return slices.ContainsFunc(s.view(p).Devices, func(d deviceView) bool { return d.Online })
}

// queuedFor counts what waits for the phone's linked devices.
func queuedFor(s *Server, p *Phone) int {
	n := 0
	for _, d := range s.view(p).Devices {
		n += d.Queued
	}
	return n
}

// paired is a server with one phone and its linked client.
func paired(t testing.TB) (*Server, *Phone, *client) {
	t.Helper()
	s := openServer(t, Config{})
	p := addPhone(t, s, "5511911111111")
	c := newClient(t, s, nil)
	c.pairByQR(p)
	return s, p, c
}

// greeted waits until the account's devices have the key that a phone gives to new ones, on
// servers whose phones do.
func greeted(t *testing.T, s *Server, p *Phone) {
	t.Helper()
	a := s.appStates.account(p.Number(), s.persist)
	eventually(t, "the app state key", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return s.reserved || len(a.shares) == len(s.linkedDevices(p)) && queuedFor(s, p) == 0
	})
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

// memoryStore is the part of a device's store that pairing and messages need.
type memoryStore struct {
	*store.NoopStore
	mu       sync.Mutex
	sessions map[string][]byte
	preKeys  map[uint32]*keys.PreKey
	uploaded uint32 // highest id
	lids     map[types.JID]types.JID
	tidied   bool
}

func newMemoryDevice() *store.Device {
	m := &memoryStore{
		NoopStore: &store.NoopStore{}, sessions: map[string][]byte{},
		preKeys: map[uint32]*keys.PreKey{}, lids: map[types.JID]types.JID{},
	}
	d := &store.Device{
		Log: waLog.Noop, Container: m, LIDs: m, RegistrationID: 77,
		NoiseKey: keys.NewKeyPair(), IdentityKey: keys.NewKeyPair(), AdvSecretKey: keys.NewKeyPair().Pub[:],
	}
	d.SignedPreKey = d.IdentityKey.CreateSignedPreKey(1)
	d.SetAllStores(m)
	d.Initialized = true
	return d
}

// copyDevice is the same device in a second process: it has the same keys.
func copyDevice(d *store.Device) *store.Device {
	second := *d
	return &second
}

func (m *memoryStore) IsTrustedIdentity(context.Context, string, [32]byte) (bool, error) {
	return true, nil
}

func (m *memoryStore) GetSession(_ context.Context, address string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[address], nil
}

func (m *memoryStore) HasSession(_ context.Context, address string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[address] != nil, nil
}

func (m *memoryStore) GetManySessions(_ context.Context, addresses []string) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string][]byte{}
	for _, address := range addresses {
		found[address] = m.sessions[address]
	}
	return found, nil
}

func (m *memoryStore) PutSession(_ context.Context, address string, session []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions[address] = slices.Clone(session)
	return nil
}

func (m *memoryStore) PutManySessions(_ context.Context, sessions map[string][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(m.sessions, sessions)
	return nil
}

func (m *memoryStore) DeleteSession(_ context.Context, address string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, address)
	return nil
}

func (m *memoryStore) DeleteExpiredPrivacyTokens(context.Context, time.Time) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tidied = true
	return 0, nil
}

func (m *memoryStore) hasTidied() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tidied
}

func (m *memoryStore) generate(count uint32) []*keys.PreKey {
	var made []*keys.PreKey
	for range count {
		key := keys.NewPreKey(uint32(len(m.preKeys)) + m.uploaded + 1000)
		m.preKeys[key.KeyID] = key
		made = append(made, key)
	}
	return made
}

func (m *memoryStore) GetOrGenPreKeys(_ context.Context, count uint32) ([]*keys.PreKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.generate(min(count, 20)), nil
}

func (m *memoryStore) GenOnePreKey(context.Context) (*keys.PreKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.generate(1)[0], nil
}

func (m *memoryStore) GetPreKey(_ context.Context, id uint32) (*keys.PreKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.preKeys[id], nil
}

func (m *memoryStore) RemovePreKey(_ context.Context, id uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.preKeys[id] = nil // the id stays taken
	return nil
}

func (m *memoryStore) MarkPreKeysAsUploaded(_ context.Context, id uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uploaded = id
	return nil
}

func (m *memoryStore) UploadedPreKeyCount(context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, key := range m.preKeys {
		if key != nil {
			n++
		}
	}
	return n, nil
}

func (m *memoryStore) PutLIDMapping(_ context.Context, lid, pn types.JID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lids[pn.ToNonAD()], m.lids[lid.ToNonAD()] = lid.ToNonAD(), pn.ToNonAD()
	return nil
}

func (m *memoryStore) PutManyLIDMappings(ctx context.Context, mappings []store.LIDMapping) error {
	for _, mapping := range mappings {
		_ = m.PutLIDMapping(ctx, mapping.LID, mapping.PN)
	}
	return nil
}

func (m *memoryStore) other(jid types.JID) types.JID {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.lids[jid.ToNonAD()]
	if ok {
		found.Device = jid.Device
	}
	return found
}

func (m *memoryStore) GetPNForLID(_ context.Context, lid types.JID) (types.JID, error) {
	return m.other(lid), nil
}

func (m *memoryStore) GetLIDForPN(_ context.Context, pn types.JID) (types.JID, error) {
	return m.other(pn), nil
}

func (m *memoryStore) GetManyLIDsForPNs(_ context.Context, pns []types.JID) (map[types.JID]types.JID, error) {
	found := map[types.JID]types.JID{}
	for _, pn := range pns {
		if lid := m.other(pn); !lid.IsEmpty() {
			found[pn] = lid
		}
	}
	return found, nil
}
