package main

import (
	"strings"
	"testing"

	"postern/event"
)

// What a stranger sends may cost the stranger's message, not the connection.
func TestHostileMessagesHoldNothingUp(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	s := newScene(t)
	s.online(t)
	connected := s.seen(string(event.ConnectionUpdated))
	long := strings.Repeat("x", 40_000)
	for _, body := range []string{
		`{"do":"text","to":"$own","text":"under a long id","id":"` + long + `"}`,
		`{"do":"message","to":"$own","content":{"protocolMessage":{"type":"REVOKE","key":{"ID":"` + long + `"}}}}`,
		`{"do":"message","to":"$own","content":{"reactionMessage":{"key":{"remoteJID":"@@","ID":""},"text":"` + long + `","senderTimestampMS":"-1"}}}`,
		`{"do":"message","to":"$own","content":{"imageMessage":{"fileLength":"18446744073709551615","mediaKeyTimestamp":"-9223372036854775808","height":4294967295}}}`,
		`{"do":"message","to":"$own","content":{"pollUpdateMessage":{"vote":{"encPayload":"AA==","encIV":"AA=="}}}}`,
		`{"do":"message","to":"$own","content":{"contactsArrayMessage":{"contacts":[{},{}]}}}`,
		`{"do":"message","to":"$own","content":{"locationMessage":{"degreesLatitude":"NaN","degreesLongitude":"-Infinity"}}}`,
		`{"do":"message","to":"$own","content":{"protocolMessage":{"type":"MESSAGE_EDIT"}}}`,
	} {
		s.do(t, act("$anne", body))
	}
	s.do(t, act("$anne", `{"do":"text","to":"$own","text":"after all that"}`))
	s.awaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"after all that"}}`)
	s.stop()
	if n := s.seen(string(event.ConnectionUpdated)); n != connected {
		t.Errorf("the connection changed %d times", n-connected)
	}
	for _, r := range s.log {
		if err := event.Validate(event.Kind(r.event), r.body); err != nil {
			t.Errorf("%v: %.300s", err, r.body)
		}
		if strings.Contains(string(r.body), "under a long id") {
			t.Error("told under an id that cannot be stored")
		}
	}
	if log := s.output.String(); strings.Contains(log, "panicked") || !strings.Contains(log, "message under an unusable key dropped") {
		t.Errorf("%s", log)
	}
}
