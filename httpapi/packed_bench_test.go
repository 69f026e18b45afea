package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"postern/store"
)

// BenchmarkPackedList answers the list of 2,000 instances packed and plain, alternately. It reports the median time
// that packing adds, the time of the whole answer relative to the plain one, and the bytes.
func BenchmarkPackedList(b *testing.B) {
	r := newBenchRig(b, store.Options{NoSync: true, MinFree: 1})
	for i := range 2000 {
		r.instance(fmt.Sprintf("shop-%d-%s", i, []string{"berlin", "recife", "lyon"}[i%3]))
	}
	ask := func(packed bool) (took time.Duration, size int) {
		req := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/instance", nil)
		req.Header.Set("Apikey", testKey)
		if packed {
			req.Header.Set("Accept-Encoding", "gzip")
		}
		rec := httptest.NewRecorder()
		begin := time.Now()
		r.api.ServeHTTP(rec, req)
		took = time.Since(begin)
		if rec.Code != http.StatusOK || (rec.Header().Get("Content-Encoding") == "gzip") != packed {
			b.Fatalf("%d %v", rec.Code, rec.Header())
		}
		return took, rec.Body.Len()
	}
	var plain, packed []time.Duration
	var bytes, fewer int
	for b.Loop() {
		var took time.Duration
		took, bytes = ask(false)
		plain = append(plain, took)
		took, fewer = ask(true)
		packed = append(packed, took)
	}
	median := func(all []time.Duration) time.Duration {
		slices.Sort(all)
		return all[len(all)/2]
	}
	p, q := median(plain), median(packed)
	b.ReportMetric((q-p).Seconds()*1000, "packing-ms")
	b.ReportMetric(q.Seconds()/p.Seconds(), "x-plain")
	b.ReportMetric(float64(bytes), "plain-B")
	b.ReportMetric(float64(fewer), "packed-B")
	b.ReportMetric(0, "ns/op")
}
