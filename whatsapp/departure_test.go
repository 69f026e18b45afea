package whatsapp

import (
	"context"
	"slices"
	"testing"

	"postern/event"
	"postern/sandbox"
)

// TestDepartureIsReportedAtTheWrite: after the message is counted, and before it is
// acknowledged. In between, the library requests the keys of a new contact.
func TestDepartureIsReportedAtTheWrite(t *testing.T) {
	r := newRig(t)
	r.pair()
	for _, group := range []bool{false, true} {
		ada := r.contact()
		to := ada.JID()
		if group {
			to = r.group(ada)
		}
		var steps []string
		out := event.Outgoing{
			ID: NewMessageID(), To: to.String(), Content: event.Content{Text: &event.TextContent{Text: "hello"}},
			Leaving: func() error { steps = append(steps, "counted"); return nil },
			Left:    func() { steps = append(steps, "left") },
		}
		sent, err := r.session.Send(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(steps, []string{"counted", "left"}) {
			t.Errorf("in a group %t: %q", group, steps)
		}
		r.received(ada, sent.Message.KeyID)
		if r.session.sender.leaving.Load() != nil {
			t.Error("the message is watched after its send")
		}
	}
}

// TestRepeatedBytesDepartAgain: the frame was lost with its connection, and the library
// sends it on the next one.
func TestRepeatedBytesDepartAgain(t *testing.T) {
	r := newRig(t)
	r.pair()
	ada := r.contact()
	r.net.SetFaults(sandbox.Faults{DropAfter: 1})
	defer r.net.SetFaults(sandbox.Faults{})
	left := 0
	out := event.Outgoing{
		ID: NewMessageID(), To: ada.JID().String(), Content: event.Content{Text: &event.TextContent{Text: "twice"}},
		Left: func() { left++ },
	}
	if _, err := r.session.Send(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	reads(t, ada, "twice")
	if left != 2 {
		t.Errorf("left %d times", left)
	}
}

func TestTimerIsThatAfterTheTurn(t *testing.T) {
	r := newRig(t)
	r.pair()
	ada := r.contact()
	const day, week = 86400, 604800
	timer := event.ChatTimer{Seconds: day}
	out := event.Outgoing{
		ID: NewMessageID(), To: ada.JID().String(), Content: event.Content{Text: &event.TextContent{Text: "timed"}},
		Turn:  func(context.Context) error { timer.Seconds = week; return nil },
		Timer: func() (*event.ChatTimer, error) { return &timer, nil },
	}
	if _, err := r.session.Send(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if got := reads(t, ada, "timed").Message.GetExtendedTextMessage().GetContextInfo().GetExpiration(); got != week {
		t.Errorf("the message disappears after %d s", got)
	}
}
