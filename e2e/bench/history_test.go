package bench

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/event"
)

// BenchmarkHistorySync has a phone hand over a history of 50 000 messages
// while a contact goes on writing. It reports how much resident memory the
// program takes for it at most, and how long a live message takes from the
// contact's phone to the receiver, without the history and during it: once
// while nothing of the history is stored, and once while all of it is.
func BenchmarkHistorySync(b *testing.B) {
	b.Run("reported", func(b *testing.B) { historySync(b, 0) })
	b.Run("stored", func(b *testing.B) { historySync(b, 365) })
}

func historySync(b *testing.B, days int) {
	const (
		own, contact = "4917612000001", "4917612900001"
		chats        = 250
	)
	for b.Loop() {
		r := newStation(b)
		r.pair(b)
		hook := newLiveHook()
		r.call(b, consumer.Bearer(r.tokens[0]), http.MethodPut, "/instance/i1/webhook", map[string]any{
			"url": hook.server.URL, "events": map[string]bool{"messagesUpsert": true, "historySync": true},
		}, nil)
		r.call(b, consumer.Bearer(r.tokens[0]), http.MethodPut, "/instance/i1/settings", map[string]any{"history": map[string]any{"days": days}}, nil)
		say := func(ctx context.Context) time.Duration {
			sent := time.Now()
			if r.net.control.Call(ctx, consumer.Credential{}, http.MethodPost, "/sandbox/phones/"+contact+"/act",
				map[string]any{"do": "text", "to": own, "text": "live"}, nil) != nil {
				return 0
			}
			return hook.next().Sub(sent)
		}
		for range 20 {
			say(b.Context()) // first contact
		}
		var calm time.Duration
		for range 50 {
			calm = max(calm, say(b.Context()))
		}
		before := usedNow(b).rssMB
		peak := watchMemory(b)
		var busy time.Duration
		ctx, stop := context.WithCancel(b.Context())
		var talk sync.WaitGroup
		talk.Go(func() {
			for ctx.Err() == nil {
				busy = max(busy, say(b.Context()))
			}
		})
		r.network(b, "/sandbox/phones/"+own+"/act", map[string]any{
			"do": "history-sync", "conversations": chats, "messages": 50_000 / chats,
		})
		hook.history.Wait()
		time.Sleep(300 * time.Millisecond) // what the library does after its report
		stop()
		talk.Wait()
		b.ReportMetric(peak()-before, "RSS-MB-more")
		b.ReportMetric(float64(calm.Milliseconds()), "live-ms-max-before")
		b.ReportMetric(float64(busy.Milliseconds()), "live-ms-max-during")
		hook.server.Close()
	}
	b.ReportMetric(0, "ns/op")
}

// watchMemory samples the resident memory until the returned function is
// called, which gives the largest in MB.
func watchMemory(b *testing.B) (stop func() float64) {
	var most float64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-tick.C:
				most = max(most, residentMB(b, os.Getpid(), "VmRSS:"))
			case <-end:
				return
			}
		}
	}()
	return func() float64 {
		close(end)
		<-ended
		return most
	}
}

// liveHook reports when each live message came, and when the history did.
type liveHook struct {
	server  *httptest.Server
	came    chan time.Time
	history sync.WaitGroup
	seen    atomic.Bool
}

func newLiveHook() *liveHook {
	h := &liveHook{came: make(chan time.Time, 1)}
	h.history.Add(1)
	h.server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var e struct {
			Event event.Kind
			Data  struct{ Data struct{ SyncType string } }
		}
		_ = json.NewDecoder(req.Body).Decode(&e)
		switch {
		case e.Event == event.MessagesUpsert:
			h.came <- time.Now()
		case e.Event == event.HistorySync && e.Data.Data.SyncType != "INITIAL_BOOTSTRAP" && !h.seen.Swap(true):
			h.history.Done()
		}
	}))
	return h
}

func (h *liveHook) next() time.Time { return <-h.came }
