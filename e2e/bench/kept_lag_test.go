package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"postern/cli/consumer"
)

// BenchmarkTextsBesideKeptFiles lets 200 texts a second come in to one instance, while files of
// 1 MiB come in to four others, five in two seconds each. In turns of four seconds these files are kept
// and are not (storeMedia). It reports how long a text takes from the sandbox's phone to the webhook.
func BenchmarkTextsBesideKeptFiles(b *testing.B) {
	for b.Loop() {
		l := newLagging(b)
		var with, without []time.Duration
		var ratios []float64
		for range 5 {
			off := l.round(b, false)
			on := l.round(b, true)
			with, without = append(with, on...), append(without, off...)
			ratios = append(ratios, percentile(on, 0.99).Seconds()/percentile(off, 0.99).Seconds())
		}
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], "x-p99")
		b.ReportMetric(ms(percentile(with, 0.5)), "ms-kept")
		b.ReportMetric(ms(percentile(without, 0.5)), "ms-not-kept")
		b.ReportMetric(ms(percentile(with, 0.99)), "p99-ms-kept")
		b.ReportMetric(ms(percentile(without, 0.99)), "p99-ms-not-kept")
		b.ReportMetric(float64(l.files(b, "STORED")), "files-kept")
		l.end()
	}
	b.ReportMetric(0, "ns/op")
}

// lagging is a program with five instances, whose texts come to a webhook.
type lagging struct {
	*station
	end func()

	mu   sync.Mutex
	sent map[int]time.Time
	lags []time.Duration
	next int
}

const lagSender = "4915199999999"

func newLagging(b *testing.B) *lagging {
	b.Helper()
	n := startNetwork(b)
	env := []string{"MEDIA_STORE_KIND=local", "MEDIA_STORE_MAX_BYTES=0"}
	for name, value := range n.env {
		env = append(env, name+"="+value)
	}
	p := serve(b, b.TempDir(), env...)
	l := &lagging{station: &station{api: p.api, net: n, key: p.key, user: p.user, process: p.pid}, sent: map[int]time.Time{}}
	hook := httptest.NewServer(http.HandlerFunc(l.hear))
	b.Cleanup(hook.Close)
	l.end = func() { p.end(); n.end() }
	for range 5 {
		l.pair(b)
	}
	l.network(b, "/sandbox/phones", map[string]any{"phone": lagSender})
	l.call(b, consumer.Bearer(l.tokens[0]), http.MethodPut, "/instance/i1/webhook", map[string]any{"url": hook.URL, "enabled": true, "events": map[string]bool{"messagesUpsert": true}}, nil)
	return l
}

func (l *lagging) hear(_ http.ResponseWriter, r *http.Request) {
	now := time.Now()
	raw, _ := io.ReadAll(r.Body)
	_, rest, _ := bytes.Cut(raw, []byte("lag-"))
	number, _, _ := bytes.Cut(rest, []byte{'.'})
	n, _ := strconv.Atoi(string(number))
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, known := l.sent[n]; known {
		l.lags = append(l.lags, now.Sub(at))
		delete(l.sent, n)
	}
}

// round offers texts and files for four seconds, and returns the lags of the texts.
func (l *lagging) round(b *testing.B, keep bool) []time.Duration {
	b.Helper()
	for i, token := range l.tokens[1:] {
		l.call(b, consumer.Bearer(token), http.MethodPut, "/instance/"+l.names[i+1]+"/settings", map[string]any{"storeMedia": keep}, nil)
	}
	for l.files(b, "PENDING") > 0 { // of the round before
		time.Sleep(20 * time.Millisecond)
	}
	ctx, stop := context.WithTimeout(b.Context(), 4*time.Second)
	defer stop()
	var work sync.WaitGroup
	every := func(pause time.Duration, act func(n int) map[string]any) {
		work.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
				work.Go(func() {
					if err := l.net.control.Call(b.Context(), consumer.Credential{}, http.MethodPost, "/sandbox/phones/"+lagSender+"/act", act(n), nil); err != nil {
						b.Error(err)
					}
				})
			}
		})
	}
	for i := range 4 {
		to := fmt.Sprintf("4917612%06d", i+2)
		every(400*time.Millisecond, func(int) map[string]any {
			return map[string]any{"do": "media", "to": to, "kind": "document", "size": 1 << 20}
		})
	}
	every(time.Second/200, func(int) map[string]any {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.next++
		l.sent[l.next] = time.Now()
		return map[string]any{"do": "text", "to": "4917612000001", "text": fmt.Sprintf("lag-%d.", l.next)}
	})
	work.Wait()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		if len(l.sent) == 0 || time.Since(begin) > 30*time.Second {
			lags := l.lags
			if len(l.sent) > 0 {
				b.Errorf("%d texts did not come", len(l.sent))
			}
			l.lags = nil
			l.mu.Unlock()
			return lags
		}
		l.mu.Unlock()
	}
}

// files counts the files of a state.
func (l *lagging) files(b *testing.B, state string) (n int) {
	b.Helper()
	for i, token := range l.tokens[1:] {
		var page struct{ TotalRecords int }
		l.call(b, consumer.Bearer(token), http.MethodGet, "/instance/"+l.names[i+1]+"/media/files?state="+state, nil, &page)
		n += page.TotalRecords
	}
	return n
}
