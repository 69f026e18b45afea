package sandbox

import (
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
)

// BenchmarkBareTexts sends with the client library alone, its store in memory,
// to a contact that was written to before. It is what the benchmark of texts
// in package whatsapp is held against.
func BenchmarkBareTexts(b *testing.B) {
	s, _, c := paired(b)
	to := addPhone(b, s, "4915155500777").JID()
	send := func() {
		if _, err := c.SendMessage(b.Context(), to, &waE2E.Message{Conversation: new("hello")}); err != nil {
			b.Fatal(err)
		}
	}
	for range 3 { // the first goes to a stranger; the second to a session without an answer
		send()
	}
	for b.Loop() {
		send()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
}
