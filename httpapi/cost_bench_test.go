package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"postern/store"
)

// BenchmarkCost measures one request without the network, on a file whose commits do not wait for the
// disk: allocations and bytes do not depend on the machine. They include those of the commit, on any
// goroutine.
func BenchmarkCost(b *testing.B) {
	const batch = `{"name":"n","instances":["a"],"recipients":["+49 151 12345678"],"message":{"type":"text","payload":{"text":"hello"}},"autoStart":false}`
	for _, c := range []struct{ name, method, path, body string }{
		{"GET status", http.MethodGet, "/instance/a/connection/status", ""},
		{"POST text", http.MethodPost, "/instance/a/send/text", `{"number":"4915112345678","options":{"delay":0},"textMessage":{"text":"hello"}}`},
		{"POST batches", http.MethodPost, "/message/batches", batch},
		{"PUT webhook", http.MethodPut, "/instance/a/webhook", `{"url":"https://example.org/x","enabled":true}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := newBenchRig(b, store.Options{NoSync: true, MinFree: 1})
			token := r.instance("a")
			r.line.paired.Store(true)
			if res := r.as(token, http.MethodGet, "/instance/a/connect", ""); res.StatusCode != http.StatusOK {
				b.Fatal(res.Status)
			}
			if c.name == "POST batches" {
				token = r.token
			}
			req := httptest.NewRequest(c.method, c.path, nil)
			req.Header.Set("Authorization", "Bearer "+token)
			if c.body != "" {
				req.Header.Set("Content-Type", "application/json")
			}
			req.ContentLength = int64(len(c.body))
			answer := &discarded{header: http.Header{}}
			body := bytes.NewReader(nil)
			req.Body = io.NopCloser(body)
			b.ReportAllocs()
			for b.Loop() {
				clear(answer.header)
				body.Reset([]byte(c.body))
				r.api.ServeHTTP(answer, req)
				if answer.status >= 300 {
					b.Fatal(answer.status)
				}
			}
		})
	}
}

// discarded is a ResponseWriter that discards the answer.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header { return d.header }

func (d *discarded) WriteHeader(status int) { d.status = status }

func (*discarded) SetReadDeadline(time.Time) error { return nil }

func (*discarded) SetWriteDeadline(time.Time) error { return nil }

func (*discarded) Write(p []byte) (int, error) { return len(p), nil }
