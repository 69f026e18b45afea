package instance

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/instance/webhooks"
	"postern/store"
)

// withLedger gives the registry a ledger, as the program does.
func withLedger(t testing.TB) func(*Config) {
	return func(c *Config) {
		var err error
		if c.Ledger, err = delivery.Open(c.Store, delivery.Config{Log: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// openLedger gives the running registry a ledger.
func (r *rig) openLedger() {
	r.Helper()
	withLedger(r)(&r.reg.cfg)
	r.reg.events = r.reg.cfg.publisher()
}

// durableRig is an instance whose events are durable. It has a webhook for all events, an endpoint
// for messages, and a global webhook of the in-memory flow.
func durableRig(t testing.TB) (r *rig, id int64) {
	t.Helper()
	r = newRig(t, func(c *Config) {
		withLedger(t)(c)
		c.Webhooks = webhooks.New(webhooks.Config{Store: c.Store, GlobalURL: "http://global.example/"})
	}, nil)
	id = r.create("shop").ID
	r.hook(id, "http://a.example/", allFlags()...)
	r.options(id, webhooks.OptionsChange{
		Durable: true, Endpoints: []webhooks.EndpointChange{{ID: "crm", URL: "http://b.example/", Events: map[event.Flag]bool{"messagesUpsert": true}}},
	})
	return r, id
}

func allFlags() (flags []event.Flag) {
	for _, d := range event.Catalogue() {
		if d.Flag != "" {
			flags = append(flags, d.Flag)
		}
	}
	return flags
}

// events returns the stored events of an instance, numbered or not.
func (r *rig) events(id int64) (all []delivery.Event) {
	r.Helper()
	return storedEvents(r, r.s, id)
}

func storedEvents(t testing.TB, s *store.Store, id int64) (all []delivery.Event) {
	t.Helper()
	err := s.View(func(tx *store.Tx) error {
		found, err := delivery.EventsAfter(tx, 0, 0)
		for _, e := range found {
			if e.Instance == id {
				all = append(all, e)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// camera keeps a copy of the file after each commit: what a kill right after it would leave.
type camera struct {
	mu     sync.Mutex
	r      *rig
	images [][]byte
}

func (r *rig) film() *camera {
	c := &camera{r: r}
	r.commit = func(int, time.Duration) {
		raw, err := os.ReadFile(r.path)
		if err != nil {
			r.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.images = append(c.images, raw)
	}
	return c
}

// each calls fn with every copy, opened.
func (c *camera) each(fn func(s *store.Store)) {
	c.r.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, raw := range c.images {
		path := filepath.Join(c.r.TempDir(), "image.db")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			c.r.Fatal(err)
		}
		s, err := store.Open(store.Options{Path: path, Buckets: allBuckets(), NoSync: true, MinFree: 1})
		if err != nil {
			c.r.Fatal(err)
		}
		fn(s)
		if err := s.Close(); err != nil {
			c.r.Error(err)
		}
	}
}

// cause is an action that causes an event.
type cause struct {
	name   string
	kind   event.Kind
	before func(r *rig, id int64)
	act    func(r *rig, id int64)
	stored func(tx *store.Tx, id int64) bool // nil: nothing is
}

func has(bucket string) func(*store.Tx, int64) bool {
	return func(tx *store.Tx, id int64) bool {
		n, _ := tx.Count(bucket, store.Key(id))
		return n > 0
	}
}

func recordWith(ok func(Record) bool) func(*store.Tx, int64) bool {
	return func(tx *store.Tx, id int64) bool {
		rec, found, _ := store.GetJSON[Record](tx, instances, store.Key(id))
		return found && ok(rec)
	}
}

func published(f event.Fact) func(*rig, int64) {
	return func(r *rig, id int64) { r.report(id, f) }
}

// causes lists all ways in which an event is caused.
func causes() []cause {
	const chat = "1@s.whatsapp.net"
	sent := published(event.Fact{Kind: event.SendMessage, Data: text("S", chat, true)})
	return []cause{
		{name: "a message", kind: event.MessagesUpsert, act: published(event.Fact{Kind: event.MessagesUpsert, Data: text("K", chat, false)}), stored: has("message")},
		{name: "a sent message", kind: event.SendMessage, act: sent, stored: has("message")},
		{
			name: "a receipt", kind: event.MessagesUpdate, before: sent, stored: has("message_update"),
			act: published(event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"S"}, Status: event.StatusRead, Chat: chat}}),
		},
		{
			name: "a contact", kind: event.ContactsUpsert, stored: has("contact"),
			act: published(event.Fact{Kind: event.ContactsUpsert, Data: event.ContactChange{JID: chat, FullName: new("Anne")}}),
		},
		{
			name: "a contact's name", kind: event.ContactsUpdate, stored: has("contact"),
			act: published(event.Fact{Kind: event.ContactsUpdate, Data: event.ContactChange{JID: chat, PushName: new("Anne"), Source: event.SourcePushName}}),
		},
		{
			name: "a state", kind: event.ConnectionUpdated, act: published(connection(event.TypeConnected, event.ConnectionOpen, event.Online)),
			stored: recordWith(func(rec Record) bool { return rec.Status == event.Online }),
		},
		{
			name: "a code", kind: event.QRCodeUpdated,
			act:    published(event.Fact{Kind: event.QRCodeUpdated, Status: event.QRCodeState, Data: event.QRCode{Count: 1, Code: "2@x"}}),
			stored: recordWith(func(rec Record) bool { return rec.Status == event.QRCodeState }),
		},
		{
			name: "the own picture", kind: event.ProfilePictureUpdate,
			act:    published(event.Fact{Kind: event.ProfilePictureUpdate, Picture: new("https://p"), Data: event.PictureUpdate{JID: chat}}),
			stored: recordWith(func(rec Record) bool { return rec.ProfilePicURL == "https://p" }),
		},
		{
			name: "a restriction that WhatsApp reports", kind: event.StatusInstance,
			act: published(event.Fact{
				Kind: event.StatusInstance, Data: event.InstanceStatus{Type: event.StatusAccountReachoutTimelock},
				Restriction: &event.Restriction{Type: event.StatusAccountReachoutTimelock},
			}),
			stored: recordWith(func(rec Record) bool { return len(rec.Restrictions) > 0 }),
		},
		{
			name: "a restriction that refusals show", kind: event.StatusInstance,
			act: func(r *rig, id int64) {
				if _, err := r.reg.infer(bg, id, event.Restriction{Type: event.StatusAccountRestricted, Code: 463}, ""); err != nil {
					r.Error(err)
				}
			},
			stored: recordWith(func(rec Record) bool { return len(rec.Restrictions) > 0 }),
		},
		{name: "a presence", kind: event.PresenceUpdated, act: published(event.Fact{Kind: event.PresenceUpdated, Data: event.PresenceUpdate{JID: chat}})},
		{name: "a call", kind: event.CallUpsert, act: published(event.Fact{Kind: event.CallUpsert, Data: event.Call{ChatID: chat}})},
		{name: "a deleted message", kind: event.MessagesDelete, act: published(event.Fact{Kind: event.MessagesDelete, Data: event.MessageDelete{ChatJID: chat}})},
	}
}

// TestKillLeavesCauseAndEventOrNeither checks the file after every commit.
func TestKillLeavesCauseAndEventOrNeither(t *testing.T) {
	for _, c := range causes() {
		t.Run(c.name, func(t *testing.T) {
			r, id := durableRig(t)
			defer r.stop()
			if c.before != nil {
				c.before(r, id)
			}
			film := r.film()
			c.act(r, id)
			r.commit = nil
			commits := 0
			film.each(func(s *store.Store) {
				commits++
				written := slices.ContainsFunc(storedEvents(t, s, id), func(e delivery.Event) bool { return e.Kind == c.kind })
				stored := written
				_ = s.View(func(tx *store.Tx) error {
					if c.stored != nil {
						stored = c.stored(tx, id)
					}
					return nil
				})
				if stored != written || !written {
					t.Errorf("behind commit %d: the cause is stored: %t, its event: %t", commits, stored, written)
				}
			})
			if commits != 1 {
				t.Errorf("%d commits, want one for both", commits)
			}
		})
	}
}

// TestWithoutDurableReportsCostNoExtraCommits also checks that no event is stored.
func TestWithoutDurableReportsCostNoExtraCommits(t *testing.T) {
	for _, c := range causes() {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, withLedger(t), nil)
			defer r.stop()
			id := r.create("a").ID
			r.hook(id, "http://a.example/", allFlags()...)
			if c.before != nil {
				c.before(r, id)
			}
			r.published()
			var commits atomic.Int64
			r.commit = func(int, time.Duration) { commits.Add(1) }
			c.act(r, id)
			want := int64(0)
			if c.stored != nil {
				want = 1
			}
			if commits.Load() != want || len(r.events(id)) != 0 {
				t.Errorf("%d commits, want %d; %d events in the file", commits.Load(), want, len(r.events(id)))
			}
			n := r.one()
			if n.Kind != c.kind || n.Stored || n.ID.Version() != 7 || len(n.To) != 1 || n.To[0].URL != "http://a.example/" || n.To[0].WithID || n.To[0].Durable {
				t.Errorf("published %+v", n)
			}
		})
	}
}

// TestDurableEventHasOneRecordPerDestination: destinations that are not durable get the same event
// from memory.
func TestDurableEventHasOneRecordPerDestination(t *testing.T) {
	for _, c := range causes() {
		t.Run(c.name, func(t *testing.T) {
			r, id := durableRig(t)
			defer r.stop()
			if c.before != nil {
				c.before(r, id)
			}
			r.published()
			sequence := uint64(len(r.events(id)))
			c.act(r, id)
			all := r.events(id)
			e := all[len(all)-1]
			want := []delivery.Lane{webhookLane(id)}
			if c.kind == event.MessagesUpsert {
				want = append(want, endpointLane(id, "crm"))
			}
			var lanes []delivery.Lane
			for _, to := range e.To {
				lanes = append(lanes, to.Lane)
			}
			if !slices.Equal(lanes, want) || e.Sequence != sequence+1 || e.ID.Version() != 7 || e.ExpiresAt.Sub(e.CreatedAt) != 72*time.Hour {
				t.Errorf("stored %+v for %v, want %v", e, lanes, want)
			}
			if e.About.Chat == "" && strings.Contains(string(e.Body), "1@s.whatsapp.net") && c.kind != event.StatusInstance {
				t.Errorf("it is about no chat: %s", e.Body)
			}
			n := r.one()
			if !bytes.Equal(n.Body, e.Body) || n.ID != e.ID || !n.Stored || n.Sequence != e.Sequence || len(n.To) != 1 || n.To[0].Target != event.TargetGlobal {
				t.Errorf("published %+v", n)
			}
			got := fields(t, e.Body)
			if got["event"] != string(c.kind) || got["timestamp"] != event.At(e.CreatedAt).String() {
				t.Errorf("the body is %s", e.Body)
			}
		})
	}
}

// TestEventSnapshotMatchesItsCommit: the snapshot has a state that the same commit stores and
// memory does not have yet.
func TestEventSnapshotMatchesItsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, id := durableRig(t)
		defer r.stop()
		r.published()
		together(r,
			func() { r.report(id, connection(event.TypeConnected, event.ConnectionOpen, event.Online)) },
			func() { r.report(id, event.Fact{Kind: event.CallUpsert, Data: event.Call{ChatID: "1@s.whatsapp.net"}}) },
		)
		for _, e := range r.events(id) {
			shown := fields(t, e.Body)["instance"].(map[string]any)
			if shown["connectionStatus"] != string(event.Online) {
				t.Errorf("%s shows %v", e.Kind, shown)
			}
		}
		if n := len(r.events(id)); n != 2 {
			t.Errorf("%d events", n)
		}
	})
}

// together makes calls that store something share one commit, in their order. It works only in
// bubbles.
func together(r *rig, calls ...func()) {
	r.Helper()
	hold, holding := make(chan struct{}), make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		_ = r.s.Update(bg, func(*store.Tx) error {
			select {
			case <-holding: // a second run
			default:
				close(holding)
			}
			<-hold
			return nil
		})
	})
	<-holding
	for _, call := range calls {
		work.Go(call)
		synctest.Wait() // it waits for the writer
	}
	close(hold)
	work.Wait()
}

// TestDurableCountsFromTheCommitOfItsOptions: an event that this commit stores is durable, although
// memory has the former options.
func TestDurableCountsFromTheCommitOfItsOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withLedger(t), nil)
		defer r.stop()
		id := r.create("a").ID
		r.hook(id, "http://a.example/", allFlags()...)
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("before", "1@s.whatsapp.net", false)})
		together(r,
			func() { r.options(id, webhooks.OptionsChange{Durable: true}) },
			func() {
				r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", "1@s.whatsapp.net", false)})
			},
		)
		if all := r.events(id); len(all) != 1 || len(all[0].To) != 1 {
			t.Errorf("%d events are in the file: %+v", len(all), all)
		}
		together(r,
			func() { r.options(id, webhooks.OptionsChange{}) },
			func() {
				r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("after", "1@s.whatsapp.net", false)})
			},
		)
		if all := r.events(id); len(all) != 1 {
			t.Errorf("%d events are in the file, want no more", len(all))
		}
	})
}

// TestSequenceContinuesWhenDurableAgain: events in between have no number.
func TestSequenceContinuesWhenDurableAgain(t *testing.T) {
	r, id := durableRig(t)
	defer r.stop()
	call := event.Fact{Kind: event.CallUpsert, Data: event.Call{ChatID: "1@s.whatsapp.net"}}
	r.report(id, call)
	r.options(id, webhooks.OptionsChange{})
	r.report(id, call)
	r.options(id, webhooks.OptionsChange{Durable: true})
	r.report(id, call)
	var numbers []uint64
	for _, e := range r.events(id) {
		numbers = append(numbers, e.Sequence)
	}
	if !slices.Equal(numbers, []uint64{1, 2}) {
		t.Errorf("the numbers are %v", numbers)
	}
}

// TestDurableGlobalWebhookStoresAllEvents, without numbers, while their own webhooks use the
// in-memory flow.
func TestDurableGlobalWebhookStoresAllEvents(t *testing.T) {
	r := newRig(t, func(c *Config) {
		withLedger(t)(c)
		c.Webhooks = webhooks.New(webhooks.Config{Store: c.Store, GlobalURL: "http://global.example/"})
	}, nil)
	defer r.stop()
	id := r.create("a").ID
	r.hook(id, "http://a.example/", "callUpsert")
	r.options(webhooks.Global, webhooks.OptionsChange{Durable: true, MaxAge: new("1h")})
	r.report(id, event.Fact{Kind: event.CallUpsert, Data: event.Call{ChatID: "1@s.whatsapp.net"}})
	all := r.events(id)
	if len(all) != 1 || all[0].Sequence != 0 || len(all[0].To) != 1 || all[0].To[0].Lane != delivery.GlobalLane {
		t.Fatalf("stored %+v", all)
	}
	err := r.s.View(func(tx *store.Tx) error {
		ends, err := delivery.ExpiryAfter(tx, all[0].CreatedAt)
		if ends.Sub(all[0].CreatedAt) != time.Hour {
			t.Errorf("its delivery ends at %v, made at %v", ends, all[0].CreatedAt)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := r.one(); n.ID != all[0].ID || n.Stored || len(n.To) != 1 || n.To[0].URL != "http://a.example/" {
		t.Errorf("published %+v", n)
	}
}
