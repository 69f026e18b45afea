//go:build linux

package events

import (
	"slices"
	"strings"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// The commit that fails here is the one of the decryption, the first that a
// message needs.
func TestMessageRefusedByFullDiskIsReportedOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	s := rig.NewScene(t, "WHATSAPP_RECONNECT_INITIAL_DELAY=1")
	s.Online(t)
	lift := s.FileLimit(t, 16<<10)
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"keep me"}`))
	s.Await("a second try", func() bool { return strings.Count(s.Output.String(), "requesting it again") >= 2 })
	for _, kind := range []event.Kind{event.MessagesUpsert, event.MessagesUndecryptable} {
		if n := s.Seen(string(kind)); n != 0 {
			t.Errorf("%s reported %d times while the disk was full", kind, n)
		}
	}
	lift()
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"keep me"}}`)
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"the next one"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"the next one"}}`)
	s.Stop()
	if n := s.Seen(string(event.MessagesUpsert)); n != 2 {
		t.Errorf("two messages were reported %d times", n)
	}
}

// TestFullDiskSendsDurableEventsFromMemory, and the log says
// so.
func TestFullDiskSendsDurableEventsFromMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	s := rig.NewScene(t)
	s.Online(t)
	s.AwaitEvent(t, 0, event.StatusInstance, `{"type":"app.state.sync.completed","data":{"name":"regular_low"}}`) // the last event of a login
	st := newStations(t, s, `"durable":true`)
	conn, resp := dial(t, s, "presence.updated")
	if conn == nil {
		t.Fatal(resp.Status)
	}
	lift := s.FileLimit(t, 16<<10)
	s.Do(t, rig.Act("$anne", `{"do":"chat-presence","to":"$own","state":"composing"}`))
	body := s.AwaitEvent(t, 0, event.PresenceUpdated, `{"state":"composing"}`)
	s.Await("the instance's own destinations", func() bool { return len(st.arrived("webhook")) > 0 && len(st.arrived("crm")) > 0 })
	for _, station := range []string{"webhook", "crm"} {
		if w := st.arrived(station)[0]; w.ID == "" || string(w.Body) != string(body) {
			t.Errorf("%s got %s under %q", station, w.Body, w.ID)
		}
	}
	if _, reported, err := conn.Read(t.Context()); err != nil || string(reported) != string(body) {
		t.Errorf("the WebSocket has %s, %v", reported, err)
	}
	if !strings.Contains(s.Output.String(), "durable events are delivered from memory") {
		t.Errorf("the log says nothing of it:\n%s", s.Output)
	}
	lift()
	s.Await("room", func() bool {
		s.Do(t, rig.Act("$anne", `{"do":"chat-presence","to":"$own","state":"paused"}`))
		return slices.ContainsFunc(kept(t, s), func(body string) bool { return strings.Contains(body, `"state":"paused"`) })
	})
	if slices.Contains(kept(t, s), string(body)) {
		t.Errorf("kept after all: %s", body)
	}
	s.Stop()
}
