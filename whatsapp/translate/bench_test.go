package translate

import (
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// BenchmarkTranslate is the cost of an event from the library's struct to the
// final JSON of its payload, without the store.
func BenchmarkTranslate(b *testing.B) {
	for _, evt := range []struct {
		name string
		evt  any
	}{
		{"call", translations()[0].evt},
		{"archive", &events.Archive{JID: anneLID, Timestamp: then}},
		{"joined group", joinedBakers()},
	} {
		b.Run(evt.name, func(b *testing.B) {
			b.ReportAllocs()
			t := testTranslator()
			for b.Loop() {
				facts, _ := t.Facts(evt.evt)
				if _, err := event.Marshal(facts[0].Data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("text message", func(b *testing.B) {
		b.ReportAllocs()
		t := testTranslator()
		evt := &events.Message{
			Info: types.MessageInfo{
				MessageSource: types.MessageSource{Chat: anneLID, Sender: anneLID, SenderAlt: annePN},
				ID:            "3EB0AABBCCDDEEFF0011", PushName: "Anne", Timestamp: then,
			},
			RawMessage: &waE2E.Message{Conversation: new("two loaves, please")},
		}
		evt.UnwrapRaw()
		for b.Loop() {
			f, _ := t.Message(nil, evt)
			if _, err := event.Marshal(f.Data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
