package messages

import (
	"strings"
	"testing"

	"postern/event"
)

// copied is a message that could not be read when it came first.
func copied(id, chat, lid string) event.Fact {
	m := text(id, chat, false)
	if lid != "" {
		m.KeyLID = &lid
	}
	m.Metadata = []byte(`{"recovered":true}`)
	return event.Fact{Kind: event.MessagesUpsert, Data: m}
}

// TestRecoveredMessageIsPublishedOnce whichever copy comes first, by
// whatever address of the chat, and whatever is between them.
func TestRecoveredMessageIsPublishedOnce(t *testing.T) {
	const phone, lid = "4915112345678@s.whatsapp.net", "77@lid"
	plain := func() event.Fact { return event.Fact{Kind: event.MessagesUpsert, Data: text("K", phone, false)} }
	for name, tc := range map[string]struct {
		first, second event.Fact
		restart       bool
		published     int
		copies        Copies
	}{
		"two copies":                   {first: copied("K", phone, lid), second: copied("K", phone, lid), published: 1, copies: Copies{1, 1}},
		"a restart between":            {first: copied("K", phone, lid), second: copied("K", phone, lid), restart: true, published: 1, copies: Copies{0, 1}},
		"the second without the LID":   {first: copied("K", phone, lid), second: copied("K", phone, ""), published: 1, copies: Copies{1, 1}},
		"the second by the LID alone":  {first: copied("K", phone, lid), second: copied("K", lid, lid), published: 1, copies: Copies{1, 1}},
		"the message after its copy":   {first: copied("K", phone, ""), second: plain(), published: 1, copies: Copies{1, 1}},
		"a copy after the message":     {first: plain(), second: copied("K", phone, ""), published: 1, copies: Copies{0, 1}},
		"another message":              {first: copied("K", phone, lid), second: copied("L", phone, lid), published: 2, copies: Copies{2, 0}},
		"the same id in another chat":  {first: copied("K", phone, lid), second: copied("K", "491@s.whatsapp.net", "78@lid"), published: 2, copies: Copies{2, 0}},
		"a message that comes as ever": {first: plain(), second: plain(), published: 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			defer func() { r.stop() }()
			id := r.create()
			r.report(id, tc.first)
			if tc.restart {
				r.reboot()
			}
			r.report(id, tc.second)
			published := r.published()
			if len(published) != tc.published {
				t.Errorf("published %d times, want %d", len(published), tc.published)
			}
			if recovered := strings.Contains(string(published[0].Body), `"recovered":true`); recovered != isRecovered(tc.first.Data.(*event.Message)) {
				t.Errorf("published as %s", published[0].Body)
			}
			if got := r.a.Copies(); got != tc.copies {
				t.Errorf("counted %+v, want %+v", got, tc.copies)
			}
			messages := tc.published
			if name == "a message that comes as ever" {
				messages = 1
			}
			if n := r.count("message", id); n != messages {
				t.Errorf("%d messages are stored", n)
			}
		})
	}
}
