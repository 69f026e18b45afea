package bench

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/httpapi/tokens"
)

// BenchmarkTwentyLargeBatches creates one batch of 100 000 recipients over HTTP, then
// twenty at once by as many users. It reports by how much the resident memory of the
// program grows at most, with the pages of the data file and without them, and how long
// another client waits for its commits meanwhile.
func BenchmarkTwentyLargeBatches(b *testing.B) {
	for _, many := range []int{1, 20} {
		b.Run(fmt.Sprint("batches=", many), func(b *testing.B) {
			for b.Loop() {
				createLarge(b, many)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func createLarge(b *testing.B, many int) {
	b.Helper()
	p := serve(b, b.TempDir())
	defer p.end()
	p.instance(b, "shop")
	writer := p.instance(b, "writer")
	recipients := make([]string, 100_000)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("49151%08d", i)
	}
	draft := map[string]any{
		"name": "large", "instances": []string{"shop"}, "recipients": recipients, "autoStart": false,
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "hello"}},
	}
	time.Sleep(time.Second)
	idle := resident{residentMB(b, p.pid, "RssAnon:"), residentMB(b, p.pid, "RssFile:")}
	var batches sync.WaitGroup
	begin := time.Now()
	for range many {
		user, err := tokens.ForUser([]byte(secrets.JWTSecret), uuid.New(), time.Hour, time.Now())
		if err != nil {
			b.Fatal(err)
		}
		batches.Go(func() {
			if err := p.api.Call(b.Context(), consumer.Bearer(user), http.MethodPost, "/message/batches", draft, nil); err != nil {
				b.Error(err)
			}
		})
	}
	ended := make(chan struct{})
	go func() { defer close(ended); batches.Wait() }()
	var most resident
	var all float64
	var took []time.Duration
	for n := 0; ; n++ {
		select {
		case <-ended:
			b.ReportMetric(time.Since(begin).Seconds(), "s")
			b.ReportMetric(all-idle.anonMB-idle.fileMB, "MB-more")
			b.ReportMetric(most.anonMB-idle.anonMB, "MB-of-its-own")
			b.ReportMetric(ms(percentile(took, 0.99)), "p99-ms-another-write")
			return
		case <-time.After(5 * time.Millisecond):
		}
		sent := time.Now()
		p.call(b, writer, http.MethodPut, "/instance/writer/webhook", map[string]any{"url": fmt.Sprint(unreachable, n)})
		took = append(took, time.Since(sent))
		anon, file := residentMB(b, p.pid, "RssAnon:"), residentMB(b, p.pid, "RssFile:")
		most.anonMB, all = max(most.anonMB, anon), max(all, anon+file)
	}
}
