package instance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/messages"
)

var greeting = event.Outgoing{ID: "OUT", To: "123@g.us", MentionAll: true}

// processor starts a Processor on the rig's file.
func (r *rig) processor(adapt func(*ProcessorConfig)) *Processor {
	r.Helper()
	cfg := ProcessorConfig{Store: r.s, Registry: r.reg, Supervisor: r.sup}
	if adapt != nil {
		adapt(&cfg)
	}
	p := NewProcessor(cfg)
	if err := p.Start(bg); err != nil {
		r.Fatal(err)
	}
	return p
}

func (r *rig) accept(p *Processor, id int64) (process string) {
	r.Helper()
	process, err := p.Accept(bg, Deferred{Instance: id, Out: greeting, Attributes: event.Attributes(`{"order":5}`), RequestID: "req-7"})
	if err != nil {
		r.Fatal(err)
	}
	return process
}

// result returns the only send.message published.
func (r *rig) result() map[string]any {
	r.Helper()
	n := r.one()
	if n.Kind != event.SendMessage || n.RequestID != "req-7" {
		r.Errorf("published %s for %q", n.Kind, n.RequestID)
	}
	return fields(r, n.Body)["data"].(map[string]any)
}

func stopProcessor(t *testing.T, p *Processor) {
	t.Helper()
	if err := p.Stop(bg); err != nil {
		t.Error(err)
	}
}

func TestAcceptedSendEndsInOneEvent(t *testing.T) {
	connected(t, func(r *rig, id int64, _ *session) {
		p := r.processor(nil)
		defer stopProcessor(t, p)
		process := r.accept(p, id)
		synctest.Wait()
		got := r.result()
		data, _ := got["data"].(map[string]any)
		if got["processId"] != process || got["status"] != "sent" || got["mentionAll"] != true || data["messageId"] != "OUT" {
			t.Errorf("published %v", got)
		}
		if got["externalAttributes"].(map[string]any)["order"] != 5.0 {
			t.Errorf("published %v", got)
		}
		if m, err := r.archive.MessageByKey(id, "OUT"); err != nil || m.ID != 1 {
			t.Errorf("stored %+v, %v", m, err)
		}
	})
}

func TestFailedAcceptedSendReportsReason(t *testing.T) {
	connected(t, func(r *rig, id int64, s *session) {
		p := r.processor(nil)
		defer stopProcessor(t, p)
		s.send = func() error { return event.ErrOutcomeUnknown }
		r.accept(p, id)
		synctest.Wait()
		got := r.result()
		failed, _ := got["error"].(map[string]any)
		if got["status"] != "failed" || failed["code"] != event.SendResultUnknown || failed["message"] == "" {
			t.Errorf("published %v", got)
		}
		if _, err := r.archive.MessageByKey(id, "OUT"); !errors.Is(err, messages.ErrNoMessage) {
			t.Errorf("stored all the same: %v", err)
		}
	})
}

func TestAcceptedSendWaitsUntilTimeout(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		p := r.processor(nil)
		defer stopProcessor(t, p)
		r.accept(p, id)
		time.Sleep(59 * time.Second)
		if published := r.published(); len(published) != 0 {
			t.Fatalf("published %v", kinds(published))
		}
		time.Sleep(2 * time.Second)
		if failed := r.result()["error"].(map[string]any); failed["code"] != "INSTANCE_NOT_CONNECTED" {
			t.Errorf("published %v", failed)
		}
	})
}

func TestFullQueueRejectsSends(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		p := r.processor(func(c *ProcessorConfig) { c.Workers, c.QueueSize = 1, 2 })
		defer stopProcessor(t, p)
		for range 3 { // one at work, two waiting
			r.accept(p, id)
		}
		if _, err := p.Accept(bg, Deferred{Instance: id, Out: greeting}); !errors.Is(err, ErrQueueFull) {
			t.Errorf("got %v", err)
		}
		if kept := p.Kept(); kept != 3 {
			t.Errorf("%d sends are kept, want 3", kept)
		}
		time.Sleep(61 * time.Second)
		r.accept(p, id)
	})
}

func TestWhatWasAcceptedOutlivesARestart(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		p := r.processor(nil)
		process := r.accept(p, id)
		synctest.Wait()
		stopProcessor(t, p) // it waited for the connection, nothing left
		r.reboot()
		r.published()
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		r.published()
		p = r.processor(nil)
		defer stopProcessor(t, p)
		synctest.Wait()
		if got := r.result(); got["processId"] != process || got["status"] != "sent" {
			t.Errorf("published %v", got)
		}
	})
}

func TestSendInProgressAtExitIsNotRepeated(t *testing.T) {
	connected(t, func(r *rig, id int64, s *session) {
		p := r.processor(nil)
		sends := 0
		s.send = func() error { sends++; return r.s.Close() } // the end of the process
		process := r.accept(p, id)
		synctest.Wait()
		stopProcessor(t, p)
		r.boot()
		p = r.processor(nil)
		defer stopProcessor(t, p)
		synctest.Wait()
		got := r.result()
		failed, _ := got["error"].(map[string]any)
		if got["processId"] != process || failed["code"] != event.SendResultUnknown || sends != 1 {
			t.Errorf("published %v after %d sends", got, sends)
		}
	})
}

// TestSendWaitingForItsTurnHasNotBegun: the program ends during the wait, and the next start sends
// the message.
func TestSendWaitingForItsTurnHasNotBegun(t *testing.T) {
	connected(t, func(r *rig, id int64, s *session) {
		s.turn = func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("%w: %w", event.ErrSendRefused, context.Cause(ctx))
		}
		p := r.processor(nil)
		process := r.accept(p, id)
		synctest.Wait()
		begin := time.Now()
		stopProcessor(t, p)
		if took := time.Since(begin); took > time.Second {
			t.Errorf("stop took %v", took)
		}
		r.published()
		s.turn = nil
		p = r.processor(nil)
		defer stopProcessor(t, p)
		synctest.Wait()
		if got := r.result(); got["processId"] != process || got["status"] != "sent" {
			t.Errorf("published %v", got)
		}
	})
}

func TestSendWithoutTurnInTimeIsBusy(t *testing.T) {
	connected(t, func(r *rig, id int64, s *session) {
		s.turn = func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		p := r.processor(nil)
		defer stopProcessor(t, p)
		r.accept(p, id)
		time.Sleep(61 * time.Second)
		got := r.result()
		if failed, _ := got["error"].(map[string]any); got["status"] != "failed" || failed["code"] != "INSTANCE_BUSY" {
			t.Errorf("published %v", got)
		}
	})
}

// TestWaitDoesNotCountAsSendTime: its turn comes after 50 s, and WhatsApp acknowledges 20 s later.
func TestWaitDoesNotCountAsSendTime(t *testing.T) {
	connected(t, func(r *rig, id int64, s *session) {
		s.turn = func(context.Context) error {
			time.Sleep(50 * time.Second)
			return nil
		}
		s.acknowledge = 20 * time.Second
		p := r.processor(nil)
		defer stopProcessor(t, p)
		r.accept(p, id)
		time.Sleep(71 * time.Second)
		if got := r.result(); got["status"] != "sent" {
			t.Errorf("published %v", got)
		}
	})
}

func TestDelayDoesNotCountAgainstTimeout(t *testing.T) {
	connected(t, func(r *rig, id int64, _ *session) {
		p := r.processor(func(c *ProcessorConfig) { c.Timeout = time.Minute })
		defer stopProcessor(t, p)
		out := greeting
		out.Delay = 2 * time.Minute
		if _, err := p.Accept(bg, Deferred{Instance: id, Out: out, RequestID: "req-7"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(out.Delay)
		synctest.Wait()
		if got := r.result(); got["status"] != "sent" {
			t.Errorf("published %v", got)
		}
	})
}
