package bench

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"postern/cli/consumer"
)

// BenchmarkLimits reports what all limits and settings cost a send: the same sends
// through an instance without any and one with all of them, in turns, to contacts
// that were written to before. One client sends one after the other, then eight do at
// once, then a batch.
func BenchmarkLimits(b *testing.B) {
	const rounds, sends = 200, 64
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			for b.Loop() {
				r := newLimitStation(b)
				round := func(k int) time.Duration { return r.series(b, k, clients, sends) }
				compare(b, rounds, round)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	b.Run("batch", func(b *testing.B) {
		for b.Loop() {
			r := newLimitStation(b)
			compare(b, rounds/2, func(k int) time.Duration { return r.oneBatch(b, k, 2*sends) })
		}
		b.ReportMetric(0, "ns/op")
	})
}

// newLimitStation has i1 without limits and settings and i2 with all.
func newLimitStation(b *testing.B) *station {
	b.Helper()
	r := newStation(b)
	r.pair(b)
	r.pair(b)
	r.call(b, consumer.Bearer(r.tokens[1]), http.MethodPut, "/instance/i2/limits", map[string]any{
		"perMinute": 1_000_000, "perHour": 1_000_000, "perDay": 1_000_000, "newContactsPerDay": 1_000_000,
		"warmUp":     map[string]any{"from": 1_000_000, "to": 1_000_000, "days": 30},
		"quietHours": map[string]any{"from": quietFrom(), "to": quietTo()}, "timezone": "Europe/Berlin",
	}, nil)
	r.call(b, consumer.Bearer(r.tokens[1]), http.MethodPut, "/instance/i2/settings", map[string]any{
		"ignore":      map[string]any{"groups": true, "status": true, "newsletters": true, "broadcasts": true, "jids": []string{"4917699000001"}},
		"rejectCalls": map[string]any{"enabled": true, "message": "no calls"}, "readMessages": true, "alwaysOnline": true,
		"history": map[string]any{"days": 30, "groups": true},
	}, nil)
	for k := range r.names {
		r.series(b, k, 4, 128)
	}
	return r
}

// It is quiet half a day from now, in no zone sooner than in some hours.
func quietFrom() string { return time.Now().UTC().Add(12 * time.Hour).Format("15:04") }
func quietTo() string   { return time.Now().UTC().Add(13 * time.Hour).Format("15:04") }

// compare takes turns, and reports the medians and by how much they differ.
func compare(b *testing.B, rounds int, round func(instance int) time.Duration) {
	b.Helper()
	var took [2][]float64
	for n := range rounds {
		for i := range 2 {
			k := (n + i) % 2
			took[k] = append(took[k], round(k).Seconds()*1e3)
		}
	}
	var ratios []float64
	for n := range rounds {
		ratios = append(ratios, took[1][n]/took[0][n])
	}
	slices.Sort(ratios)
	slices.Sort(took[0])
	slices.Sort(took[1])
	b.ReportMetric(took[0][rounds/2], "ms-without")
	b.ReportMetric(took[1][rounds/2], "ms-with")
	b.ReportMetric(100*(ratios[rounds/2]-1), "%-more")
}

// series sends by one instance and returns how long it took.
func (r *station) series(b *testing.B, instance, clients, sends int) time.Duration {
	b.Helper()
	begin := time.Now()
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			for n := range sends / clients {
				err := r.api.Call(context.Background(), consumer.Bearer(r.tokens[instance]), http.MethodPost, "/instance/"+r.names[instance]+"/send/text", map[string]any{
					"number": fmt.Sprintf("4917698%06d", c*sends/clients+n+1), "textMessage": map[string]any{"text": "hello"},
				}, nil)
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	return time.Since(begin)
}

// oneBatch sends one batch by one instance and returns how long it took.
func (r *station) oneBatch(b *testing.B, instance, items int) time.Duration {
	b.Helper()
	recipients := make([]string, items)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("4917698%06d", i+1)
	}
	begin := time.Now()
	var made struct{ ID string }
	r.call(b, consumer.Bearer(r.user), http.MethodPost, "/message/batches", map[string]any{
		"name": "b", "instances": []string{r.names[instance]}, "recipients": recipients,
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "hello"}},
	}, &made)
	for {
		var state struct{ Status string }
		r.call(b, consumer.Bearer(r.user), http.MethodGet, "/message/batches/"+made.ID, nil, &state)
		if state.Status == "COMPLETED" {
			return time.Since(begin)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
