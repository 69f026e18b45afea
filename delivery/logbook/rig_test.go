package logbook

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
	"postern/store/schema"
)

// The buckets of package delivery that tests look into.
const (
	records  = "delivery"
	attempts = "delivery_attempt"
	digests  = "delivery_digest"
	requests = "delivery_request"
	bodies   = "delivery_body"
	events   = "delivery_event"
	forgets  = "delivery_forget"
	logs     = "delivery_log"
)

// options configure a ledger and its log.
type options struct {
	Log        bool
	Bodies     delivery.Bodies
	Retention  time.Duration
	MaxEntries int
	ReplayRate int
	Resolve    func(delivery.Lane) (event.Destination, delivery.Status)
	Changed    func([]delivery.Changed)
	Ended      func([]delivery.Ended)
	Made       func(delivery.Lane, []delivery.Due)
	Logger     *slog.Logger
}

// rig is a log on a real file.
type rig struct {
	t    testing.TB
	path string
	cfg  options
	s    *store.Store
	box  *outbox.Outbox
	l    *delivery.Ledger
	log  *Log
	now  func() time.Time // nil: the time of day

	large bool // a start after an orderly stop does not read the file
}

func newRig(t testing.TB, cfg options) *rig {
	t.Helper()
	r := &rig{t: t, path: filepath.Join(t.TempDir(), "d.db"), cfg: cfg}
	r.open()
	t.Cleanup(func() { _ = r.s.Close() })
	return r
}

func (r *rig) open() {
	r.t.Helper()
	var err error
	o := store.Options{Path: r.path, Buckets: buckets(), NoSync: true, MinFree: 1, Now: r.now}
	if r.large {
		o.NoSync, o.SurveyFrom = false, 1
	}
	if r.s, err = store.Open(o); err != nil {
		r.t.Fatal(err)
	}
	if r.box, err = outbox.Open(r.s); err != nil {
		r.t.Fatal(err)
	}
	if r.l, r.log, err = r.cfg.open(r.s, r.box); err != nil {
		r.t.Fatal(err)
	}
}

func (o options) open(s *store.Store, box *outbox.Outbox) (*delivery.Ledger, *Log, error) {
	l, err := delivery.Open(s, delivery.Config{
		Log: o.Log, Bodies: o.Bodies, Outbox: box, Resolve: o.Resolve, Changed: o.Changed, Ended: o.Ended, Logger: o.Logger,
	})
	if err != nil {
		return nil, nil, err
	}
	return l, New(l, Config{Retention: o.Retention, MaxEntries: o.MaxEntries, ReplayRate: o.ReplayRate, Made: o.Made, Logger: o.Logger}), nil
}

// interrupted is the reason of deliveries that were lost with their process.
const interrupted = "the program ended before it was delivered"

// sweep removes what is left of deleted instances, as the ledger does when it stops.
func (r *rig) sweep() {
	r.t.Helper()
	if err := errors.Join(r.l.Start(context.Background()), r.l.Stop(context.Background())); err != nil {
		r.t.Fatal(err)
	}
}

func buckets() []schema.Bucket { return slices.Concat(delivery.Buckets(), Buckets()) }

// start starts the ledger and its log.
func (r *rig) start(ctx context.Context) error { return errors.Join(r.l.Start(ctx), r.log.Start(ctx)) }

func (r *rig) stop(ctx context.Context) error { return errors.Join(r.log.Stop(ctx), r.l.Stop(ctx)) }

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
func (r *rig) emit(about event.About, to ...event.Destination) (e delivery.Event) {
	r.t.Helper()
	r.update(func(tx *store.Tx) (err error) {
		e, err = r.l.Emit(tx, testEvent(1, about), true, to)
		return err
	})
	return e
}

func testEvent(instance int64, about event.About) delivery.Event {
	return delivery.Event{
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

func (r *rig) due(lane delivery.Lane) (ids []uint64) {
	r.t.Helper()
	r.view(func(tx *store.Tx) error {
		rows, err := delivery.DueAfter(tx, lane, delivery.Due{}, 0)
		for _, d := range rows {
			ids = append(ids, d.Record)
		}
		return err
	})
	return ids
}

func (r *rig) settle(id uint64, accepted bool, next time.Time) (follows *delivery.Due, rec delivery.Record) {
	r.t.Helper()
	a := delivery.Attempt{StartedAt: time.Now().UTC().Truncate(time.Millisecond), Duration: 12 * time.Millisecond, Status: 204, RequestID: uuid.NewString()}
	if !accepted {
		a.Status, a.Error, a.Answer = 503, "status 503", "no"
	}
	r.update(func(tx *store.Tx) (err error) {
		follows, rec, err = r.l.Settle(tx, id, a, accepted, next)
		return err
	})
	return follows, rec
}

func (r *rig) record(id uint64) (rec delivery.Record, found bool) {
	r.t.Helper()
	r.view(func(tx *store.Tx) (err error) {
		rec, found, err = delivery.Find(tx, id)
		return err
	})
	return rec, found
}

// sealed is a row as it is stored in the file.
func sealed(key, value []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	raw := binary.BigEndian.AppendUint32(bytes.Clone(key), crc32.Update(crc32.Checksum(key, table), table, value))
	return append(raw, value...)
}
