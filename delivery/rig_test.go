package delivery

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// rig is a ledger on a real file.
type rig struct {
	t    testing.TB
	path string
	cfg  Config
	s    *store.Store
	box  *outbox.Outbox
	l    *Ledger
	now  func() time.Time // nil: the time of day

	large bool // a start after an orderly stop does not read the file
}

func newRig(t testing.TB, cfg Config) *rig {
	t.Helper()
	r := &rig{t: t, path: filepath.Join(t.TempDir(), "d.db"), cfg: cfg}
	r.open()
	t.Cleanup(func() { _ = r.s.Close() })
	return r
}

func (r *rig) open() {
	r.t.Helper()
	var err error
	o := store.Options{Path: r.path, Buckets: Buckets(), NoSync: true, MinFree: 1, Now: r.now}
	if r.large {
		o.NoSync, o.SurveyFrom = false, 1
	}
	if r.s, err = store.Open(o); err != nil {
		r.t.Fatal(err)
	}
	if r.box, err = outbox.Open(r.s); err != nil {
		r.t.Fatal(err)
	}
	r.cfg.Outbox = r.box
	if r.l, err = Open(r.s, r.cfg); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) reopen() {
	r.t.Helper()
	if err := r.s.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.open()
}

func (r *rig) update(fn func(*store.Tx) error) {
	r.t.Helper()
	if err := r.s.Update(context.Background(), fn); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) view(fn func(*store.Tx) error) {
	r.t.Helper()
	if err := r.s.View(fn); err != nil {
		r.t.Fatal(err)
	}
}

// emit writes one event of instance 1.
func (r *rig) emit(about event.About, to ...event.Destination) (e Event) {
	r.t.Helper()
	r.update(func(tx *store.Tx) (err error) {
		e, err = r.l.Emit(tx, testEvent(1, about), true, to)
		return err
	})
	return e
}

func testEvent(instance int64, about event.About) Event {
	return Event{
		Kind: event.MessagesUpsert, Instance: instance, Name: "shop", OwnerJID: "5511999990000@s.whatsapp.net", About: about,
		Body: []byte(`{"event":"messages.upsert"}`),
	}
}

func hook(order event.Order) event.Destination {
	return event.Destination{Target: event.TargetWebhook, URL: "https://user:pw@a.example:8443/in?key=1", Durable: true, Order: order, MaxAge: time.Hour}
}

func endpoint(id string, order event.Order) event.Destination {
	d := hook(order)
	d.Target, d.Endpoint = event.TargetEndpoint, id
	return d
}

func global(order event.Order) event.Destination {
	d := hook(order)
	d.Target = event.TargetGlobal
	return d
}

func (r *rig) due(lane Lane) (ids []uint64) {
	r.t.Helper()
	r.view(func(tx *store.Tx) error {
		rows, err := DueAfter(tx, lane, Due{}, 0)
		for _, d := range rows {
			ids = append(ids, d.Record)
		}
		return err
	})
	return ids
}

func (r *rig) settle(id uint64, accepted bool, next time.Time) (follows *Due, rec Record) {
	r.t.Helper()
	a := Attempt{StartedAt: time.Now().UTC().Truncate(time.Millisecond), Duration: 12 * time.Millisecond, Status: 204, RequestID: uuid.NewString()}
	if !accepted {
		a.Status, a.Error, a.Answer = 503, "status 503", "no"
	}
	r.update(func(tx *store.Tx) (err error) {
		follows, rec, err = r.l.Settle(tx, id, a, accepted, next)
		return err
	})
	return follows, rec
}

func (r *rig) record(id uint64) (rec Record, found bool) {
	r.t.Helper()
	r.view(func(tx *store.Tx) (err error) {
		rec, found, err = Find(tx, id)
		return err
	})
	return rec, found
}
