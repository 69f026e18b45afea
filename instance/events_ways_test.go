package instance

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/instance/webhooks"
	"postern/store"
)

// TestResentMessageKeepsItsEventID: the commit had the event, but WhatsApp received no
// acknowledgement.
func TestResentMessageKeepsItsEventID(t *testing.T) {
	r, id := durableRig(t)
	defer r.stop()
	f := event.Fact{Kind: event.MessagesUpsert, Data: text("K", "1@s.whatsapp.net", false)}
	r.report(id, f)
	r.reboot()
	r.published()
	r.report(id, f)
	all := r.events(id)
	if len(all) != 1 {
		t.Fatalf("%d events for one message", len(all))
	}
	if n := r.one(); n.ID != all[0].ID || len(n.To) != 1 || n.To[0].Target != event.TargetGlobal {
		t.Errorf("what is not durable was published %+v, want the same id", n)
	}
	r.options(id, webhooks.OptionsChange{})
	r.report(id, f)
	if n := r.one(); n.ID != all[0].ID || len(n.To) != 2 {
		t.Errorf("without durable: %+v", n)
	}
}

// TestResentMessagePublishedFromMemoryIsPublishedAgain, this time as a durable event.
func TestResentMessagePublishedFromMemoryIsPublishedAgain(t *testing.T) {
	r := newRig(t, withLedger(t), nil)
	defer r.stop()
	id := r.create("a").ID
	r.hook(id, "http://a.example/", allFlags()...)
	f := event.Fact{Kind: event.MessagesUpsert, Data: text("K", "1@s.whatsapp.net", false)}
	r.report(id, f)
	r.options(id, webhooks.OptionsChange{Durable: true})
	r.report(id, f)
	if all := r.events(id); len(all) != 1 {
		t.Errorf("%d events", len(all))
	}
}

// TestFailedCommitPublishesNothing: the result is an error, without event or cause.
func TestFailedCommitPublishesNothing(t *testing.T) {
	for _, c := range causes() {
		if c.name == "a restriction that refusals show" {
			continue // reports its error otherwise
		}
		t.Run(c.name, func(t *testing.T) {
			r, id := durableRig(t)
			if c.before != nil {
				c.before(r, id)
			}
			r.published()
			if err := r.s.Close(); err != nil {
				t.Fatal(err)
			}
			failing := &rig{TB: quiet{t}, reg: r.reg}
			c.act(failing, id)
			if n := r.published(); len(n) != 0 {
				t.Errorf("published %v", kinds(n))
			}
			r.sup.end()
			r.archive.Close()
		})
	}
}

// quiet is a testing.TB whose Fatal ignores the error of a closed store.
type quiet struct{ testing.TB }

func (q quiet) Fatal(args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok && errors.Is(err, store.ErrClosed) {
			return
		}
	}
	q.TB.Fatal(args...)
}

// TestNearlyFullDiskDeliversFromMemory and logs a warning.
func TestNearlyFullDiskDeliversFromMemory(t *testing.T) {
	for _, c := range causes() {
		t.Run(c.name, func(t *testing.T) {
			r, id := durableRig(t)
			if c.before != nil {
				c.before(r, id)
			}
			var log syncBuffer
			r.minFree, r.logs = 1<<62, &log
			var notes, after int // of events that are not stored: in the commit of the cause, later
			r.adapt = adaptedTwice(r.adapt, func(cfg *Config) {
				cfg.NoteLost = func(tx *store.Tx, of int64, n int, own, all bool) error {
					if of != id || n != 1 || !own || all || c.stored == nil || !c.stored(tx, id) {
						t.Errorf("noted %d events of instance %d without their cause, own %v, all %v", n, of, own, all)
					}
					notes++
					return nil
				}
				cfg.Lost = func(int64) { after++ }
			})
			r.reboot()
			defer r.stop()
			r.published()
			before := len(r.events(id))
			c.act(r, id)
			n := r.one()
			if n.Kind != c.kind || n.Stored || len(r.events(id)) != before || len(n.To) < 2 {
				t.Errorf("published %+v, %d events in the file", n, len(r.events(id))-before)
			}
			if c.stored != nil {
				err := r.s.View(func(tx *store.Tx) error {
					if !c.stored(tx, id) {
						t.Error("the cause is not stored")
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
			if (notes > 0) != (c.stored != nil) || (after == 1) != (c.stored == nil) {
				t.Errorf("noted %d times in the commit, %d times after it", notes, after)
			}
			if got := log.String(); strings.Count(got, "the disk is nearly full") != 1 {
				t.Errorf("the log says %q", got)
			}
		})
	}
}

func adaptedTwice(first, second func(*Config)) func(*Config) {
	return func(c *Config) {
		first(c)
		second(c)
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestPasskeyEndEventIsInStateCommit(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.openLedger()
		id := r.asked("a")
		r.options(id, webhooks.OptionsChange{Durable: true})
		film := r.film()
		if _, err := r.sup.Logout(bg, id, "req-9"); err != nil {
			t.Fatal(err)
		}
		r.commit = nil
		ends := 0
		film.each(func(s *store.Store) {
			all := storedEvents(t, s, id)
			_ = s.View(func(tx *store.Tx) error {
				over := recordWith(func(rec Record) bool { return rec.Status == event.LoggedOut })(tx, id)
				if over != (len(all) == 1) {
					t.Errorf("the pairing is over: %t, events: %d", over, len(all))
				}
				if over {
					ends++
				}
				return nil
			})
		})
		all := r.events(id)
		if ends != 1 || len(all) != 1 || all[0].RequestID != "req-9" || !strings.Contains(string(all[0].Body), `"passkey":null`) ||
			!strings.Contains(string(all[0].Body), `"connectionStatus":"logged_out"`) {
			t.Errorf("%d commits with it, events %+v", ends, all)
		}
	})
}

// TestUnreadableOptionsBlockDeliveryFromMemory even if the disk has no room to store the event.
func TestUnreadableOptionsBlockDeliveryFromMemory(t *testing.T) {
	r, id := durableRig(t)
	err := r.s.Update(bg, func(tx *store.Tx) error { return tx.Put("webhook_options", store.Key(id), []byte("{")) })
	if err != nil {
		t.Fatal(err)
	}
	r.minFree = 1 << 62
	r.reboot()
	defer r.stop()
	w := r.reg.source(id).Writer()
	w.Add(event.CallUpsert, event.Call{}, event.About{}, "")
	if err := w.Publish(bg); err != nil {
		t.Fatal(err)
	}
	if n := r.one(); len(n.To) != 1 || n.To[0].Target != event.TargetGlobal {
		t.Errorf("published %+v", n)
	}
}

func TestBatchItemResultEventIsInItsCommit(t *testing.T) {
	r, id := durableRig(t)
	defer r.stop()
	r.published()
	m := text("S", "1@s.whatsapp.net", true)
	m.ExternalAttributes = event.Attributes(`{"order":5}`)
	sent := r.reg.Sent(id, event.Content{Text: &event.TextContent{Text: "S"}}, m)
	var n int64
	for range 2 { // a closure may run twice
		err := r.s.Update(bg, func(tx *store.Tx) (err error) {
			if n, err = sent.Store(tx); err == nil && len(r.events(id)) == 0 && n == 1 {
				return nil
			}
			return errors.Join(err, errors.New("again"))
		})
		if err == nil {
			break
		}
	}
	sent.Publish()
	all := r.events(id)
	if len(all) != 1 || n != 1 || all[0].Kind != event.SendMessage || all[0].About.Chat != "1@s.whatsapp.net" {
		t.Fatalf("message %d, events %+v", n, all)
	}
	data := fields(t, all[0].Body)["data"].(map[string]any)
	if data["id"] != 1.0 || data["externalAttributes"].(map[string]any)["order"] != 5.0 {
		t.Errorf("published %v", data)
	}
	if published := r.one(); !published.Stored || published.ID != all[0].ID {
		t.Errorf("published %+v", published)
	}
}

// TestKillAroundNoticeRemovalKeepsTheEvent: the commit that removes its notice stores a durable
// event; any other is published before.
func TestKillAroundNoticeRemovalKeepsTheEvent(t *testing.T) {
	for _, durable := range []bool{false, true} {
		var order []string
		r := newRig(t, func(c *Config) {
			withLedger(t)(c)
			publish := c.Publish
			c.Publish = func(n event.Notice) {
				if n.Kind == event.HistorySync {
					order = append(order, "published")
				}
				publish(n)
			}
			c.DropNotice = func(*store.Tx, int64, string) error {
				order = append(order, "forgotten")
				return nil
			}
		}, nil)
		id := r.create("a").ID
		r.options(id, webhooks.OptionsChange{Durable: durable})
		r.report(id, event.Fact{Kind: event.HistorySync, Data: event.HistoryUpdate{Type: event.HistorySyncType}, Notice: "N"})
		want := []string{"published", "forgotten"}
		if durable {
			want = []string{"forgotten"} // the relay publishes what is in the file
		}
		if !slices.Equal(order, want) || (len(r.events(id)) == 1) != durable {
			t.Errorf("durable %t: %q, not %q; %d events in the file", durable, order, want, len(r.events(id)))
		}
		r.stop()
	}
}

// TestNoticeIsRemovedInItsEventCommit, with and without durable events, in one commit.
func TestNoticeIsRemovedInItsEventCommit(t *testing.T) {
	for _, durable := range []bool{false, true} {
		var dropped []string
		r := newRig(t, func(c *Config) {
			withLedger(t)(c)
			c.DropNotice = func(_ *store.Tx, _ int64, notice string) error {
				dropped = append(dropped, notice)
				return nil
			}
		}, nil)
		id := r.create("a").ID
		r.options(id, webhooks.OptionsChange{Durable: durable})
		commits := 0
		r.commit = func(int, time.Duration) { commits++ }
		r.report(id, event.Fact{Kind: event.HistorySync, Data: event.HistoryUpdate{Type: event.HistorySyncType}, Notice: "N"})
		if commits != 1 || !slices.Equal(dropped, []string{"N"}) || (len(r.events(id)) == 1) != durable || (len(r.published()) == 0) != durable {
			t.Errorf("durable %t: %d commits, dropped %v, %d events", durable, commits, dropped, len(r.events(id)))
		}
		r.stop()
	}
}

func TestDeletedInstanceStoresAndPublishesNothing(t *testing.T) {
	r, id := durableRig(t)
	defer r.stop()
	gone := r.reg.source(id).Writer()
	gone.Add(event.CallUpsert, event.Call{}, event.About{}, "")
	if err := r.reg.Delete(bg, id, true); err != nil {
		t.Fatal(err)
	}
	r.published()
	if err := gone.Publish(bg); !errors.Is(err, ErrNotFound) {
		t.Errorf("an event on its way: %v", err)
	}
	if err := r.reg.Report(context.Background(), id, event.Fact{Kind: event.CallUpsert, Data: event.Call{}}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a later one: %v", err)
	}
	if len(r.published()) != 0 || len(r.events(id)) != 0 {
		t.Error("something was stored or published")
	}
}

func TestEventIDIsSharedByItsDestinations(t *testing.T) {
	r := newRig(t, withLedger(t), nil)
	defer r.stop()
	id := r.create("a").ID
	seen := map[uuid.UUID]bool{}
	for range 3 {
		r.report(id, event.Fact{Kind: event.CallUpsert, Data: event.Call{}})
		if n := r.one(); seen[n.ID] || n.ID.Version() != 7 {
			t.Errorf("the id is %s", n.ID)
		} else {
			seen[n.ID] = true
		}
	}
}
