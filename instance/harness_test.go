package instance

import (
	"bytes"
	"context"
	"encoding/json"
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
	"postern/instance/webhooks"
	"postern/messages"
	"postern/store"
	"postern/store/schema"
)

// rig is a registry and a supervisor on a real file, with a network that the test controls.
type rig struct {
	testing.TB
	path string
	s    *store.Store

	durable bool // commits reach the disk, as in production
	minFree uint64
	skew    time.Duration                       // of the clock, from boot on
	logs    io.Writer                           // of the registry; nil: discarded
	commit  func(calls int, took time.Duration) // after each; nil: not called
	archive *messages.Archive
	reg     *Registry
	sup     *Supervisor
	net     *network

	keeps    func(*messages.Config) // may be nil
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

// newRigKeeping returns a rig whose archive is configured by keeps.
func newRigKeeping(t testing.TB, keeps func(*messages.Config)) *rig {
	t.Helper()
	r := newRig(t, nil, nil)
	r.keeps = keeps
	r.reboot()
	return r
}

// boot opens the file as a process does. It does not start the supervisor.
func (r *rig) boot() {
	r.Helper()
	var err error
	skew := r.skew
	r.s, err = store.Open(store.Options{
		Path: r.path, Buckets: allBuckets(), NoSync: !r.durable, MinFree: max(r.minFree, 1),
		Now: func() time.Time { return time.Now().Add(skew) },
		OnCommit: func(calls int, took time.Duration) {
			if r.commit != nil {
				r.commit(calls, took)
			}
		},
	})
	if err != nil {
		r.Fatal(err)
	}
	keeps := messages.Config{Store: r.s, Owner: There, SaveMessages: true, SaveUpdates: true, SaveContacts: true}
	if r.keeps != nil {
		r.keeps(&keeps)
	}
	if r.archive, err = messages.Open(context.Background(), keeps); err != nil {
		r.Fatal(err)
	}
	cfg := Config{
		Store: r.s, Messages: r.archive,
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

// stop stops everything, as an orderly shutdown does.
func (r *rig) stop() {
	r.Helper()
	if err := r.sup.Stop(context.Background()); err != nil {
		r.Error(err)
	}
	r.archive.Close()
	if err := r.s.Close(); err != nil {
		r.Error(err)
	}
}

func (r *rig) reboot() {
	r.Helper()
	r.stop()
	r.net.clear()
	r.boot()
}

// damage changes a byte wherever the file holds the text.
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
	r.net.clear()
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

// linked creates a paired instance in that state.
func (r *rig) linked(name string, state event.State) Record {
	r.Helper()
	rec := r.create(name)
	r.report(rec.ID, event.Fact{Status: state, Link: &event.Link{JID: "4915123456:1@s.whatsapp.net", LID: "77:1@lid"}})
	r.net.pair(rec.ID, true)
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
		r.Errorf("stored status is %s, want %s (%v)", st.Record.Status, want, err)
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
	if _, err := r.reg.Webhooks().PutWebhook(context.Background(), id, webhooks.WebhookChange{URL: &url, Events: set}); err != nil {
		r.Fatal(err)
	}
}

// published returns the notices published since the last call.
func (r *rig) published() []event.Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.notices
	r.notices = nil
	return n
}

// seen returns the states announced since the last call.
func (r *rig) seen() []event.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.states
	r.states = nil
	return s
}

// one returns the only notice since the last call.
func (r *rig) one() event.Notice {
	r.Helper()
	n := r.published()
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

func connection(t event.ConnectionType, c event.Connection, state event.State) event.Fact {
	return event.Fact{Kind: event.ConnectionUpdated, Status: state, Data: event.ConnectionUpdate{Type: t, Connection: c}}
}

func text(keyID, chat string, mine bool) *event.Message {
	return &event.Message{
		KeyID: keyID, KeyRemoteJID: &chat, KeyFromMe: mine, MessageType: "conversation",
		Content: json.RawMessage(`{"text":"hello"}`), MessageTimestamp: 1_700_000_000,
	}
}

const (
	annPhone, annLID = "491@s.whatsapp.net", "71@lid"
	bobPhone         = "492@s.whatsapp.net"
)

// met returns a contact change reported by the network with one JID or both.
func met(jid, lid, pushName string) event.ContactChange {
	return event.ContactChange{JID: jid, LID: lid, Source: event.SourcePushName, PushName: event.OrNull(pushName)}
}

func allBuckets() []schema.Bucket {
	return slices.Concat(Buckets(), webhooks.Buckets(), messages.Buckets(), delivery.Buckets())
}

func webhookLane(id int64) delivery.Lane {
	return delivery.Lane{Flow: delivery.FlowInstance, Instance: id, Target: event.TargetWebhook}
}

func endpointLane(id int64, endpoint string) delivery.Lane {
	return delivery.Lane{Flow: delivery.FlowInstance, Instance: id, Target: event.TargetEndpoint, Endpoint: endpoint}
}

func (r *rig) options(id int64, c webhooks.OptionsChange) webhooks.Options {
	r.Helper()
	o, err := r.reg.Webhooks().PutOptions(bg, id, c)
	if err != nil {
		r.Fatal(err)
	}
	return o
}
