package sends

import (
	"slices"
	"testing"
	"time"

	"postern/e2e/rig"
	"postern/sandbox"
)

// TestPresenceDuringDelayPrecedesTheMessage has each presence, and a
// voice note by URL and in the body.
func TestPresenceDuringDelayPrecedesTheMessage(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := rig.NewSendScene(t)
	const options = `{"presence":"recording","delay":1000}`
	for _, row := range []struct {
		name, state string
		send        func(t *testing.T) rig.Answer
	}{
		{"a voice note by URL", "recording", func(t *testing.T) rig.Answer {
			return s.PostJSON(t, s.Fill("/instance/$name/send/ptt"), `{"number":"$anne","audioMessage":{"audio":"$files/note.ogg"},"options":`+options+`}`)
		}},
		{"a voice note in the body", "recording", func(t *testing.T) rig.Answer {
			return s.Multipart(t, s.Fill("/instance/$name/send/ptt-file"), "note.ogg", map[string]string{"number": "$anne", "options": options})
		}},
		{"a text", "composing", func(t *testing.T) rig.Answer {
			return s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"a"},"options":{"presence":"composing","delay":1000}}`)
		}},
		{"a text after a pause", "paused", func(t *testing.T) rig.Answer {
			return s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"b"},"options":{"presence":"paused","delay":1000}}`)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			phone, _ := s.Sandbox.Phone(rig.AnneNumber)
			before := len(phone.ChatStates())
			from := len(s.Webhooks())
			m := s.Sent(t, from, row.send(t), `{}`)
			s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{}`)
			seen := phone.ChatStates()[before:]
			received := phone.Received()
			at := received[slices.IndexFunc(received, func(r sandbox.Received) bool { return r.ID == m.KeyID })].At
			if len(seen) != 1 || seen[0].State != row.state || seen[0].From.User != s.OwnLID() {
				t.Fatalf("Anne's phone saw %+v", seen)
			}
			if ahead := at.Sub(seen[0].At); ahead < 250*time.Millisecond {
				t.Errorf("it was seen %s before the message", ahead)
			}
		})
	}
	s.Stop()
}
