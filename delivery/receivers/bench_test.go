package receivers

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// BenchmarkList lists the receivers of 2,000 instances with a webhook and an endpoint each, all of which had attempts.
func BenchmarkList(b *testing.B) {
	s, err := store.Open(store.Options{Path: filepath.Join(b.TempDir(), "t.db"), Buckets: append(Buckets(), delivery.Buckets()...), NoSync: true, MinFree: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	box, err := outbox.Open(s)
	if err != nil {
		b.Fatal(err)
	}
	pauses, err := OpenPauses(s, func([]delivery.Lane) {}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	var places []Place
	health := NewHealth(time.Now)
	for i := range int64(2000) {
		for _, lane := range []delivery.Lane{
			{Flow: delivery.FlowInstance, Instance: i + 1, Target: event.TargetWebhook},
			{Flow: delivery.FlowInstance, Instance: i + 1, Target: event.TargetEndpoint, Endpoint: "crm"},
		} {
			url := fmt.Sprintf("https://hooks.example.org/%d", i)
			places = append(places, Place{Lane: lane, Name: "shop", URL: url, Enabled: true})
			health.Note(Of(lane), Attempt{At: time.Now(), URL: url, Status: 200, Accepted: true})
		}
	}
	book := &Book{Config: Config{
		Store: s, Outbox: box, Health: health, Pauses: pauses,
		Resolve: func(delivery.Lane) (event.Destination, delivery.Status) { return event.Destination{}, delivery.Ready },
		Places: func(of int64) []Place {
			if of == All {
				return places
			}
			return places[2*(of-1) : 2*of]
		},
		Pulling:  func(int64) ([]Pulling, error) { return nil, nil },
		InMemory: func() map[delivery.Lane]InMemory { return nil },
		Probe:    func(delivery.Lane) time.Time { return time.Time{} },
	}}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			if rows, err := book.List(All); err != nil || len(rows) != len(places) {
				b.Fatal(len(rows), err)
			}
		}
	})
	b.Run("wrong", func(b *testing.B) {
		for range 3 {
			health.Note("7:webhook", Attempt{At: time.Now(), URL: "https://hooks.example.org/6", Status: 503})
		}
		for b.Loop() {
			if rows, err := book.Wrong(); err != nil || len(rows) != 1 {
				b.Fatal(len(rows), err)
			}
		}
	})
}
