package instance

import (
	"testing"

	"postern/event"
)

// TestEventWithoutReceiverIsNotBuilt: an event without a destination is for WebSocket clients only.
func TestEventWithoutReceiverIsNotBuilt(t *testing.T) {
	watched := false
	r := newRig(t, func(c *Config) { c.Watched = func(int64) bool { return watched } }, nil)
	defer r.stop()
	id := r.create("a").ID
	for n, c := range []struct{ watched, hooked, published bool }{{false, false, false}, {true, false, true}, {false, true, true}} {
		if watched = c.watched; c.hooked {
			r.hook(id, "http://a.example/", allFlags()...)
		}
		r.published()
		r.report(id, event.Fact{Kind: event.SendMessage, Data: text(string(rune('A'+n)), "1@s.whatsapp.net", true)})
		if published := len(r.published()) > 0; published != c.published || r.count("message", id) != n+1 {
			t.Errorf("%+v: published %v, %d stored", c, published, r.count("message", id))
		}
	}
}
