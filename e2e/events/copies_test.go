package events

import (
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// TestRecoveredMessageIsReportedOnce: its sender's comes
// first here, then that of the account's own phone, which was off meanwhile.
func TestRecoveredMessageIsReportedOnce(t *testing.T) {
	s := rig.NewScene(t)
	s.Online(t)
	s.Do(t, rig.Act("$own", `{"do":"own-requests","answered":false}`))
	s.Do(t, rig.Act("$anne", `{"do":"undecryptable","to":"$own","text":"twice"}`))
	s.AwaitEvent(t, 0, event.MessagesUndecryptable, `{"chatJid":"$anne@s.whatsapp.net"}`)
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"twice"},"metadata":{"recovered":true}}`)
	s.Do(t, rig.Act("$own", `{"do":"own-requests"}`))
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"the next one"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"the next one"},"metadata":null}`)
	s.Await("the second copy", func() bool { return s.Metric(`postern_whatsapp_undecryptable_total{outcome="repeated"}`) == 1 })
	if n := s.Seen(string(event.MessagesUpsert)); n != 2 {
		t.Errorf("two messages were reported %d times", n)
	}
	if n := s.Seen(string(event.MessagesUndecryptable)); n != 1 {
		t.Errorf("%d messages could not be read", n)
	}
}
