package messages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"postern/delivery"
	"postern/delivery/publish"
	"postern/event"
	"postern/store"
	"postern/store/schema"
)

var bg = context.Background()

// rig is an archive on a real file. Its instances are records of a bucket of the test,
// and none of their events is durable.
type rig struct {
	testing.TB
	path  string
	s     *store.Store
	adapt func(*Config)

	durable bool // commits reach the disk, as in production
	a       *Archive
	events  *publish.Publisher

	mu      sync.Mutex
	notices []event.Notice
}

func newRig(t testing.TB, adapt func(*Config)) *rig {
	t.Helper()
	_, durable := t.(*testing.B)
	r := &rig{TB: t, durable: durable, path: filepath.Join(t.TempDir(), "m.db"), adapt: adapt}
	r.boot()
	return r
}

const instances = "instance"

var errNoInstance = errors.New("no such instance")

func there(tx *store.Tx, id int64) error {
	if tx.Has(instances, store.Key(id)) {
		return nil
	}
	return errNoInstance
}

func buckets() []schema.Bucket {
	owner := func(id []byte) schema.Need {
		return schema.Need{Bucket: instances, Key: bytes.Clone(id), Why: "it belongs to no instance"}
	}
	own := schema.Bucket{Name: instances, Owner: "test", Key: "id", Value: "nothing"}
	return schema.OwnedBy(owner, slices.Concat([]schema.Bucket{own}, Buckets(), delivery.Buckets()))
}

func (r *rig) boot() {
	r.Helper()
	var err error
	if r.s, err = store.Open(store.Options{Path: r.path, Buckets: buckets(), NoSync: !r.durable, MinFree: 1}); err != nil {
		r.Fatal(err)
	}
	cfg := Config{Store: r.s, Owner: there, SaveMessages: true, SaveUpdates: true, SaveContacts: true}
	if r.adapt != nil {
		r.adapt(&cfg)
	}
	if r.a, err = Open(bg, cfg); err != nil {
		r.Fatal(err)
	}
	r.events = publish.NewPublisher(publish.PublisherConfig{Store: r.s, Publish: func(n event.Notice) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.notices = append(r.notices, n)
	}})
}

func (r *rig) stop() {
	r.Helper()
	r.a.Close()
	if err := r.s.Close(); err != nil {
		r.Error(err)
	}
}

func (r *rig) reboot() {
	r.Helper()
	r.stop()
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
	r.boot()
}

// create makes an instance and returns its id.
func (r *rig) create() int64 {
	r.Helper()
	var id uint64
	err := r.s.Update(bg, func(tx *store.Tx) (err error) {
		if id, err = tx.NextID(instances); err != nil {
			return err
		}
		return tx.Put(instances, store.Key(id), nil)
	})
	if err != nil {
		r.Fatal(err)
	}
	return int64(id)
}

// drop deletes an instance as package instance does.
func (r *rig) drop(id int64) {
	r.Helper()
	err := r.s.Update(bg, func(tx *store.Tx) error { return errors.Join(Forget(tx, id), tx.Delete(instances, store.Key(id))) })
	if err != nil {
		r.Fatal(err)
	}
}

// origin is an instance without destinations, whose events are not durable.
type origin int64

func (o origin) snapshot() event.Snapshot {
	return event.Snapshot{ID: int64(o), Name: fmt.Sprint("i", int64(o)), ExternalAttributes: event.Attributes("{}")}
}

func (o origin) Durable() bool                                { return false }
func (o origin) RoutesIn(*store.Tx) (publish.Routes, error)   { return nil, nil }
func (o origin) SnapshotIn(*store.Tx) (event.Snapshot, error) { return o.snapshot(), nil }

func (o origin) Snapshot() (event.Snapshot, error) { return o.snapshot(), nil }

func (o origin) MediaLinks() (own, global bool)                               { return false, false }
func (o origin) Destinations(event.Kind, event.About) (d []event.Destination) { return d }

func (r *rig) source(id int64) publish.Source { return r.events.Source(id, origin(id)) }

// tell reports a fact as package instance does.
func (r *rig) tell(id int64, f event.Fact) (err error) {
	switch data := f.Data.(type) {
	case *event.Message:
		_, err = r.a.Receive(bg, r.source(id), data, Keeping{Kind: f.Kind, RequestID: f.RequestID})
	case *event.HistoryPart:
		data.Stored, err = r.a.StoreHistory(bg, id, data.Messages)
	case event.Receipt:
		err = r.a.Receipt(bg, r.source(id), f, data)
	case event.ContactChange:
		err = r.a.ReportContact(bg, r.source(id), f, &data)
	default:
		r.Fatalf("%T is no fact of this package", data)
	}
	return err
}

func (r *rig) report(id int64, f event.Fact) {
	r.Helper()
	if err := r.tell(id, f); err != nil {
		r.Fatal(err)
	}
}

// count returns how many records of a bucket belong to an instance.
func (r *rig) count(bucket string, id int64) (n int) {
	r.Helper()
	err := r.s.View(func(tx *store.Tx) error {
		return tx.Scan(bucket, store.Range{Prefix: store.Key(id)}, func(_, _ []byte) (bool, error) {
			n++
			return true, nil
		})
	})
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// published returns the events since the last call.
func (r *rig) published() []event.Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.notices
	r.notices = nil
	return n
}

// one is the only event since the last call.
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

func text(keyID, chat string, mine bool) *event.Message {
	return &event.Message{
		KeyID: keyID, KeyRemoteJID: &chat, KeyFromMe: mine, MessageType: "conversation",
		Content: json.RawMessage(`{"text":"hello"}`), MessageTimestamp: 1_700_000_000,
	}
}
