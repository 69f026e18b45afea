package httpapi

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postern/httpapi/idempotency"
	"postern/store"
)

// BenchmarkSend measures the cost of a key for a send, without the network, on a real disk, for one caller at a time and for 64
// concurrent ones.
func BenchmarkSend(b *testing.B) {
	for _, callers := range []int{1, 64} {
		for _, name := range []string{"without", "with", "replay"} {
			b.Run(fmt.Sprintf("callers=%d/key=%s", callers, name), func(b *testing.B) { benchmarkSend(b, callers, name) })
		}
	}
}

func benchmarkSend(b *testing.B, callers int, key string) {
	var commits, n atomic.Int64
	r := newRigWith(b, store.Options{MinFree: 1, OnCommit: func(int, time.Duration) { commits.Add(1) }})
	r.line.paired.Store(true)
	r.line.online.Store(true)
	token := r.instance("a")
	r.keyed(token, "again", sendPath, hello)
	before := commits.Load()
	send := func() {
		req := keyedRequest(context.Background(), token, "again", sendPath, hello)
		switch key {
		case "with":
			req = keyedRequest(context.Background(), token, fmt.Sprint(n.Add(1)), sendPath, hello)
		case "without":
			req.Header.Del("Idempotency-Key")
		}
		// With several concurrent callers a replay may find the key in use.
		if res := do(r.h, req); res.StatusCode != 200 && res.StatusCode != 409 {
			b.Error(res.Status)
		}
	}
	b.ResetTimer()
	if callers == 1 {
		for range b.N {
			send()
		}
	} else {
		b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				send()
			}
		})
	}
	b.ReportMetric(float64(commits.Load()-before)/float64(b.N), "commits/op")
}

// BenchmarkDigestOfALargeBody measures what a key adds to the reading of the largest batch.
func BenchmarkDigestOfALargeBody(b *testing.B) {
	const size = 15 << 20
	body := strings.Repeat("x", size)
	b.SetBytes(size)
	for b.Loop() {
		key := idempotency.New(nil).Request(nil, "", "")
		buf := make([]byte, 32<<10)
		for r := key.Body(strings.NewReader(body)); ; {
			if _, err := r.Read(buf); err != nil {
				break
			}
		}
	}
}
