package whatsapp

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/sandbox"
	"postern/sandbox/handset"
	"postern/sandbox/network"
	"postern/store"
	"postern/whatsapp/device"
)

// patience is the time limit of a wait for a condition, for a machine under load.
const patience = 2 * time.Minute

// authorityOfAll signs for every sandbox of this test process: the certificate root of
// whatsmeow is a package variable. So is the logger of libsignal, which concurrent
// sandboxes would set without a lock.
var authorityOfAll = sync.OnceValues(func() (*network.Authority, error) {
	handset.SetLogger(slog.New(slog.DiscardHandler))
	return network.NewAuthority()
})

// common is the sandbox of most tests.
var common = sync.OnceValues(openSandbox)

func openSandbox() (*sandbox.Server, error) {
	a, err := authorityOfAll()
	if err != nil {
		return nil, err
	}
	return sandbox.Open(sandbox.Config{Authority: a})
}

// numbers counts the phones of this test process.
var numbers atomic.Int64

// rig is one instance on the sandbox, with a minimal supervisor: it dials again when a
// fact requires it.
type rig struct {
	t       testing.TB
	net     *sandbox.Server
	cfg     Config
	path    string
	owner   int64
	store   *store.Store
	conn    *Connector
	session *Session
	dials   sync.WaitGroup

	mu      sync.Mutex
	history []event.Fact // all that was reported
	facts   []event.Fact // those that no await took
	changed chan struct{}
	refuse  func(event.Fact) error // what report answers, nil for nil; called without mu
	redial  bool
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigWith(t, Config{})
}

func newRigWith(t testing.TB, cfg Config) *rig {
	t.Helper()
	net, err := common()
	if err != nil {
		t.Fatal(err)
	}
	return newRigOn(t, net, cfg)
}

// newRigAlone has a sandbox of its own, which a test may break for all of its clients.
func newRigAlone(t testing.TB) *rig {
	t.Helper()
	net, err := openSandbox()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = net.Close() })
	return newRigOn(t, net, Config{})
}

func newRigOn(t testing.TB, net *sandbox.Server, cfg Config) *rig {
	t.Helper()
	at := net.Endpoint()
	r := &rig{t: t, net: net, owner: 1, path: filepath.Join(t.TempDir(), "p.db"), changed: make(chan struct{}), redial: true}
	t.Cleanup(r.stop)
	cfg.Endpoint, cfg.SendTimeout = &Endpoint{URL: at.URL, CA: at.CA, RootKey: at.RootKey}, 2*time.Second
	r.cfg = cfg
	r.start()
	return r
}

// start starts the program on the same file.
func (r *rig) start() {
	r.t.Helper()
	var err error
	if r.store, err = store.Open(store.Options{Path: r.path, Buckets: device.Buckets()}); err != nil {
		r.t.Fatal(err)
	}
	cfg := r.cfg
	if cfg.Devices, err = device.Open(r.store, nil); err != nil {
		r.t.Fatal(err)
	}
	if r.conn, err = New(cfg); err != nil {
		r.t.Fatal(err)
	}
	if r.session, err = r.conn.Open(r.t.Context(), r.owner, r.report); err != nil {
		r.t.Fatal(err)
	}
}

// stop ends the program. A running dial may outlast the first Disconnect.
func (r *rig) stop() {
	if r.session != nil {
		r.session.Disconnect()
		r.dials.Wait()
		r.session.Disconnect()
	}
	if r.store != nil {
		if err := r.store.Close(); err != nil {
			r.t.Error(err)
		}
	}
}

// neighbour is another instance of the same program. The rig that it came from closes
// the file.
func (r *rig) neighbour(id int64) *rig {
	r.t.Helper()
	n := &rig{t: r.t, net: r.net, owner: id, conn: r.conn, changed: make(chan struct{}), redial: true}
	var err error
	if n.session, err = n.conn.Open(n.t.Context(), n.owner, n.report); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(n.stop)
	return n
}

func (r *rig) restart() {
	r.t.Helper()
	r.stop()
	r.start()
}

func (r *rig) report(ctx context.Context, f event.Fact) error {
	r.mu.Lock()
	refuse := r.refuse
	r.mu.Unlock()
	if refuse != nil {
		if err := refuse(f); err != nil {
			return err
		}
	}
	if f.Notice != "" { // a reported notice is forgotten
		if err := r.conn.cfg.Devices.DropNotice(ctx, r.owner, f.Notice); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, f)
	r.facts = append(r.facts, f)
	close(r.changed)
	r.changed = make(chan struct{})
	u, _ := f.Data.(event.ConnectionUpdate)
	if r.redial && (u.Type == event.TypeManualReconnect || f.Status == event.Reconnecting) {
		s := r.session
		r.dials.Go(func() { _ = s.Connect(r.t.Context()) })
	}
	return nil
}

// await returns the first fact, from the earliest on, that match accepts.
func (r *rig) await(what string, match func(event.Fact) bool) event.Fact {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for {
		r.mu.Lock()
		i := slices.IndexFunc(r.facts, match)
		changed := r.changed
		if i >= 0 {
			f := r.facts[i]
			r.facts = slices.Delete(r.facts, i, i+1)
			r.mu.Unlock()
			return f
		}
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			r.t.Fatalf("no %s; reported: %+v", what, r.facts)
		}
	}
}

func (r *rig) state(want event.State) event.Fact {
	r.t.Helper()
	return r.await(string(want), func(f event.Fact) bool { return f.Status == want })
}

func (r *rig) connect() {
	r.t.Helper()
	if err := r.session.Connect(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// pair pairs by QR and returns the account's phone.
func (r *rig) pair() *sandbox.Phone {
	r.t.Helper()
	r.connect()
	code := r.state(event.QRCodeState).Data.(event.QRCode).Code
	phone, err := r.net.AutoScan(code)
	if err != nil {
		r.t.Fatal(err)
	}
	r.state(event.Pairing)
	r.state(event.Online)
	return phone
}

func (r *rig) contact() *sandbox.Phone {
	r.t.Helper()
	phone, err := r.net.AddPhone(sandbox.PhoneOptions{Number: fmt.Sprint(4915730000000 + numbers.Add(1)*10 + 1), PushName: "Ada"})
	if err != nil {
		r.t.Fatal(err)
	}
	return phone
}

// send sends a text to the account that a look-up answers with, as package instance does.
func (r *rig) send(to types.JID, text string) (event.Sent, error) {
	jid, err := r.session.Resolve(r.t.Context(), to.String())
	if err != nil {
		return event.Sent{}, err
	}
	out := event.Outgoing{ID: NewMessageID(), To: jid, Content: event.Content{Text: &event.TextContent{Text: text}}}
	return r.session.Send(r.t.Context(), out)
}

func message(text string) func(event.Fact) bool {
	return func(f event.Fact) bool {
		m, ok := f.Data.(*event.Message)
		return ok && f.Kind == event.MessagesUpsert && strings.Contains(string(m.Content), text)
	}
}

func reads(t testing.TB, p *sandbox.Phone, text string) sandbox.Received {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := p.WaitReceived(ctx, func(r sandbox.Received) bool { return r.Text == text })
	if err != nil {
		t.Fatal(err)
	}
	return got
}
