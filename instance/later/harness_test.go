package later

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/instance"
	"postern/instance/pace"
	"postern/instance/webhooks"
	"postern/messages"
	"postern/store"
	"postern/store/schema"
	"postern/whatsapp/proxy"
)

var bg = context.Background()

// rig is a scheduler with instances on a real file, and a network that the test controls.
type rig struct {
	testing.TB
	path  string
	adapt func(*Config)

	store   *store.Store
	reg     *instance.Registry
	sup     *instance.Supervisor
	pacer   *pace.Pacer
	archive *messages.Archive
	s       *Scheduler
	spool   string

	commit func() // after each
	skew   atomic.Int64

	mu       sync.Mutex
	minFree  uint64
	sessions map[int64]*session
	offline  map[int64]bool
	arrived  []arrival
	notices  []event.Notice
	onSend   func(ctx context.Context, out event.Outgoing) error // after Leaving; nil: it arrives
	before   func(ctx context.Context, out event.Outgoing) error // before Leaving; nil: nothing
	broken   int                                                 // messages that arrive next and cannot be stored
}

// arrival is a message that reached the recipient.
type arrival struct {
	at   time.Time
	to   string
	id   string
	file string // content
}

func inBubble(t *testing.T, adapt func(*Config), fn func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, adapt)
		defer r.stop()
		fn(r)
	})
}

func newRig(t testing.TB, adapt func(*Config)) *rig {
	t.Helper()
	r := &rig{TB: t, path: filepath.Join(t.TempDir(), "l.db"), spool: t.TempDir(), adapt: adapt, offline: map[int64]bool{}, minFree: 1}
	r.boot()
	return r
}

// boot opens the file as a process does.
func (r *rig) boot() {
	r.Helper()
	r.open()
	cfg := Config{Store: r.store, Registry: r.reg, Supervisor: r.sup, Spool: r.toSpool}
	if r.adapt != nil {
		r.adapt(&cfg)
	}
	r.s = New(cfg)
	if err := r.s.Start(bg); err != nil {
		r.Fatal(err)
	}
	r.sup.Start()
}

// open opens the file without a scheduler.
func (r *rig) open() {
	r.Helper()
	var err error
	r.sessions = map[int64]*session{}
	r.store, err = store.Open(store.Options{
		Path: r.path, Buckets: buckets(), NoSync: true, MinFree: r.minFree,
		Now: func() time.Time { return time.Now().Add(time.Duration(r.skew.Load())) },
		OnCommit: func(int, time.Duration) {
			if r.commit != nil {
				r.commit()
			}
		},
	})
	if err != nil {
		r.Fatal(err)
	}
	r.archive, err = messages.Open(bg, messages.Config{Store: r.store, Owner: instance.There, SaveMessages: true})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(r.archive.Close)
	ledger, err := delivery.Open(r.store, delivery.Config{Log: true})
	if err != nil {
		r.Fatal(err)
	}
	r.reg, err = instance.Open(bg, instance.Config{
		Store: r.store, Ledger: ledger, Messages: r.archive, Publish: r.publish, Forget: func(tx *store.Tx, id int64) error { return errors.Join(Forget(tx, id), pace.Forget(tx, id)) },
		OnChange: func(id int64, _ string, gone bool) {
			if gone && r.s != nil {
				r.s.Drop(id)
			}
		},
	})
	if err != nil {
		r.Fatal(err)
	}
	if r.pacer, err = pace.Open(bg, pace.Config{Store: r.store}); err != nil {
		r.Fatal(err)
	}
	r.sup = instance.NewSupervisor(instance.SupervisorConfig{
		Registry: r.reg, Connector: r, Pacer: r.pacer, AutoReconnect: true, StartupConcurrency: 5,
		ConnectTimeout: 30 * time.Second, InitialDelay: time.Hour, MaxDelay: time.Hour,
	})
}

func buckets() []schema.Bucket {
	return slices.Concat(Buckets(), instance.Buckets(), webhooks.Buckets(), messages.Buckets(), pace.Buckets(), delivery.Buckets())
}

func (r *rig) publish(n event.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, n)
}

func (r *rig) stop() {
	r.Helper()
	for _, err := range []error{r.s.Stop(bg), r.sup.Stop(bg), r.pacer.Close(), r.store.Close()} {
		if err != nil {
			r.Error(err)
		}
	}
}

// restart stops the program in order and starts it again.
func (r *rig) restart() {
	r.Helper()
	r.stop()
	r.boot()
}

// Open implements instance.Connector.
func (r *rig) Open(_ context.Context, id int64, report func(context.Context, event.Fact) error) (instance.Session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &session{rig: r, id: id, report: report}
	r.sessions[id] = s
	return s, nil
}

// Probe implements instance.Connector.
func (*rig) Probe(context.Context, proxy.Server, []proxy.Use) error { return nil }

// toSpool is media.Library.Spool.
func (r *rig) toSpool(from io.Reader) (string, error) {
	f, err := os.CreateTemp(r.spool, "*")
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(f, from); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), f.Close()
}

// instance makes a paired instance, which is online unless told otherwise.
func (r *rig) instance(name string, online bool) int64 {
	r.Helper()
	rec, err := r.reg.Create(bg, instance.New{Name: name, Mint: func(string) (string, error) { return "token", nil }})
	if err != nil {
		r.Fatal(err)
	}
	r.mu.Lock()
	r.offline[rec.ID] = !online
	r.mu.Unlock()
	err = r.reg.Report(bg, rec.ID, event.Fact{Status: event.Disconnected, Link: &event.Link{JID: fmt.Sprintf("49151%d:1@s.whatsapp.net", rec.ID)}})
	if err != nil {
		r.Fatal(err)
	}
	if online {
		if _, err := r.sup.Connect(bg, rec.ID, ""); err != nil {
			r.Fatal(err)
		}
	}
	return rec.ID
}

// connect brings an instance online.
func (r *rig) connect(id int64) {
	r.Helper()
	r.mu.Lock()
	r.offline[id] = false
	r.mu.Unlock()
	if _, err := r.sup.Connect(bg, id, ""); err != nil {
		r.Fatal(err)
	}
}

// in accepts a text that is due after a time.
func (r *rig) in(id int64, after time.Duration, adapt ...func(*Send)) uuid.UUID {
	r.Helper()
	key, err := r.accept(id, after, adapt...)
	if err != nil {
		r.Fatal(err)
	}
	return key
}

func (r *rig) accept(id int64, after time.Duration, adapt ...func(*Send)) (uuid.UUID, error) {
	d := Send{
		Instance: id, At: r.store.Now().Add(after).Truncate(time.Millisecond), LateMax: DefaultLateMax, RequestID: "req-1",
		Out: event.Outgoing{ID: fmt.Sprintf("MSG%X", rand.Uint64()), To: "1@s.whatsapp.net", Content: event.Content{Text: &event.TextContent{Text: "hello"}}},
	}
	for _, change := range adapt {
		change(&d)
	}
	return r.s.Accept(bg, d)
}

func to(jid string) func(*Send)          { return func(d *Send) { d.Out.To = jid } }
func within(t time.Duration) func(*Send) { return func(d *Send) { d.LateMax = t } }

// told is the data of one send.message.
type told struct {
	ScheduledID, Status, KeyID string
	Error                      struct{ Code, Message string }
	Metadata                   struct{ ScheduledID string }
	ExternalAttributes         json.RawMessage
	RequestID                  string `json:"-"`
}

// told returns the events since the last call.
func (r *rig) told() (all []told) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.notices {
		if n.Kind != event.SendMessage {
			continue
		}
		var e struct{ Data told }
		if err := json.Unmarshal(n.Body, &e); err != nil {
			r.Fatal(err)
		}
		e.Data.RequestID = n.RequestID
		all = append(all, e.Data)
	}
	r.notices = nil
	return all
}

// wantFailed expects that exactly the send with that id ended, with a code.
func (r *rig) wantFailed(id uuid.UUID, code string) {
	r.Helper()
	all := r.told()
	if len(all) != 1 || all[0].ScheduledID != id.String() || all[0].Status != "failed" || all[0].Error.Code != code || all[0].Error.Message == "" {
		r.Errorf("events are %+v, want %s for %s", all, code, id)
	}
}

// wantSent expects that exactly the send with that id ended, in a message.
func (r *rig) wantSent(id uuid.UUID) {
	r.Helper()
	all := r.told()
	if len(all) != 1 || all[0].Metadata.ScheduledID != id.String() || all[0].KeyID == "" || all[0].Status != "" {
		r.Errorf("events are %+v, want a message for %s", all, id)
	}
}

// wantQuiet expects no event.
func (r *rig) wantQuiet() {
	r.Helper()
	if all := r.told(); len(all) > 0 {
		r.Errorf("events are %+v", all)
	}
}

// arrivals returns what the recipients got.
func (r *rig) arrivals() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.arrived)
}

// wantEmpty expects that nothing is left in the file.
func (r *rig) wantEmpty() {
	r.Helper()
	if n := r.s.Kept(); n != 0 {
		r.Errorf("%d are kept", n)
	}
	_ = r.store.View(func(tx *store.Tx) error {
		for _, b := range Buckets() {
			if n, err := tx.Count(b.Name, nil); n != 0 || err != nil {
				r.Errorf("%s has %d records, %v", b.Name, n, err)
			}
		}
		return nil
	})
	if r.s.pieces != 0 {
		r.Errorf("%d pieces are counted", r.s.pieces)
	}
	if left, _ := os.ReadDir(r.spool); len(left) > 0 {
		r.Errorf("%d files are left in the spool folder", len(left))
	}
}

// session is a connection of the rig.
type session struct {
	instance.Account // nil

	rig    *rig
	id     int64
	report func(context.Context, event.Fact) error
	online atomic.Bool
}

// Resolve finds the account of each number at the number itself.
func (*session) Resolve(_ context.Context, jid string) (string, error) { return jid, nil }

func (*session) Paired() bool                                                { return true }
func (s *session) Online() bool                                              { return s.online.Load() }
func (*session) PairCode(context.Context, string) (string, error)            { return "", nil }
func (*session) Passkey() *event.PasskeyChallenge                            { return nil }
func (*session) AssertPasskey(context.Context, event.PasskeyAssertion) error { return nil }
func (*session) ConfirmPasskey(context.Context) error                        { return nil }
func (*session) Hold(context.Context) (func(), error)                        { return func() {}, nil }
func (*session) Logout(context.Context) error                                { return nil }
func (*session) Forget(context.Context) error                                { return nil }
func (*session) WrongNetwork() error                                         { return nil }
func (*session) LoggedOut() bool                                             { return false }
func (*session) Recall(context.Context) (bool, error)                        { return false, nil }
func (s *session) Disconnect()                                               { s.online.Store(false) }
func (*session) Reroute()                                                    {}

func (s *session) Connect(ctx context.Context) error {
	s.rig.mu.Lock()
	offline := s.rig.offline[s.id]
	s.rig.mu.Unlock()
	if offline {
		return errors.New("no network")
	}
	s.online.Store(true)
	return s.report(ctx, event.Fact{
		Kind: event.ConnectionUpdated, Status: event.Online, Data: event.ConnectionUpdate{Type: event.TypeConnected, Connection: event.ConnectionOpen},
		Link: &event.Link{JID: fmt.Sprintf("49151%d:1@s.whatsapp.net", s.id)},
	})
}

func (s *session) Send(ctx context.Context, out event.Outgoing) (event.Sent, error) {
	r := s.rig
	r.mu.Lock()
	before, onSend := r.before, r.onSend
	r.mu.Unlock()
	got := arrival{to: out.To, id: out.ID}
	if m := out.Content.Media; m != nil && m.File != nil {
		raw, err := os.ReadFile(m.File.Path)
		if err != nil {
			return event.Sent{}, fmt.Errorf("%w: %w", event.ErrSendRefused, err)
		}
		got.file = string(raw)
	}
	if before != nil {
		if err := before(ctx, out); err != nil {
			return event.Sent{}, err
		}
	}
	if out.Delay > 0 && !wait(ctx, out.Delay) {
		return event.Sent{}, fmt.Errorf("%w: %w", event.ErrSendRefused, context.Cause(ctx))
	}
	if err := ctx.Err(); err != nil {
		return event.Sent{}, fmt.Errorf("%w: %w", event.ErrSendRefused, context.Cause(ctx))
	}
	if err := out.Leaving(); err != nil {
		return event.Sent{}, fmt.Errorf("%w: %w", event.ErrSendRefused, err)
	}
	if out.Left != nil {
		out.Left()
	}
	if onSend != nil {
		if err := onSend(ctx, out); err != nil {
			return event.Sent{}, err
		}
	}
	r.mu.Lock()
	got.at = time.Now()
	r.arrived = append(r.arrived, got)
	body := json.RawMessage(`{"text":"hello"}`)
	if r.broken > 0 {
		r.broken--
		body = json.RawMessage(`{`)
	}
	r.mu.Unlock()
	return event.Sent{Message: &event.Message{
		KeyID: out.ID, KeyRemoteJID: &out.To, KeyFromMe: true, MessageType: "conversation",
		Content: body, MessageTimestamp: time.Now().Unix(),
	}}, nil
}
