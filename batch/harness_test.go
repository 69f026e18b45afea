package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/batch/optout"
	"postern/batch/record"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
	"postern/store/schema"
)

// scripted is a fleet whose sends do what a test says. It is a real second
// implementation of Fleet, not a mock: it keeps what was sent.
type scripted struct {
	mu      sync.Mutex
	states  map[int64]event.State
	bench   map[int64]time.Time
	lock    map[int64]time.Time // of instances that may write only to those they know
	awake   map[int64]time.Time // benches by the time awake, of clockedFleet
	known   map[string]bool     // recipients, by every instance
	asked   map[string]int      // how often, by recipient
	sent    map[string]int      // sends that left, by recipient
	send    func(ctx context.Context, instance int64, out event.Outgoing) error
	prepare func(ctx context.Context) error // before the message leaves; nil: at once
	account string                          // that gets what is sent; empty: each recipient's own
	ids     int
	limit   int       // of questions, of clockedFleet; 0: none
	after   time.Time // before which nothing leaves through an open gate
}

func newFleet(instances ...int64) *scripted {
	f := &scripted{states: map[int64]event.State{}, bench: map[int64]time.Time{}, awake: map[int64]time.Time{}, sent: map[string]int{}, lock: map[int64]time.Time{}, known: map[string]bool{}, asked: map[string]int{}}
	for _, id := range instances {
		f.states[id] = event.Online
	}
	return f
}

func (f *scripted) Instance(id int64) (string, event.State, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.states[id]
	return fmt.Sprint("i", id), s, ok
}

func (f *scripted) Gate(q Question) Gate { return f.gate(q, time.Now()) }

func (f *scripted) gate(q Question, now time.Time) Gate {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[q.Recipient]++
	bench := Gate{Until: f.bench[q.Instance], After: f.after, Reason: "BENCHED"}
	if f.known[q.Recipient] && !q.Wait {
		return bench
	}
	return bench.Both(Gate{Until: f.lock[q.Instance], Strangers: !q.Wait, Reason: "LOCKED"}, now)
}

func (f *scripted) Send(ctx context.Context, instance int64, out event.Outgoing) (Receipt, error) {
	if f.prepare != nil {
		if err := f.prepare(ctx); err != nil {
			return Receipt{}, err
		}
	}
	if err := out.Leaving(); err != nil {
		return Receipt{}, err
	}
	if f.send != nil {
		if err := f.send(ctx, instance, out); err != nil {
			return Receipt{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent[out.To]++
	return Receipt{WhatsAppID: out.ID, RecipientJID: cmp.Or(f.account, out.To)}, nil
}

func (f *scripted) set(e *Engine, id int64, s event.State) {
	f.mu.Lock()
	f.states[id] = s
	f.mu.Unlock()
	e.InstanceChanged(id, s)
}

// restrict benches an instance as the registry does, or lifts that.
func (f *scripted) restrict(e *Engine, id int64, until time.Time) {
	f.mu.Lock()
	f.bench[id] = until
	s := f.states[id]
	f.mu.Unlock()
	e.InstanceChanged(id, s)
}

// timelock forbids an instance to write to strangers, or lifts that.
func (f *scripted) timelock(e *Engine, id int64, until time.Time) {
	f.mu.Lock()
	f.lock[id] = until
	s := f.states[id]
	f.mu.Unlock()
	e.InstanceChanged(id, s)
}

// learns makes a recipient known to all instances, and tells it of one.
func (f *scripted) learns(e *Engine, id int64, recipient string) {
	f.mu.Lock()
	f.known[recipient] = true
	s := f.states[id]
	f.mu.Unlock()
	e.InstanceChanged(id, s)
}

func (f *scripted) messageID() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids++
	return fmt.Sprint("MSG", f.ids)
}

func (f *scripted) leftOnce(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for to, n := range f.sent {
		if n > 1 {
			t.Errorf("%s was sent %d times", to, n)
		}
	}
}

var owner = uuid.MustParse("0190a1b2-0000-7000-8000-00000000000a")

type rig struct {
	*testing.T
	s     *store.Store
	f     *scripted
	e     *Engine
	path  string
	batch uuid.UUID
	adapt func(*Config)

	onCommit func(calls int, took time.Duration) // of the store; may be nil
}

func openStore(t testing.TB, path string) *store.Store {
	t.Helper()
	return openStoreTelling(t, path, nil)
}

func openStoreTelling(t testing.TB, path string, onCommit func(int, time.Duration)) *store.Store {
	t.Helper()
	s, err := store.Open(store.Options{Path: path, Buckets: withOutbox(), NoSync: true, MinFree: 1, OnCommit: onCommit})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withOutbox are the buckets of a data file of batches.
func withOutbox() []schema.Bucket {
	return slices.Concat(record.Buckets(), outbox.Buckets(), optout.Buckets())
}

func openOutbox(t testing.TB, s *store.Store) *outbox.Outbox {
	t.Helper()
	box, err := outbox.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func openOptOuts(t testing.TB, s *store.Store) *optout.Book {
	t.Helper()
	b, err := optout.Open(optout.Config{Store: s, Open: MayStillSend})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// replayOnly is an outbox whose entries are not for delivery.
func replayOnly(t testing.TB, s *store.Store) *outbox.Outbox {
	t.Helper()
	box := openOutbox(t, s)
	box.SetDelivery(false)
	return box
}

func newRig(t *testing.T, f *scripted, adapt func(*Config)) *rig {
	t.Helper()
	r := &rig{T: t, f: f, path: filepath.Join(t.TempDir(), "b.db"), adapt: adapt}
	r.boot()
	return r
}

// boot opens the file and starts an engine on it, as a process does.
func (r *rig) boot() {
	r.Helper()
	r.s = openStoreTelling(r, r.path, r.onCommit)
	cfg := Config{Store: r.s, Outbox: openOutbox(r, r.s), Fleet: r.f, Enabled: true, NewMessageID: r.f.messageID}
	if r.adapt != nil {
		r.adapt(&cfg)
	}
	if cfg.OptOuts == nil {
		cfg.OptOuts = openOptOuts(r, r.s)
	}
	e, err := New(cfg)
	if err != nil {
		r.Fatal(err)
	}
	if err := e.Start(r.Context()); err != nil {
		r.Fatal(err)
	}
	r.e = e
}

func (r *rig) stop() {
	r.Helper()
	if err := r.e.Stop(context.Background()); err != nil {
		r.Error(err)
	}
	if err := r.s.Close(); err != nil {
		r.Error(err)
	}
}

// crash takes the file away from under the engine, without any goodbye.
func (r *rig) crash() {
	r.Helper()
	if err := r.s.Close(); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
	// Let what is left of the engine end; it cannot reach the file any more.
	if err := r.e.Stop(context.Background()); err != nil {
		r.Error(err)
	}
}

func request(n int) CreateRequest {
	r := CreateRequest{
		Name:      "spring",
		Instances: []record.InstanceRef{{ID: 1, Name: "i1"}, {ID: 2, Name: "i2"}},
		Message:   event.BatchMessage{Type: "text", Payload: json.RawMessage(`{"text":"hello"}`)},
	}
	for i := range n {
		r.Recipients = append(r.Recipients, fmt.Sprintf("49151%08d", i))
	}
	return r
}

func (r *rig) create(req CreateRequest) View {
	r.Helper()
	v, err := r.e.Create(r.Context(), owner, req)
	if err != nil {
		r.Fatal(err)
	}
	r.batch = v.ID
	return v
}

func (r *rig) do(call func(context.Context, uuid.UUID, uuid.UUID) (View, error)) View {
	r.Helper()
	v, err := call(r.Context(), owner, r.batch)
	if err != nil {
		r.Fatal(err)
	}
	return v
}

func (r *rig) view() View {
	r.Helper()
	v, err := r.e.Batch(owner, r.batch)
	if err != nil {
		r.Fatal(err)
	}
	return v
}

func (r *rig) status(want event.BatchStatus) View {
	r.Helper()
	synctest.Wait()
	v := r.view()
	if v.Status != want {
		r.Fatalf("status %s, want %s", v.Status, want)
	}
	return v
}

func (r *rig) entries() []outbox.Entry {
	r.Helper()
	var all []outbox.Entry
	err := r.s.View(func(tx *store.Tx) (err error) {
		all, err = outbox.OfBatch(tx, r.batch, 0, 1<<20)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return all
}

func (r *rig) reported(want string) {
	r.Helper()
	synctest.Wait()
	var kinds []event.Kind
	for _, e := range r.entries() {
		kinds = append(kinds, e.Kind)
	}
	if got := names(kinds); got != strings.TrimSpace(want) {
		r.Errorf("events\n got %s\nwant %s", got, want)
	}
}

func (r *rig) items() []Item {
	r.Helper()
	l, err := r.e.Items(owner, r.batch, ItemFilter{}, Page{Limit: 1000})
	if err != nil {
		r.Fatal(err)
	}
	return l.Records
}

func delayed(n int, d time.Duration) CreateRequest {
	req := request(n)
	req.Options.Delay = event.BatchDelay{MinMs: d.Milliseconds(), MaxMs: d.Milliseconds()}
	return req
}
