package logbook

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/internal/nightly"
	"postern/store"
)

// logModel is the log as a plain slice, and the deliveries in flight.
type logModel struct {
	*rig
	rnd    *rand.Rand
	all    map[uint64]*loggedRecord
	flying map[uint64]*Entry
}

// loggedRecord is a record of the model.
type loggedRecord struct {
	delivery.Record
	requests []string // of its attempts
}

var (
	modelKinds = []event.Kind{event.MessagesUpsert, event.PresenceUpdated, event.CallUpsert}
	modelChats = []event.About{
		{}, {Chat: "5511900000001@s.whatsapp.net", LID: "901@lid"}, {Chat: "5511900000002@s.whatsapp.net"}, {Chat: "120363000000000001@g.us"}, {LID: "902@lid"},
	}
	modelEndpoints = []string{"crm", "erp"}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func (m *logModel) some(state delivery.State, waits bool) *loggedRecord {
	var ids []uint64
	for id, r := range m.all {
		if (state == "" || r.State == state) && (r.EventSeq != 0) == waits {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	return m.all[pick(m.rnd, ids[:min(len(ids), 4)])] // the same ones again and again
}

func (m *logModel) destination(durable bool) event.Destination {
	switch m.rnd.IntN(4) {
	case 0:
		return global(event.OrderNone)
	case 1:
		return endpoint(pick(m.rnd, modelEndpoints), event.OrderNone)
	default:
		d := hook(event.OrderNone)
		d.Durable = durable
		return d
	}
}

// step does one random thing.
func (m *logModel) step() {
	m.t.Helper()
	switch m.rnd.IntN(12) {
	case 0, 1:
		m.emitDurable()
	case 2, 3, 4:
		m.queue()
	case 5, 6:
		m.endFlying()
	case 7, 8:
		m.settleSome()
	case 9:
		m.retrySome()
	case 10:
		m.prune()
	case 11:
		if m.rnd.IntN(3) == 0 {
			m.damage()
		}
	}
}

func (m *logModel) emitDurable() {
	e := testEvent(1+m.rnd.Int64N(3), pick(m.rnd, modelChats))
	e.Kind = pick(m.rnd, modelKinds)
	if m.rnd.IntN(2) == 0 {
		e.RequestID = uuid.NewString()
	}
	to := []event.Destination{hook(event.OrderNone), endpoint("crm", event.OrderNone), global(event.OrderNone)}[:1+m.rnd.IntN(3)]
	m.update(func(tx *store.Tx) (err error) {
		e, err = m.l.Emit(tx, e, true, to)
		return err
	})
	for i, a := range e.To {
		rec := loggedRecord{Record: delivery.Record{
			ID: a.Due.Record, EventID: e.ID, Event: e.Kind, Lane: a.Lane, Instance: e.Instance, Chat: e.About.Chat, ChatLID: e.About.LID,
			State: delivery.Pending, CreatedAt: e.CreatedAt, EventSeq: e.Seq, URL: to[i].URL,
		}}
		stored, _ := m.record(rec.ID)
		rec.requests = []string{stored.RequestID}
		m.all[rec.ID] = &rec
	}
}

func (m *logModel) queue() {
	n := event.Notice{
		Kind: pick(m.rnd, modelKinds), Body: []byte(`{"n":1}`), InstanceID: 1 + m.rnd.Int64N(3), InstanceName: "shop",
		RequestID: uuid.NewString(), ID: uuid.New(), About: pick(m.rnd, modelChats),
	}
	to := m.destination(false)
	e := m.log.Queued(n, to)
	m.flying[e.id] = e
	m.all[e.id] = &loggedRecord{requests: []string{n.RequestID}, Record: delivery.Record{
		ID: e.id, EventID: n.ID, Event: n.Kind, Lane: delivery.LaneOf(n.InstanceID, to), Instance: n.InstanceID, Chat: n.About.Chat, ChatLID: n.About.LID,
		State: delivery.Pending, CreatedAt: e.made.UTC().Truncate(time.Millisecond),
	}}
}

func (m *logModel) endFlying() {
	for id, e := range m.flying {
		r, state := m.all[id], pick(m.rnd, []delivery.State{delivery.Delivered, delivery.Delivered, delivery.Failed, delivery.Dropped})
		a := delivery.Attempt{StartedAt: time.Now(), Duration: time.Duration(m.rnd.IntN(3000)) * time.Millisecond, Status: 500, RequestID: r.requests[0]}
		e.Done(state, a)
		if r.State = state; state != delivery.Dropped {
			r.Duration = a.Duration
		}
		delete(m.flying, id)
		return
	}
}

func (m *logModel) settleSome() {
	r := m.some(delivery.Pending, true)
	if r == nil {
		return
	}
	a := delivery.Attempt{StartedAt: time.Now(), Duration: time.Duration(m.rnd.IntN(3000)) * time.Millisecond, Status: 200, RequestID: uuid.NewString()}
	next, ok := time.Now().Add(time.Minute), m.rnd.IntN(2) == 0
	if m.rnd.IntN(4) == 0 {
		next = time.Time{}
	}
	m.update(func(tx *store.Tx) error {
		_, now, err := m.l.Settle(tx, r.ID, a, ok, next)
		if now.ID != r.ID {
			return fmt.Errorf("settled %d instead of %d", now.ID, r.ID)
		}
		r.State = now.State
		return err
	})
	if r.Duration = a.Duration; r.Attempts == 0 {
		r.requests = nil
	}
	r.Attempts++
	r.requests = append(r.requests, a.RequestID)
}

func (m *logModel) retrySome() {
	r := m.some(pick(m.rnd, []delivery.State{delivery.Failed, delivery.Delivered}), true)
	if r == nil {
		return
	}
	m.update(func(tx *store.Tx) error {
		now, _, err := m.l.Retry(tx, r.ID)
		if err == nil {
			r.State = now.State
		}
		return err
	})
}

// prune removes the oldest ended records until the given number is left.
func (m *logModel) prune() {
	if err := m.log.Flush(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	var ended []uint64
	for id, r := range m.all {
		if r.State != delivery.Pending {
			ended = append(ended, id)
		}
	}
	slices.Sort(ended)
	m.log.cfg.MaxEntries = len(ended) * 3 / 4
	if _, err := m.log.pruneExcess(m.t.Context(), 0); err != nil {
		m.t.Fatal(err)
	}
	for _, id := range ended[:len(ended)-m.log.cfg.MaxEntries] {
		delete(m.all, id)
	}
}

// damage damages a block of the digest, which has to be rebuilt.
func (m *logModel) damage() {
	m.update(func(tx *store.Tx) error {
		var keys [][]byte
		err := tx.Walk(digests, store.Range{}, func(k []byte) (bool, error) {
			keys = append(keys, slices.Clone(k))
			return true, nil
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		return tx.Put(digests, pick(m.rnd, keys), []byte("no rows"))
	})
}

// restart opens the file again, as after a kill: the contents of the memory are lost.
func (m *logModel) restart() {
	if err := m.log.Flush(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	switch some := m.rnd.IntN(2) == 0; {
	case some && m.large: // an orderly stop
		for len(m.flying) > 0 {
			m.endFlying()
		}
		if err := m.log.Flush(m.t.Context()); err != nil {
			m.t.Fatal(err)
		}
	case some:
		m.update(func(tx *store.Tx) error { // a block that was lost without a trace
			var key []byte
			err := tx.Walk(digests, store.Range{}, func(k []byte) (bool, error) {
				key = slices.Clone(k)
				return true, nil
			})
			if err != nil || key == nil {
				return err
			}
			return tx.Delete(digests, key)
		})
	}
	m.reopen()
	for id := range m.flying {
		m.all[id].State = delivery.Dropped
	}
	clear(m.flying)
}

func (m *logModel) filter() delivery.Filter {
	f := delivery.Filter{}
	for range m.rnd.IntN(4) {
		switch m.rnd.IntN(9) {
		case 0:
			f.Instance = 1 + m.rnd.Int64N(4)
		case 1:
			f.NoGlobal = true
		case 2:
			f.States = append(f.States, pick(m.rnd, delivery.States()))
		case 3:
			f.Event = pick(m.rnd, modelKinds)
		case 4:
			f.Target = pick(m.rnd, []event.Target{event.TargetWebhook, event.TargetGlobal, event.TargetEndpoint})
		case 5:
			id := pick(m.rnd, []string{"crm", "erp", "none", ""})
			f.Endpoint = &id
		case 6:
			f.MinDuration = time.Duration(m.rnd.IntN(3000)) * time.Millisecond
		case 7:
			for _, r := range m.all {
				f.From, f.To = r.CreatedAt, r.CreatedAt.Add(time.Duration(m.rnd.IntN(20))*time.Millisecond)
				break
			}
		case 8:
			often := m.rnd.IntN(3)
			for _, r := range m.all {
				if len(r.requests) < often && m.rnd.IntN(50) > 0 {
					continue
				}
				f.Query = pick(m.rnd, []string{r.EventID.String(), strings.ToUpper(r.EventID.String()), pick(m.rnd, r.requests), r.Chat, r.ChatLID, "nobody"})
				break
			}
		}
	}
	return f
}

func (m *logModel) selects(f delivery.Filter, r *loggedRecord) bool {
	switch {
	case f.Instance != 0 && r.Instance != f.Instance, f.NoGlobal && r.Lane.Target == event.TargetGlobal,
		len(f.States) > 0 && !slices.Contains(f.States, r.State), f.Event != "" && f.Event != r.Event,
		f.Target != "" && f.Target != r.Lane.Target, f.Endpoint != nil && *f.Endpoint != r.Lane.Endpoint,
		r.Duration < f.MinDuration, !f.From.IsZero() && r.CreatedAt.Before(f.From), !f.To.IsZero() && r.CreatedAt.After(f.To):
		return false
	}
	return f.Query == "" || strings.EqualFold(f.Query, r.EventID.String()) || slices.Contains(r.requests, f.Query) || f.Query == r.Chat || f.Query == r.ChatLID
}

// compare pages through a list in both directions and compares it with the model.
func (m *logModel) compare(f delivery.Filter) {
	m.t.Helper()
	var want []uint64
	for id, r := range m.all {
		if m.selects(f, r) {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	slices.Reverse(want)
	limit := 1 + m.rnd.IntN(40)
	var got []uint64
	var pages [][]uint64
	for at := ""; ; {
		page := m.page(f, at, limit, len(want))
		got, pages = append(got, page.ids()...), append(pages, page.ids())
		if at = page.Next; at == "" {
			m.back(f, page, pages, limit)
			break
		}
	}
	if !slices.Equal(got, want) {
		m.t.Fatalf("%+v: %v, want %v", f, got, want)
	}
}

func (m *logModel) page(f delivery.Filter, at string, limit, total int) Page {
	m.t.Helper()
	page, err := m.log.List(context.Background(), f, at, limit)
	if err != nil {
		m.t.Fatalf("%+v: %v", f, err)
	}
	if page.Total != total || len(page.Records) > limit {
		m.t.Fatalf("%+v: %d of %d records, want %d", f, len(page.Records), page.Total, total)
	}
	for _, r := range page.Records {
		want := m.all[r.ID]
		if want == nil || r.State != want.State || r.EventID != want.EventID || !r.CreatedAt.Equal(want.CreatedAt) {
			m.t.Fatalf("%+v: %+v, want %+v", f, r.Record, want)
		}
	}
	return page
}

// back pages from the last page to the first.
func (m *logModel) back(f delivery.Filter, page Page, pages [][]uint64, limit int) {
	m.t.Helper()
	for i := len(pages) - 2; i >= 0; i-- {
		page = m.page(f, page.Previous, limit, page.Total)
		if !slices.Equal(page.ids(), pages[i]) {
			m.t.Fatalf("%+v: page %d backwards is %v, and was %v", f, i, page.ids(), pages[i])
		}
	}
	if page.Previous != "" {
		m.t.Fatalf("%+v: there is something before the first page", f)
	}
}

func (p Page) ids() (ids []uint64) {
	for _, r := range p.Records {
		ids = append(ids, r.ID)
	}
	return ids
}

// TestLogMatchesAPlainList does random things, also while the digest is damaged and
// across restarts, and compares every filter, total and page with a plain list.
func TestLogMatchesAPlainList(t *testing.T) {
	for seed := uint64(0); seed < 10; seed += nightly.Or[uint64](3, 1) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := &logModel{rig: newRig(t, options{Log: true}), rnd: rand.New(rand.NewPCG(seed, 1)), all: map[uint64]*loggedRecord{}, flying: map[uint64]*Entry{}}
			m.large = seed >= 6
			for life := range 4 {
				for range 150 {
					m.step()
					if m.rnd.IntN(3) == 0 {
						m.compare(m.filter())
					}
				}
				m.compare(delivery.Filter{})
				m.counts()
				if life < 3 {
					m.restart()
					m.compare(delivery.Filter{})
					m.counts()
				}
			}
		})
	}
}

func (m *logModel) counts() {
	m.t.Helper()
	got, err := m.log.Counts(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	for _, state := range delivery.States() {
		want := 0
		for _, r := range m.all {
			if r.State == state {
				want++
			}
		}
		if got[state] != want {
			m.t.Fatalf("%d %s, want %d", got[state], state, want)
		}
	}
}
