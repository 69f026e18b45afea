package instance

import (
	"testing"

	"postern/event"
	"postern/messages"
)

// TestStrangerIsMetByAStoredMessage: after a message that is not stored the sender is still a
// stranger, and batches have nothing to check.
func TestStrangerIsMetByAStoredMessage(t *testing.T) {
	for _, stored := range []bool{true, false} {
		r := newRig(t, func(c *Config) { c.KeepsStrangers = func(int64) bool { return true } }, nil)
		r.keeps = func(c *messages.Config) { c.SaveMessages = stored }
		r.reboot()
		id := r.create("a").ID
		r.seen()
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", annPhone, false)})
		if reported := len(r.seen()) > 0; reported != stored {
			t.Errorf("stored %v: reported %v", stored, reported)
		}
		r.stop()
	}
}
