package delivery

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/internal/nightly"
	"postern/store"
)

// TestThePendingAreWhereTheyBelong runs random emissions, outcomes, expiries, removals, retries
// and deletions against a plain model, with kills between the commits. After every step it
// checks that each pending delivery is in exactly the right indexes, heads are right, the order
// holds, nothing is lost or duplicated, and the backlog matches.
func TestThePendingAreWhereTheyBelong(t *testing.T) {
	if testing.Short() {
		t.Skip("compares many random lives with a model")
	}
	for seed := range nightly.Or[uint64](2, 8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newModel(t, seed).run(300) })
		})
	}
}

// modelRecord is a delivery of the model.
type modelRecord struct {
	id       uint64
	lane     Lane
	instance int64
	line     string // deliveries of the same line wait for each other; empty: it has none
	event    uint64
	bytes    int
	attempts int
	// It was cancelled after its last attempt.
	cancelled bool
	state     State
	former    State
	once      bool
	due       time.Time
	expires   time.Time
}

type modelEvent struct {
	instance int64
	sequence uint64
	expires  time.Time
	records  []uint64
}

type model struct {
	*rig
	rng       *rand.Rand
	records   map[uint64]*modelRecord
	events    map[uint64]*modelEvent
	sequences map[int64]uint64
	instances []int64
	phones    map[string]bool // whose phone is known
	forgotten map[int64]bool
	images    int
	damaged   bool // some rows cannot be read
}

func newModel(t *testing.T, seed uint64) *model {
	rng := rand.New(rand.NewPCG(seed, 14))
	bodies := []Bodies{BodiesFailed, BodiesAll, BodiesNone}[rng.IntN(3)]
	cfg := Config{Log: rng.IntN(3) > 0, Bodies: bodies, DurableMaxBytes: 4_000}
	m := &model{
		rig: newRig(t, cfg), rng: rng, records: map[uint64]*modelRecord{}, events: map[uint64]*modelEvent{},
		sequences: map[int64]uint64{}, instances: []int64{1, 2, 3}, phones: map[string]bool{}, forgotten: map[int64]bool{},
	}
	return m
}

func (m *model) run(steps int) {
	ops := []func(){m.emitSome, m.emitSome, m.emitSome, m.settleSome, m.settleSome, m.settleSome, m.expireSome, m.cancelSome, m.retrySome, m.repeatSome, m.shedSome, m.undone}
	for step := range steps {
		if m.rng.IntN(60) == 0 {
			m.forgetOne()
		} else {
			ops[m.rng.IntN(len(ops))]()
		}
		if m.rng.IntN(12) == 0 {
			m.kill()
		}
		m.check()
		if m.t.Failed() {
			m.t.Fatalf("after step %d", step)
		}
	}
}

// kill continues from the current contents of the file, as after a kill -9.
func (m *model) kill() {
	raw, err := os.ReadFile(m.path)
	if err == nil {
		m.images++
		m.path = filepath.Join(filepath.Dir(m.path), fmt.Sprint("image", m.images, ".db"))
		err = os.WriteFile(m.path, raw, 0o600)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	_ = m.s.Close()
	if r, err := store.Check(context.Background(), m.path, Buckets()); err != nil || len(r.Faults) > 0 && !m.damaged {
		m.t.Errorf("after a kill: %q, %v", r.Faults, err)
	}
	m.open()
}

func (m *model) emitSome() {
	for range 1 + m.rng.IntN(4) {
		m.emitOne()
	}
}

func (m *model) emitOne() {
	instance := m.instances[m.rng.IntN(len(m.instances))]
	e := testEvent(instance, event.About{})
	e.Body = []byte(`"` + strings.Repeat("x", 48+m.rng.IntN(400)) + `"`)
	person := m.rng.IntN(4)
	if person > 0 {
		e.About = m.about(instance, person)
	}
	numbered := m.rng.IntN(2) == 0
	if numbered {
		e.ExpiresAt = time.Now().Add(time.Duration(m.rng.IntN(90)) * time.Minute)
	}
	to := m.destinations(!numbered)
	m.update(func(tx *store.Tx) (err error) {
		e, err = m.l.Emit(tx, e, numbered, to)
		return err
	})
	if numbered {
		m.sequences[instance]++
		if m.damaged && e.Sequence > m.sequences[instance] {
			m.sequences[instance] = e.Sequence // none is given twice
		}
	}
	if want := m.sequences[instance]; numbered && e.Sequence != want || !numbered && e.Sequence != 0 {
		m.t.Errorf("the event has number %d, want %d", e.Sequence, want)
	}
	known := &modelEvent{instance: instance, sequence: e.Sequence, expires: e.ExpiresAt}
	m.events[e.Seq] = known
	for i, d := range to {
		r := &modelRecord{
			id: e.First() + uint64(i), lane: e.To[i].Lane, instance: instance, event: e.Seq, bytes: len(e.Body), state: Pending,
			due: e.CreatedAt, expires: e.CreatedAt.Add(d.MaxAge),
		}
		if d.Order != event.OrderNone {
			r.line = fmt.Sprint(d.Order, r.lane, instance)
			if d.Order == event.OrderChat {
				r.line += fmt.Sprint(person)
			}
		}
		if m.records[r.id] != nil {
			m.t.Errorf("record %d is given twice", r.id)
		}
		m.records[r.id] = r
		known.records = append(known.records, r.id)
		if head := m.first(r) == r; head != e.To[i].Head {
			m.t.Errorf("record %d: head is %v", r.id, e.To[i].Head)
		}
	}
}

// about returns what is known of a person: for a time the LID alone, then both.
func (m *model) about(instance int64, person int) event.About {
	name := fmt.Sprint(instance, person)
	if m.rng.IntN(10) == 0 {
		m.phones[name] = true
	}
	lid := name + "@lid"
	switch {
	case m.phones[name]:
		return event.About{Chat: name + "@s.whatsapp.net", LID: lid}
	case m.rng.IntN(2) == 0:
		return event.About{Chat: lid}
	}
	return event.About{Chat: lid, LID: lid}
}

func (m *model) destinations(atLeastOne bool) (to []event.Destination) {
	orders := []event.Order{event.OrderNone, event.OrderChat, event.OrderInstance}
	for _, d := range []event.Destination{hook(""), endpoint("a", ""), endpoint("b", ""), global("")} {
		if m.rng.IntN(2) == 0 || atLeastOne && d.Target == event.TargetGlobal && len(to) == 0 {
			d.Order = orders[m.rng.IntN(len(orders))]
			d.MaxAge = time.Duration(1+m.rng.IntN(90)) * time.Minute
			to = append(to, d)
		}
	}
	return to
}

// first returns the first record in the line of a pending one.
func (m *model) first(r *modelRecord) *modelRecord {
	if r.line == "" {
		return r
	}
	first := r
	for _, other := range m.records {
		if other.state == Pending && other.line == r.line && other.id < first.id {
			first = other
		}
	}
	return first
}

// pending returns the pending records by id: all, or only the heads.
func (m *model) pending(headsOnly bool) (all []*modelRecord) {
	for _, id := range slices.Sorted(maps.Keys(m.records)) {
		if r := m.records[id]; r.state == Pending && (!headsOnly || m.first(r) == r) {
			all = append(all, r)
		}
	}
	return all
}

func (m *model) any(from []*modelRecord) *modelRecord {
	if len(from) == 0 {
		return nil
	}
	return from[m.rng.IntN(len(from))]
}

// ended ends a record of the model and compares it with what the ledger returned.
func (m *model) ended(r *modelRecord, state State, follows *Due, got Record) {
	m.t.Helper()
	wasHead := m.first(r) == r
	next := m.nextOf(r)
	r.cancelled = r.cancelled || state == Cancelled
	if r.former != "" && state != Delivered {
		if state = r.former; state == Dropped && r.attempts > 0 {
			state = Failed
		}
	}
	r.state, r.former, r.line = state, "", ""
	if got.ID != r.id || got.State != state || got.Attempts != r.attempts {
		m.t.Errorf("record %d ended as %+v, want %s after %d attempts", r.id, got, state, r.attempts)
	}
	switch {
	case !wasHead || next == nil:
		if follows != nil {
			m.t.Errorf("after record %d follows %v, want nothing", r.id, follows)
		}
	case follows == nil || follows.Record != next.id || !follows.At.Equal(next.due):
		m.t.Errorf("after record %d follows %v, want %d", r.id, follows, next.id)
	}
	if !m.cfg.Log {
		delete(m.records, r.id)
	}
}

func (m *model) nextOf(r *modelRecord) (next *modelRecord) {
	for _, other := range m.records {
		if r.line != "" && other.state == Pending && other.line == r.line && other.id > r.id && (next == nil || other.id < next.id) {
			next = other
		}
	}
	return next
}

func (m *model) settleSome() {
	r := m.any(m.pending(m.rng.IntN(8) > 0))
	if r == nil {
		return
	}
	accepted := m.rng.IntN(2) == 0
	next := time.Now().UTC().Truncate(time.Millisecond).Add(time.Duration(m.rng.IntN(1800)) * time.Second)
	if m.rng.IntN(10) == 0 {
		next = time.Time{}
	}
	time.Sleep(time.Duration(m.rng.IntN(20)) * time.Second)
	now := time.Now()
	r.attempts++
	r.cancelled = false
	var state State
	switch {
	case accepted:
		state = Delivered
	case r.once || next.IsZero():
		state = Failed
	case !now.Before(r.expires):
		state = Expired
	}
	follows, rec := m.settle(r.id, accepted, next)
	if state != "" {
		m.ended(r, state, follows, rec)
		return
	}
	r.due = next
	if follows != nil || rec.State != Pending || rec.Attempts != r.attempts || !rec.NextAttemptAt.Equal(next) {
		m.t.Errorf("after a refusal: %v, %+v", follows, rec)
	}
}
