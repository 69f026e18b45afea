package events

import (
	"fmt"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// TestSilentInstanceReconnects: pings are answered all the time.
func TestSilentInstanceReconnects(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := rig.NewScene(t, "WHATSAPP_QUIET_RECONNECT=2s", "WHATSAPP_RECONNECT_INITIAL_DELAY=1")
	s.Online(t)
	for i := range 12 {
		s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"text","to":"$own","text":"before %d"}`, i)))
	}
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"before 11"}}`)
	s.Do(t, rig.Act("$own", `{"do":"quiet"}`))
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"while it was silent"}`))
	s.AwaitEvent(t, 0, event.ConnectionUpdated, `{"type":"disconnected","connection":"close"}`)
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"while it was silent"}}`)
	if n := s.Metric("postern_whatsapp_quiet_reconnects_total"); n != 1 {
		t.Errorf("counted %v", n)
	}
}
