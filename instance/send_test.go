package instance

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"postern/event"
)

// connected returns a rig with one instance online.
func connected(t *testing.T, fn func(r *rig, id int64, s *session)) {
	t.Helper()
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		r.published()
		fn(r, id, r.net.session(id))
	})
}

var hello = event.Outgoing{ID: "OUT", To: "1@s.whatsapp.net"}

func TestSentMessageIsStoredAndPublished(t *testing.T) {
	connected(t, func(r *rig, id int64, s *session) {
		ctx, cancel := context.WithCancel(bg)
		s.send = func() error { cancel(); return nil } // the caller leaves: the record stays
		m, err := r.sup.SendAndStore(ctx, id, hello, Keeping{Attributes: event.Attributes(`{"order":5}`), RequestID: "req-5"})
		if err != nil || m.ID != 1 {
			t.Fatal(m, err)
		}
		n := r.one()
		body, err := event.Marshal(m)
		if err != nil || n.Kind != event.SendMessage || n.RequestID != "req-5" {
			t.Errorf("%s, %q, %v", n.Kind, n.RequestID, err)
		}
		data := fields(t, n.Body)["data"].(map[string]any)
		if !reflect.DeepEqual(data, fields(t, body)) {
			t.Errorf("published %v\nanswered %s", data, body)
		}
		if data["instanceId"] != 1.0 || data["externalAttributes"].(map[string]any)["order"] != 5.0 || data["keyId"] != "OUT" {
			t.Errorf("%v", data)
		}
	})
}

func TestSentMessageWithoutAttributes(t *testing.T) {
	connected(t, func(r *rig, id int64, _ *session) {
		m, err := r.sup.SendAndStore(bg, id, hello, Keeping{})
		if err != nil || string(m.ExternalAttributes) != "{}" {
			t.Errorf("answered %s, %v", m.ExternalAttributes, err)
		}
		data := fields(t, r.one().Body)["data"].(map[string]any)
		if got, ok := data["externalAttributes"].(map[string]any); !ok || len(got) != 0 {
			t.Errorf("published %v", data)
		}
	})
}

func TestUnstoredSentMessageReturnsErrNotStored(t *testing.T) {
	connected(t, func(r *rig, id int64, s *session) {
		s.send = func() error { return r.s.Close() }
		m, err := r.sup.SendAndStore(bg, id, hello, Keeping{})
		if !errors.Is(err, ErrNotStored) || m.KeyID != "OUT" || len(r.published()) != 0 {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

func TestFailedSendHasNoEvent(t *testing.T) {
	for _, want := range []error{event.ErrNotOnWhatsApp, event.ErrSendRefused, event.ErrOutcomeUnknown, event.ErrNotConnected} {
		connected(t, func(r *rig, id int64, s *session) {
			s.send = func() error { return want }
			if _, err := r.sup.SendAndStore(bg, id, hello, Keeping{}); !errors.Is(err, want) || len(r.published()) != 0 || r.count("message", id) != 0 {
				t.Errorf("%v: %v", want, err)
			}
		})
	}
}

func TestSendOfOfflineInstanceReturnsErrNotConnected(t *testing.T) {
	connected(t, func(r *rig, id int64, s *session) {
		s.be(true, false)
		s.send = func() error { t.Error("sent"); return nil }
		if _, err := r.sup.Send(bg, id, hello); !errors.Is(err, event.ErrNotConnected) {
			t.Error(err)
		}
	})
}

func TestSendWithUnreadableSessionReturnsErrNotConnected(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	broken := errors.New("broken")
	r.net.refuse = map[int64]error{id: broken}
	if _, err := r.sup.Send(bg, id, hello); !errors.Is(err, event.ErrNotConnected) || !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestTimerIsReadWhenTheMessageLeaves(t *testing.T) {
	connected(t, func(r *rig, id int64, s *session) {
		s.turn = func(ctx context.Context) error {
			return r.archive.LearnTimers(ctx, id, []event.ChatTimer{{Chat: []string{hello.To}, Seconds: 604800, Set: 2, At: 2}})
		}
		if _, err := r.sup.Send(bg, id, hello); err != nil || s.timer == nil || s.timer.Seconds != 604800 {
			t.Errorf("the message has the timer %+v, %v", s.timer, err)
		}
	})
}

// The clock of the bubble is years behind that of the network.
func TestOwnTimerWinsWithAClockBehind(t *testing.T) {
	connected(t, func(r *rig, id int64, _ *session) {
		const chat = "4915112345678@s.whatsapp.net"
		former := event.ChatTimer{Chat: []string{chat}, Seconds: 86400, Set: 1_699_999_000, At: 1_699_999_000}
		if err := r.archive.LearnTimers(bg, id, []event.ChatTimer{former}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.sup.SetTimer(bg, id, chat, "T", 604800); err != nil {
			t.Fatal(err)
		}
		if got, err := r.archive.TimerOf(id, []string{chat}); err != nil || got == nil || got.Seconds != 604800 {
			t.Errorf("the timer is %+v, %v", got, err)
		}
	})
}
