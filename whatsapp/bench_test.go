package whatsapp

import (
	"fmt"
	"sync"
	"testing"

	"go.mau.fi/whatsmeow/types"

	"postern/event"
)

// BenchmarkTextsToWarmRecipients sends through the real client, the real
// device store with its fsyncs, TLS and the sandbox, which decrypts, all in
// one process. Sessions are on one file, as in the program.
func BenchmarkTextsToWarmRecipients(b *testing.B) {
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprintf("sessions=%d", n), func(b *testing.B) { benchmarkTexts(b, n) })
	}
}

// lane is one session and the contact that it writes to.
type lane struct {
	session *Session
	to      types.JID
}

func (l lane) send(b *testing.B) {
	out := event.Outgoing{ID: NewMessageID(), To: l.to.String(), Content: event.Content{Text: &event.TextContent{Text: "hello"}}}
	if _, err := l.session.Send(b.Context(), out); err != nil {
		b.Error(err)
	}
}

func benchmarkTexts(b *testing.B, sessions int) {
	first := newRig(b)
	lanes := make([]lane, sessions)
	for i := range lanes {
		r := first
		if i > 0 {
			r = first.neighbour(int64(i + 1))
		}
		r.pair()
		lanes[i] = lane{r.session, r.contact().JID()}
		for range 3 { // the first goes to a stranger; the second to a session without an answer
			lanes[i].send(b)
		}
	}
	before := first.store.Stats().Commits
	left := make(chan struct{})
	var wait sync.WaitGroup
	b.ResetTimer()
	for _, l := range lanes {
		wait.Go(func() {
			for range left {
				l.send(b)
			}
		})
	}
	for range b.N {
		left <- struct{}{}
	}
	close(left)
	wait.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
	b.ReportMetric(float64(first.store.Stats().Commits-before)/float64(b.N), "commits/msg")
}
