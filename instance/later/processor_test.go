package later

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/instance/webhooks"
	"postern/messages"
	"postern/store"
)

var greeting = event.Outgoing{ID: "OUT", To: "123@g.us", MentionAll: true}

// processor starts a Processor on the rig's file.
func (r *rig) processor(adapt func(*ProcessorConfig)) *Processor {
	r.Helper()
	cfg := ProcessorConfig{Store: r.store, Registry: r.reg, Supervisor: r.sup}
	if adapt != nil {
		adapt(&cfg)
	}
	p := NewProcessor(cfg)
	if err := p.Start(bg); err != nil {
		r.Fatal(err)
	}
	return p
}

// defers has a processor accept the greeting, and returns its id.
func (r *rig) defers(p *Processor, id int64) (process string) {
	r.Helper()
	process, err := p.Accept(bg, Deferred{Instance: id, Out: greeting, Attributes: event.Attributes(`{"order":5}`), RequestID: "req-7"})
	if err != nil {
		r.Fatal(err)
	}
	return process
}

// ended is the data of the send.message of an asynchronous send.
type ended struct {
	ProcessID, Status  string
	MentionAll         bool
	Data               *struct{ MessageID string }
	Error              *struct{ Code, Message string }
	ExternalAttributes struct{ Order int }
}

// result returns the only send.message since the last call, with the status wanted.
func (r *rig) result(status string) (e ended) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, notice := range r.notices {
		if notice.Kind != event.SendMessage {
			continue
		}
		var body struct{ Data ended }
		if err := json.Unmarshal(notice.Body, &body); err != nil {
			r.Fatal(err)
		}
		if n, e = n+1, body.Data; notice.RequestID != "req-7" {
			r.Errorf("the request id is %q", notice.RequestID)
		}
	}
	r.notices = nil
	if n != 1 || e.Status != status || (e.Error == nil) != (e.Data != nil) {
		r.Fatalf("%d results, the last %+v; want one that is %s", n, e, status)
	}
	return e
}

// wantCode expects one failed result with a code.
func (r *rig) wantCode(code string) ended {
	r.Helper()
	e := r.result("failed")
	if e.Error.Code != code || e.Error.Message == "" {
		r.Errorf("the error is %+v, want %s", *e.Error, code)
	}
	return e
}

func stopProcessor(t *testing.T, p *Processor) {
	t.Helper()
	if err := p.Stop(bg); err != nil {
		t.Error(err)
	}
}

func TestAcceptedSendEndsInOneEvent(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id, p := r.instance("a", true), r.processor(nil)
		defer stopProcessor(t, p)
		process := r.defers(p, id)
		synctest.Wait()
		if e := r.result("sent"); e.ProcessID != process || !e.MentionAll || e.Data.MessageID != "OUT" || e.ExternalAttributes.Order != 5 {
			t.Errorf("published %+v", e)
		}
		if m, err := r.archive.MessageByKey(id, "OUT"); err != nil || m.ID != 1 {
			t.Errorf("stored %+v, %v", m, err)
		}
	})
}

func TestFailedAcceptedSendReportsReason(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id, p := r.instance("a", true), r.processor(nil)
		defer stopProcessor(t, p)
		r.onSend = func(context.Context, event.Outgoing) error { return event.ErrOutcomeUnknown }
		r.defers(p, id)
		synctest.Wait()
		r.wantCode(event.SendResultUnknown)
		if _, err := r.archive.MessageByKey(id, "OUT"); !errors.Is(err, messages.ErrNoMessage) {
			t.Errorf("stored all the same: %v", err)
		}
	})
}

func TestAcceptedSendWaitsUntilTimeout(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id, p := r.instance("a", false), r.processor(nil)
		defer stopProcessor(t, p)
		r.defers(p, id)
		time.Sleep(59 * time.Second)
		r.wantQuiet()
		time.Sleep(2 * time.Second)
		r.wantCode("INSTANCE_NOT_CONNECTED")
	})
}

func TestFullQueueRejectsSends(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id, p := r.instance("a", false), r.processor(func(c *ProcessorConfig) { c.Workers, c.QueueSize = 1, 2 })
		defer stopProcessor(t, p)
		for range 3 { // one at work, two waiting
			r.defers(p, id)
		}
		if _, err := p.Accept(bg, Deferred{Instance: id, Out: greeting}); !errors.Is(err, ErrQueueFull) {
			t.Errorf("got %v", err)
		}
		if kept := p.Kept(); kept != 3 {
			t.Errorf("%d sends are kept, want 3", kept)
		}
		time.Sleep(61 * time.Second)
		r.defers(p, id)
	})
}

func TestWhatWasAcceptedOutlivesARestart(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id, p := r.instance("a", false), r.processor(nil)
		process := r.defers(p, id)
		synctest.Wait()
		stopProcessor(t, p) // it waited for the connection, nothing left
		r.restart()
		r.connect(id)
		r.told()
		p = r.processor(nil)
		defer stopProcessor(t, p)
		synctest.Wait()
		if e := r.result("sent"); e.ProcessID != process {
			t.Errorf("published %+v", e)
		}
	})
}

func TestSendInProgressAtExitIsNotRepeated(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id, p := r.instance("a", true), r.processor(nil)
		sends := 0
		r.onSend = func(context.Context, event.Outgoing) error { sends++; return r.store.Close() } // the end of the process
		process := r.defers(p, id)
		synctest.Wait()
		stopProcessor(t, p)
		r.boot()
		p = r.processor(nil)
		defer stopProcessor(t, p)
		synctest.Wait()
		if e := r.wantCode(event.SendResultUnknown); e.ProcessID != process || sends != 1 {
			t.Errorf("published %+v after %d sends", e, sends)
		}
	})
}

// TestSendWaitingForItsTurnHasNotBegun: the program ends during the wait, and the next start sends
// the message.
func TestSendWaitingForItsTurnHasNotBegun(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id, p := r.instance("a", true), r.processor(nil)
		r.before = func(ctx context.Context, _ event.Outgoing) error {
			<-ctx.Done()
			return fmt.Errorf("%w: %w", event.ErrSendRefused, context.Cause(ctx))
		}
		process := r.defers(p, id)
		synctest.Wait()
		begin := time.Now()
		stopProcessor(t, p)
		if took := time.Since(begin); took > time.Second {
			t.Errorf("stop took %v", took)
		}
		r.wantQuiet()
		r.before = nil
		p = r.processor(nil)
		defer stopProcessor(t, p)
		synctest.Wait()
		if e := r.result("sent"); e.ProcessID != process {
			t.Errorf("published %+v", e)
		}
	})
}

func TestSendWithoutTurnInTimeIsBusy(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id, p := r.instance("a", true), r.processor(nil)
		defer stopProcessor(t, p)
		r.before = func(ctx context.Context, _ event.Outgoing) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		r.defers(p, id)
		time.Sleep(61 * time.Second)
		r.wantCode("INSTANCE_BUSY")
	})
}

// TestWaitDoesNotCountAsSendTime: its turn comes after 50 s, and WhatsApp acknowledges 20 s later.
func TestWaitDoesNotCountAsSendTime(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id, p := r.instance("a", true), r.processor(nil)
		defer stopProcessor(t, p)
		after := func(d time.Duration) func(context.Context, event.Outgoing) error {
			return func(context.Context, event.Outgoing) error {
				time.Sleep(d)
				return nil
			}
		}
		r.before, r.onSend = after(50*time.Second), after(20*time.Second)
		r.defers(p, id)
		time.Sleep(71 * time.Second)
		r.result("sent")
	})
}

func TestDelayDoesNotCountAgainstTimeout(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id, p := r.instance("a", true), r.processor(func(c *ProcessorConfig) { c.Timeout = time.Minute })
		defer stopProcessor(t, p)
		out := greeting
		out.Delay = 2 * time.Minute
		if _, err := p.Accept(bg, Deferred{Instance: id, Out: out, RequestID: "req-7"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(out.Delay)
		synctest.Wait()
		r.result("sent")
	})
}

// TestAsynchronousSendEventIsInItsCommit, for a success and for a failure.
func TestAsynchronousSendEventIsInItsCommit(t *testing.T) {
	for name, fail := range map[string]error{"sent": nil, "failed": event.ErrOutcomeUnknown} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				id := r.instance("a", true)
				if _, err := r.reg.Webhooks().PutOptions(bg, id, webhooks.OptionsChange{Durable: true}); err != nil {
					t.Fatal(err)
				}
				r.onSend = func(context.Context, event.Outgoing) error { return fail }
				p := r.processor(nil)
				defer stopProcessor(t, p)
				var images [][]byte
				r.commit = func() {
					raw, err := os.ReadFile(r.path)
					if err != nil {
						t.Error(err)
					}
					images = append(images, raw)
				}
				process := r.defers(p, id)
				synctest.Wait()
				r.commit = nil
				ends := 0
				for _, raw := range images {
					waits, events := jobsAndEvents(t, raw, id)
					if waits == (len(events) > 0) {
						t.Errorf("the job waits: %t, with %d events", waits, len(events))
					}
					if ends += len(events); len(events) == 1 {
						if e := events[0]; e.About.Chat != greeting.To || e.RequestID != "req-7" || !json.Valid(e.Body) || !bytes.Contains(e.Body, []byte(process)) {
							t.Errorf("published %s about %+v", e.Body, e.About)
						}
					}
				}
				if ends != 1 {
					t.Errorf("%d commits have the event", ends)
				}
			})
		})
	}
}

// jobsAndEvents reports whether a file has jobs of an instance, and returns its events.
func jobsAndEvents(t *testing.T, raw []byte, id int64) (waits bool, events []delivery.Event) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.db")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(store.Options{Path: path, Buckets: buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.View(func(tx *store.Tx) error {
		n, err := tx.Count(processing, store.Key(id))
		if waits = n > 0; err == nil {
			events, err = delivery.EventsAfter(tx, 0, 0)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return waits, events
}
