package bench

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// callers is how many clients call at once, and how many workers the bare loop has.
const callers = 64

// BenchmarkCallToWebhook has 64 clients create batches of one recipient that wait for
// their window: a call is one commit and two events for the global webhook. The program
// runs in a process of its own. Offered are as many as it takes, 1 000 and 200 events a
// second. It reports deliveries a second, as a share of a bare http.Client loop to the
// same receiver, the processor time of the program, the time from a client's answer to
// the receiver's handler, and what does not depend on the machine: commits, bytes written,
// voluntary switches of threads and allocations an event. load-cpu-s/1000 is the processor time of
// the clients and the receiver, which share the machine. x-bare-cpu is the ratio to the bare loop in
// processor time, all of it included, and x-bare-free the one that a program without any cost would
// have beside them: both say something on a busy machine, too. anon-MB and file-MB are the resident memory after the load:
// the program's own, and pages of its files.
func BenchmarkCallToWebhook(b *testing.B) {
	for _, c := range []struct {
		name         string
		rate, events int
	}{{"full-speed", 0, 40_000}, {"1000-per-s", 1000, 10_000}, {"200-per-s", 200, 2_000}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				p := startRelaying(b)
				p.offer(b, 0, 2*callers) // connections, and what is made once
				p.offer(b, c.rate, c.events).report(b, runBareLoop(b, p.hook))
				p.end()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// relaying is a program with a global webhook, and the receiver.
type relaying struct {
	process
	hook string

	received atomic.Int64
	mu       sync.Mutex
	arrived  map[string][]time.Time // by batch
	answered map[string]time.Time
}

func startRelaying(b *testing.B) *relaying {
	b.Helper()
	p := &relaying{}
	receiver := httptest.NewServer(http.HandlerFunc(p.receive))
	b.Cleanup(receiver.Close)
	p.hook = receiver.URL
	p.process = serve(b, b.TempDir(), "MESSAGE_BATCH_MAX_OPEN=0", "SANDBOX_ENABLED=true", "WEBHOOK_GLOBAL_ENABLED=true", "WEBHOOK_GLOBAL_URL="+p.hook)
	p.api.HTTP.Transport = &http.Transport{MaxIdleConnsPerHost: callers}
	p.instance(b, "i1")
	return p
}

func (p *relaying) receive(_ http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, _ := io.ReadAll(r.Body)
	_, rest, found := bytes.Cut(body, []byte(`"batch":{"id":"`))
	if !found {
		return // of the bare loop
	}
	id := string(rest[:36])
	p.mu.Lock()
	p.arrived[id] = append(p.arrived[id], now)
	p.mu.Unlock()
	p.received.Add(1)
}

// create makes a batch that waits for a window far away.
func (p *relaying) create(b *testing.B) {
	begin := time.Now().Add(24 * time.Hour).UTC()
	var made rig.BatchAnswer
	err := p.api.Call(b.Context(), consumer.Bearer(p.user), http.MethodPost, "/message/batches", map[string]any{
		"name": "bench", "instances": []string{"i1"}, "recipients": []string{"4915112345678"},
		"message":  map[string]any{"type": "text", "payload": map[string]any{"text": "hello"}},
		"schedule": map[string]any{"windowStartAt": begin.Format(time.RFC3339), "windowEndAt": begin.Add(time.Hour).Format(time.RFC3339), "recurrence": "NONE"},
	}, &made)
	if err != nil {
		b.Error(err)
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered[made.ID.String()] = now
}

// relayed is what became of some events.
type relayed struct {
	events int
	all    time.Duration
	lags   []time.Duration
	used   spent
	load   float64 // seconds of the processor that clients and receiver took

	anon, file float64 // resident megabytes at the end
}

// offer has so many events made, at a rate a second, 0 for as many as go, and waits
// until all were received.
func (p *relaying) offer(b *testing.B, rate, events int) relayed {
	b.Helper()
	p.mu.Lock()
	p.arrived, p.answered = map[string][]time.Time{}, map[string]time.Time{}
	p.mu.Unlock()
	p.received.Store(0)
	before, load, begin := spentBy(b, p), processorTime(b), time.Now()
	calls := make(chan struct{}) // one that waits is taken by any free client
	var work sync.WaitGroup
	for range callers {
		work.Go(func() {
			for range calls {
				p.create(b)
			}
		})
	}
	for n := range events / 2 {
		if rate > 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(n) * 2 * time.Second / time.Duration(rate))))
		}
		calls <- struct{}{}
	}
	close(calls)
	work.Wait()
	for limit := time.Now().Add(time.Minute); p.received.Load() < int64(events); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			b.Fatalf("%d of %d events arrived", p.received.Load(), events)
		}
	}
	r := relayed{events: events, all: time.Since(begin), load: (processorTime(b) - load).Seconds()}
	time.Sleep(100 * time.Millisecond) // the last outcomes are stored
	r.used = spentBy(b, p).less(before)
	r.anon, r.file = residentMB(b, p.pid, "RssAnon:"), residentMB(b, p.pid, "RssFile:")
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, at := range p.answered {
		if len(p.arrived[id]) != 2 {
			b.Fatalf("batch %s was reported %d times", id, len(p.arrived[id]))
		}
		for _, arrival := range p.arrived[id] {
			r.lags = append(r.lags, max(0, arrival.Sub(at))) // the relay hears of a commit before the client is answered
		}
	}
	slices.Sort(r.lags)
	return r
}

func (r relayed) report(b *testing.B, loop bareLoop) {
	rate, n := float64(r.events)/r.all.Seconds(), float64(r.events)
	b.ReportMetric(rate, "deliveries/s")
	b.ReportMetric(rate/loop.rate, "x-bare")
	b.ReportMetric(loop.cpu*n/(r.used.cpu+r.load), "x-bare-cpu")
	b.ReportMetric(float64(r.lags[len(r.lags)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(r.lags[len(r.lags)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(r.used.cpu/n*1000, "cpu-s/1000")
	b.ReportMetric(r.load/n*1000, "load-cpu-s/1000")
	b.ReportMetric(loop.cpu*n/r.load, "x-bare-free")
	b.ReportMetric(r.anon, "anon-MB")
	b.ReportMetric(r.file, "file-MB")
	b.ReportMetric(r.used.commits/n, "commits/event")
	b.ReportMetric(r.used.written/n/1024, "KB-written/event")
	b.ReportMetric(r.used.switches/n, "switches/event")
	b.ReportMetric(r.used.allocs/n, "allocs/event")
}

// bareLoop is the same with only an http.Client.
type bareLoop struct {
	rate float64 // posts a second
	cpu  float64 // seconds of the processor a post, the receiver's included
}

func runBareLoop(b *testing.B, url string) bareLoop {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	defer client.CloseIdleConnections()
	const posts = 40_000
	body := bytes.Repeat([]byte("x"), 700)
	var next atomic.Int64
	var work sync.WaitGroup
	begin, cpu := time.Now(), processorTime(b)
	for range callers {
		work.Go(func() {
			for next.Add(1) <= posts {
				resp, err := client.Post(url, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	work.Wait()
	return bareLoop{posts / time.Since(begin).Seconds(), (processorTime(b) - cpu).Seconds() / posts}
}

// spent is what a process has used so far.
type spent struct{ cpu, commits, written, switches, allocs float64 }

func (s spent) less(o spent) spent {
	return spent{s.cpu - o.cpu, s.commits - o.commits, s.written - o.written, s.switches - o.switches, s.allocs - o.allocs}
}

func spentBy(b *testing.B, p *relaying) (s spent) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, p.api.Base+"/metrics", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set(p.key.Name, p.key.Value)
	resp, err := p.api.HTTP.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	s.cpu = field(string(raw), "process_cpu_seconds_total ")
	s.allocs = field(string(raw), "go_memstats_mallocs_total ")
	s.commits = field(string(raw), "postern_store_commits_total ")
	proc := fmt.Sprintf("/proc/%d/", p.pid)
	io, err := os.ReadFile(proc + "io")
	if err != nil {
		b.Skip("needs /proc")
	}
	s.written = field(string(io), "wchar: ")
	threads, _ := filepath.Glob(proc + "task/*/status")
	for _, thread := range threads {
		status, _ := os.ReadFile(thread)
		s.switches += field(string(status), "\nvoluntary_ctxt_switches:\t")
	}
	return s
}

// field returns the number that follows a name in a text.
func field(text, name string) (n float64) {
	_, rest, _ := strings.Cut(text, "\n"+strings.TrimPrefix(name, "\n"))
	value, _, _ := strings.Cut(rest, "\n")
	n, _ = strconv.ParseFloat(strings.TrimSpace(value), 64)
	return n
}
