//go:build unix

package dispatch

import (
	"net/http"
	"testing"
	"time"

	"postern/event"
)

// BenchmarkLine starts with the committed events of one line and ends when all are
// acknowledged in the file, one after the other. It compares with a bare loop that posts
// one after the other.
func BenchmarkLine(b *testing.B) {
	const events = 4000
	url, _ := sink(b)
	var ours, reference costs
	for b.Loop() {
		c := openBench(b, []string{url}, event.OrderInstance)
		for range events {
			c.emit(b, "x@c", benchBody)
		}
		done := watch(b, events)
		c.start(b)
		for c.waiting(b) > 0 {
			time.Sleep(time.Millisecond)
		}
		ours.add(done())
		c.stop(b)

		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
		sender := &Sender{timeout: DefaultTimeout, wire: tripper(client.Do)}
		done = watch(b, events)
		for range events {
			if o := sender.Post(b.Context(), url, http.Header{"Content-Type": {"application/json"}}, benchBody); !o.Delivered() {
				b.Fatal(o.Reason())
			}
		}
		reference.add(done())
		client.CloseIdleConnections()
	}
	ours.report(b, reference)
	b.ReportMetric(0, "ns/op")
}
