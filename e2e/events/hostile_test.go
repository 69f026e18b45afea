package events

import (
	"strings"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// What a stranger sends may cost the stranger's message, not the connection.
func TestHostileMessagesHoldNothingUp(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	s := rig.NewScene(t)
	s.Online(t)
	connected := s.Seen(string(event.ConnectionUpdated))
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
		s.Do(t, rig.Act("$anne", body))
	}
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"after all that"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"after all that"}}`)
	s.Stop()
	if n := s.Seen(string(event.ConnectionUpdated)); n != connected {
		t.Errorf("the connection changed %d times", n-connected)
	}
	for _, r := range s.Webhooks() {
		if err := rig.CheckEvent(event.Kind(r.Event), r.Body); err != nil {
			t.Errorf("%v: %.300s", err, r.Body)
		}
		if strings.Contains(string(r.Body), "under a long id") {
			t.Error("reported under an id that cannot be stored")
		}
	}
	if log := s.Output.String(); strings.Contains(log, "panicked") || !strings.Contains(log, "message under an unusable key dropped") {
		t.Errorf("%s", log)
	}
}
