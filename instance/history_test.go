package instance

import (
	"encoding/json"
	"testing"

	"postern/event"
	"postern/messages"
)

// recall reports one history message of each chat, and returns how many were stored.
func (r *rig) recall(id int64, chats ...string) int {
	r.Helper()
	part := &event.HistoryPart{}
	for _, chat := range chats {
		m := text("H", chat, false)
		m.Metadata = json.RawMessage(`{"source":"history"}`)
		part.Messages = append(part.Messages, m)
	}
	r.report(id, event.Fact{Data: part})
	return part.Stored
}

func TestHistoryHonorsGateAndIgnore(t *testing.T) {
	shut := newRigKeeping(t, func(c *messages.Config) { c.SaveMessages = false })
	defer shut.stop()
	if n := shut.recall(shut.create("a").ID, annPhone); n != 0 {
		t.Error("stored though messages are not")
	}
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	const quiet = "4915112345678@s.whatsapp.net"
	r.settle(id, Settings{Ignore: Ignore{JIDs: []string{quiet}}})
	if n := r.recall(id, quiet, "4915100000000@s.whatsapp.net"); n != 1 {
		t.Errorf("%d were stored", n)
	}
}
