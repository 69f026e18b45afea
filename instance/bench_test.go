package instance

import (
	"fmt"
	"testing"
	"time"

	"postern/event"
	"postern/instance/webhooks"
	"postern/store"
)

// BenchmarkReportOfAMessage measures a message from the connector to its published event, commit
// included, against a commit of one record of the same size to the same file. Commits dominate:
// the ratio is the cost that the package adds.
func BenchmarkReportOfAMessage(b *testing.B) {
	r := newRig(b, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	bare := func(i int) {
		err := r.s.Update(bg, func(tx *store.Tx) error {
			return store.PutJSON(tx, "message", store.Key(int64(99), uint64(i)), text(fmt.Sprint(i), "1@s.whatsapp.net", false))
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	var reports, commits time.Duration
	i := 0
	for b.Loop() {
		began := time.Now()
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text(fmt.Sprint(i), "1@s.whatsapp.net", false)})
		middle := time.Now()
		bare(i)
		reports += middle.Sub(began)
		commits += time.Since(middle)
		i++
	}
	b.ReportMetric(float64(reports)/float64(commits), "report/update")
}

// BenchmarkReport measures a report without the disk: of a fact that stores nothing, of a message,
// and of a receipt.
func BenchmarkReport(b *testing.B) {
	for name, fact := range map[string]func(i int) event.Fact{
		"presence": func(int) event.Fact {
			return event.Fact{Kind: event.PresenceUpdated, Data: event.PresenceUpdate{ChatJID: "1@s.whatsapp.net", State: "composing"}}
		},
		"message": func(i int) event.Fact {
			return event.Fact{Kind: event.MessagesUpsert, Data: text(fmt.Sprint(i), "1@s.whatsapp.net", false)}
		},
		"receipt": func(i int) event.Fact {
			return event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"sent"}, Status: event.StatusRead, Chat: "1@s.whatsapp.net"}}
		},
		"state": func(i int) event.Fact {
			states := []event.State{event.Online, event.Reconnecting}
			return event.Fact{
				Kind: event.ConnectionUpdated, Status: states[i%2],
				Data: event.ConnectionUpdate{Type: event.TypeConnected, Connection: event.ConnectionOpen},
			}
		},
	} {
		measure := func(b *testing.B, durable bool) {
			r := newRig(quick{b}, withLedger(b), nil)
			defer r.stop()
			id := r.create("a").ID
			r.hook(id, "http://a.example/", "messagesUpsert", "messagesUpdated", "presenceUpdated", "connectionUpdated")
			r.options(id, webhooks.OptionsChange{Durable: durable})
			r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("sent", "1@s.whatsapp.net", true)})
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				r.report(id, fact(i))
				i++
			}
			if n := len(r.published()); n < i && !durable {
				b.Fatalf("%d of %d events were published", n, i)
			}
		}
		b.Run(name, func(b *testing.B) { measure(b, false) })
		b.Run(name+"/durable", func(b *testing.B) { measure(b, true) })
	}
}

// quick runs a benchmark whose commits do not wait for the disk.
type quick struct{ testing.TB }
