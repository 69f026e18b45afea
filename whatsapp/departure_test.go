package whatsapp

import (
	"slices"
	"testing"

	"postern/event"
)

// TestDepartureIsToldWhenTheBytesLeave: after the message is counted, and before it is
// acknowledged. The library asks for the keys of a new contact in between.
func TestDepartureIsToldWhenTheBytesLeave(t *testing.T) {
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
		if r.session.leaving.Load() != nil {
			t.Error("the message is watched after its send")
		}
	}
}
