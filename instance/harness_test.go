package instance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/proxy"
	"postern/store"
)

// rig is a registry and a supervisor on a real file, with a network that does
// what a test says.
type rig struct {
	testing.TB
	path string
	s    *store.Store

	durable bool // commits reach the disk, as in production
	minFree uint64
	logs    io.Writer                           // of the registry; nil: nobody
	commit  func(calls int, took time.Duration) // after each; nil: nobody asks
	reg     *Registry
	sup     *Supervisor
	net     *network

	adapt    func(*Config)
	adaptSup func(*SupervisorConfig)

	mu      sync.Mutex
	notices []event.Notice
	states  []event.State
	codes   []string
}

func newRig(t testing.TB, adapt func(*Config), adaptSup func(*SupervisorConfig)) *rig {
	t.Helper()
	_, durable := t.(*testing.B)
	r := &rig{TB: t, durable: durable, path: filepath.Join(t.TempDir(), "i.db"), adapt: adapt, adaptSup: adaptSup, net: &network{paired: map[int64]bool{}, sessions: map[int64]*session{}}}
	r.boot()
	return r
}

// boot opens the file, as a process does. The supervisor is not started.
func (r *rig) boot() {
	r.Helper()
	var err error
	r.s, err = store.Open(store.Options{
		Path: r.path, Buckets: slices.Concat(Buckets(), delivery.Buckets()), NoSync: !r.durable, MinFree: max(r.minFree, 1),
		OnCommit: func(calls int, took time.Duration) {
			if r.commit != nil {
				r.commit(calls, took)
			}
		},
	})
	if err != nil {
		r.Fatal(err)
	}
	cfg := Config{
		Store: r.s, SaveMessages: true, SaveUpdates: true, SaveContacts: true,
		Publish: func(n event.Notice) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.notices = append(r.notices, n)
		},
		OnStatus: func(_ int64, s event.State) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.states = append(r.states, s)
		},
	}
	if r.logs != nil {
		cfg.Logger = slog.New(slog.NewTextHandler(r.logs, nil))
	}
	if r.adapt != nil {
		r.adapt(&cfg)
	}
	if r.reg, err = Open(context.Background(), cfg); err != nil {
		r.Fatal(err)
	}
	sup := SupervisorConfig{
		Registry: r.reg, Connector: r.net, AutoReconnect: true, StartupConcurrency: 5,
		ConnectTimeout: 30 * time.Second, InitialDelay: 2 * time.Second, MaxDelay: time.Minute,
		OnCode: func(_ int64, code string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.codes = append(r.codes, code)
		},
	}
	if r.adaptSup != nil {
		r.adaptSup(&sup)
	}
	r.sup = NewSupervisor(sup)
}

// stop ends everything, as an orderly shutdown does.
func (r *rig) stop() {
	r.Helper()
	if err := r.sup.Stop(context.Background()); err != nil {
		r.Error(err)
	}
	r.reg.Close()
	if err := r.s.Close(); err != nil {
		r.Error(err)
	}
}

func (r *rig) reboot() {
	r.Helper()
	r.stop()
	r.net.sessions = map[int64]*session{}
	r.boot()
}

// damage changes a byte of every place of the file that holds text.
func (r *rig) damage(text string) {
	r.Helper()
	r.stop()
	file, err := os.ReadFile(r.path)
	if err != nil || !bytes.Contains(file, []byte(text)) {
		r.Fatalf("%q is not in the file (%v)", text, err)
	}
	broken := bytes.ToUpper([]byte(text))
	if err := os.WriteFile(r.path, bytes.ReplaceAll(file, []byte(text), broken), 0o600); err != nil {
		r.Fatal(err)
	}
	r.net.sessions = map[int64]*session{}
	r.boot()
}

func (r *rig) create(name string) Record {
	r.Helper()
	rec, err := r.reg.Create(context.Background(), New{Name: name, Mint: mint})
	if err != nil {
		r.Fatal(err)
	}
	return rec
}

// linked creates an instance that is paired and has that state.
func (r *rig) linked(name string, state event.State) Record {
	r.Helper()
	rec := r.create(name)
	r.report(rec.ID, event.Fact{Status: state, Link: &event.Link{JID: "4915123456:1@s.whatsapp.net", LID: "77:1@lid"}})
	r.net.paired[rec.ID] = true
	return r.record(rec.ID)
}

func mint(name string) (string, error) { return "token of " + name, nil }

func (r *rig) record(id int64) Record {
	r.Helper()
	rec, err := r.reg.ByID(id)
	if err != nil {
		r.Fatal(err)
	}
	return rec
}

func (r *rig) wantStatus(id int64, want event.State) {
	r.Helper()
	if got := r.record(id).Status; got != want {
		r.Errorf("stored status is %s, want %s", got, want)
	}
	st, err := r.sup.Status(id)
	if err != nil || st.Record.Status != want {
		r.Errorf("told status is %s, want %s (%v)", st.Record.Status, want, err)
	}
}

func (r *rig) report(id int64, f event.Fact) {
	r.Helper()
	if err := r.reg.Report(context.Background(), id, f); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) hook(id int64, url string, flags ...event.Flag) {
	r.Helper()
	set := map[event.Flag]bool{}
	for _, f := range flags {
		set[f] = true
	}
	if _, err := r.reg.PutWebhook(context.Background(), id, WebhookChange{URL: &url, Events: set}); err != nil {
		r.Fatal(err)
	}
}

// told returns what was published since the last call.
func (r *rig) told() []event.Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.notices
	r.notices = nil
	return n
}

// seen returns the states that were announced since the last call.
func (r *rig) seen() []event.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.states
	r.states = nil
	return s
}

// one is the only notice since the last call.
func (r *rig) one() event.Notice {
	r.Helper()
	n := r.told()
	if len(n) != 1 {
		r.Fatalf("%d events were published, want one: %v", len(n), kinds(n))
	}
	return n[0]
}

func kinds(notices []event.Notice) (all []event.Kind) {
	for _, n := range notices {
		all = append(all, n.Kind)
	}
	return all
}

// fields decodes a JSON object.
func fields(t testing.TB, b []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return m
}

// network is a second implementation of Connector.
type network struct {
	mu       sync.Mutex
	paired   map[int64]bool
	refuse   map[int64]error // Open fails
	sessions map[int64]*session

	// dial is what Connect of every session does; nil: the login follows.
	dial func(ctx context.Context, s *session) error

	dialling, most int // connections being made at the same time

	probe func(ctx context.Context, via proxy.Server, uses []proxy.Use) error // nil: every proxy works
}

func (n *network) Probe(ctx context.Context, via proxy.Server, uses []proxy.Use) error {
	n.mu.Lock()
	probe := n.probe
	n.mu.Unlock()
	if probe == nil {
		return nil
	}
	return probe(ctx, via, uses)
}

// onProbe replaces what Probe does.
func (n *network) onProbe(probe func(context.Context, proxy.Server, []proxy.Use) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.probe = probe
}

func (n *network) Open(_ context.Context, id int64, report func(context.Context, event.Fact) error) (Session, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.refuse[id]; err != nil {
		return nil, err
	}
	s := &session{net: n, id: id, report: report, paired: n.paired[id]}
	n.sessions[id] = s
	return s, nil
}

func (n *network) session(id int64) *session {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sessions[id]
}

// session is a second implementation of Session. Like the real one its calls
// exclude each other, and Disconnect waits for what is being reported.
type session struct {
	Account // nil: what no test of this package asks for

	net    *network
	id     int64
	report func(context.Context, event.Fact) error

	calls sync.Mutex   // Connect, PairCode, Logout and Disconnect
	gate  sync.RWMutex // read by what reports

	mu             sync.Mutex
	passkey        *event.PasskeyChallenge
	asserted       event.PasskeyAssertion
	paired, online bool
	dials          []time.Time
	drops          int
	reroutes       int
	logout, forget error
	pairCode       func(ctx context.Context) (string, error)
	send           func() error
	acknowledge    time.Duration               // how long a sent message waits for WhatsApp
	turn           func(context.Context) error // waits for the turn of a send; nil: it comes at once
}

func (s *session) Paired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paired
}

func (s *session) Online() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.online
}

func (s *session) be(paired, online bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paired, s.online = paired, online
}

func (s *session) Connect(ctx context.Context) error {
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.Online() {
		return nil
	}
	s.mu.Lock()
	s.dials = append(s.dials, time.Now())
	s.mu.Unlock()
	dial := s.net.count(1)
	defer func() { s.net.count(-1) }()
	if dial != nil {
		return dial(ctx, s)
	}
	if s.Paired() {
		s.login()
	} else {
		s.qr("2@code")
	}
	return nil
}

// count counts the dials that run and returns what one does.
func (n *network) count(d int) func(context.Context, *session) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialling += d
	n.most = max(n.most, n.dialling)
	return n.dial
}

// tell reports a fact as the library's goroutine does.
func (s *session) tell(f event.Fact) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	return s.report(context.Background(), f)
}

func (s *session) login() {
	s.be(true, true)
	f := connection(event.TypeConnected, event.ConnectionOpen, event.Online)
	f.Link = &event.Link{JID: "4915123456:1@s.whatsapp.net", LID: "77:1@lid"}
	_ = s.tell(f)
}

func (s *session) lose() {
	s.be(s.Paired(), false)
	_ = s.tell(connection(event.TypeDisconnected, event.ConnectionClose, event.Reconnecting))
}

func (s *session) qr(code string) {
	_ = s.tell(event.Fact{Kind: event.QRCodeUpdated, Status: event.QRCodeState, Data: event.QRCode{Count: 1, Code: code, ExpiresInSeconds: 60}})
}

func (s *session) PairCode(ctx context.Context, _ string) (string, error) {
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.pairCode != nil {
		return s.pairCode(ctx)
	}
	_ = s.tell(event.Fact{Status: event.PairingCodeState})
	return "ABCD-EFGH", nil
}

func (s *session) Send(ctx context.Context, out event.Outgoing) (event.Sent, error) {
	if out.Delay > 0 {
		select {
		case <-time.After(out.Delay):
		case <-ctx.Done():
			return event.Sent{}, fmt.Errorf("%w: %w", event.ErrSendRefused, ctx.Err())
		}
	}
	if s.turn != nil {
		if err := s.turn(ctx); err != nil {
			return event.Sent{}, err
		}
	}
	if out.Leaving != nil {
		if err := out.Leaving(); err != nil {
			return event.Sent{}, fmt.Errorf("%w: %w", event.ErrSendRefused, err)
		}
	}
	if s.send != nil {
		if err := s.send(); err != nil {
			return event.Sent{}, err
		}
	}
	if s.acknowledge > 0 { // else the acknowledgement is there before anybody can leave
		select {
		case <-time.After(s.acknowledge):
		case <-ctx.Done():
			return event.Sent{}, fmt.Errorf("%w: %w", event.ErrOutcomeUnknown, ctx.Err())
		}
	}
	return event.Sent{Message: text(out.ID, out.To, true)}, nil
}

func (s *session) Logout(context.Context) error {
	s.calls.Lock()
	defer s.calls.Unlock()
	switch {
	case !s.Paired():
		return nil
	case s.logout != nil:
		return s.logout
	case !s.Online():
		return fmt.Errorf("%w: no socket", event.ErrNotConnected)
	}
	s.drop(false)
	return nil
}

func (s *session) Forget(ctx context.Context) error {
	s.calls.Lock()
	defer s.calls.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	s.drop(false)
	return s.forget
}

func (s *session) Disconnect() {
	s.calls.Lock()
	defer s.calls.Unlock()
	s.drop(s.Paired())
}

func (s *session) Reroute() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reroutes++
}

func (s *session) drop(paired bool) {
	s.be(paired, false)
	s.mu.Lock()
	s.passkey = nil
	s.mu.Unlock()
	s.gate.Lock()
	s.drops++
	s.gate.Unlock()
}

// dialled returns when Connect was called since the last forget.
func (s *session) dialled() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dials)
}

func (s *session) forgetDials() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials = nil
}

// onDial replaces what Connect does.
func (n *network) onDial(dial func(ctx context.Context, s *session) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dial = dial
}

func connection(t event.ConnectionType, c event.Connection, state event.State) event.Fact {
	return event.Fact{Kind: event.ConnectionUpdated, Status: state, Data: event.ConnectionUpdate{Type: t, Connection: c}}
}

func text(keyID, chat string, mine bool) *event.Message {
	return &event.Message{
		KeyID: keyID, KeyRemoteJID: &chat, KeyFromMe: mine, MessageType: "conversation",
		Content: json.RawMessage(`{"text":"hello"}`), MessageTimestamp: 1_700_000_000,
	}
}

func (s *session) Passkey() *event.PasskeyChallenge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.passkey
}

func (s *session) AssertPasskey(_ context.Context, a event.PasskeyAssertion) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passkey == nil || s.passkey.PublicKey == nil {
		return event.ErrNoPasskey
	}
	s.asserted = a
	s.passkey = &event.PasskeyChallenge{Step: event.PasskeyCompare, Code: "ABCD-EFGH"}
	return nil
}

func (s *session) ConfirmPasskey(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passkey == nil || s.passkey.Code == "" {
		return event.ErrNoPasskey
	}
	s.passkey = &event.PasskeyChallenge{Step: event.PasskeyDone}
	return nil
}

func (s *session) Hold(context.Context) (func(), error) { return func() {}, nil }
