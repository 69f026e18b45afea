//go:build linux

package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	wastore "go.mau.fi/whatsmeow/store"

	"postern/cli/consumer"
	"postern/e2e/bare"
)

// BenchmarkSendsBesideTheBareLibrary holds sends by POST send/text against the client
// library alone: one caller of one instance, and 64 of 20. Network, program and library
// are three processes; the reported processor time is the sender's alone, and apart from it
// what the network and the callers take of the same machine.
func BenchmarkSendsBesideTheBareLibrary(b *testing.B) {
	for name, n := range map[string]struct{ instances, callers, texts int }{
		"one":  {1, 1, 300},
		"many": {20, 64, 2000},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				network := startNetwork(b)
				r := newProgram(b, network)
				for range n.instances {
					r.pair(b)
				}
				ways := []way{
					r.byCalls(b),
					bareClients(b, network, "memory", n.instances, 620, func(int) *wastore.Device { return bare.NewDevice() }),
				}
				make, commits := onFile(b)
				filed := bareClients(b, network, "bbolt", n.instances, 621, make)
				filed.commits = commits
				ways = append(ways, filed)
				if make := onSQLite(b); make != nil {
					ways = append(ways, bareClients(b, network, "sqlite", n.instances, 622, make))
				}
				hold(b, n.callers, n.callers, n.texts, ways)
			}
		})
	}
}

// BenchmarkBatchBesideCalls holds a batch through one instance against the same texts
// by POST send/text, of one caller and of eight.
func BenchmarkBatchBesideCalls(b *testing.B) {
	for b.Loop() {
		r := newProgram(b, startNetwork(b))
		r.pair(b)
		batch, calls := r.byCalls(b), r.byCalls(b)
		batch.name, batch.whole = "batch", func(texts int) { r.batches(b, 1, texts) }
		eight := calls
		eight.name, eight.callers = "eight-callers", 8
		hold(b, 1, 100, 200, []way{batch, calls, eight})
	}
}

// newProgram starts Postern in a process of its own on that network.
func newProgram(b *testing.B, n *network) *station {
	b.Helper()
	r, _ := newProgramIn(b, n, b.TempDir())
	return r
}

// byCalls sends by POST send/text, one instance after the other.
func (r *station) byCalls(b *testing.B) way {
	b.Helper()
	return way{
		name: "calls", cpu: func() time.Duration { return processorOf(b, r.process) },
		others:  func() time.Duration { return processorOf(b, r.net.pid) + processorTime(b) },
		commits: func() float64 { return r.metric(b, "postern_store_commits_total") },
		send: func(ctx context.Context, caller int, to string) error {
			k := caller % len(r.names)
			return r.api.Call(ctx, consumer.Bearer(r.tokens[k]), http.MethodPost, "/instance/"+r.names[k]+"/send/text", map[string]any{
				"number": to, "textMessage": map[string]any{"text": "hello"},
			}, nil)
		},
	}
}

// metric reads a number of /metrics.
func (r *station) metric(b *testing.B, name string) float64 {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, r.api.Base+"/metrics", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set(r.key.Name, r.key.Value)
	resp, err := r.api.HTTP.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatalf("no metric %s", name)
	return 0
}

// ownProcessor tells the processor time of this process.
func ownProcessor(b *testing.B) func() time.Duration {
	return func() time.Duration { return processorTime(b) }
}

// processorOf returns the processor time of another process, in steps of 10 ms.
func processorOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
