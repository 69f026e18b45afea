//go:build unix

package httpapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/julienschmidt/httprouter"

	"postern/store"
)

const benchClients = 64

// BenchmarkAPI serves keep-alive clients over loopback. It reports requests per second, their processor time
// including the clients', and the 99th percentile, each also relative to a bare router on the same server that
// answers a constant, measured alternately.
func BenchmarkAPI(b *testing.B) {
	r := newBenchRig(b, store.Options{})     // every PUT is on the disk before its answer
	users := make([]benchUser, benchClients) // each has an instance of its own
	for i := range users {
		users[i].name = fmt.Sprint("i", i)
		users[i].token = r.instance(users[i].name)
	}
	constant := httprouter.New()
	answer := []byte(`{"state":"close","instanceName":"a","connectionStatus":"OFFLINE"}`)
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
		constant.Handle(method, "/instance/:i/*rest", func(w http.ResponseWriter, req *http.Request, _ httprouter.Params) {
			_, _ = io.Copy(io.Discard, req.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer)
		})
	}
	for _, c := range []struct{ name, method, path, body string }{
		{"GET status", http.MethodGet, "/connection/status", ""},
		{"POST messages", http.MethodPost, "/db/messages", `{"limit":10,"filter":{"keyFromMe":true}}`},
		{"PUT webhook", http.MethodPut, "/webhook", `{"url":"https://example.org/x","enabled":true}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			var ours, bare measured
			for b.Loop() {
				bare.add(load(b, constant, users, c.method, c.path, c.body))
				ours.add(load(b, r.api, users, c.method, c.path, c.body))
			}
			b.ReportMetric(ours.perSecond(), "req/s")
			b.ReportMetric(ours.perSecond()/bare.perSecond(), "x-constant")
			b.ReportMetric(bare.used.Seconds()*float64(len(ours.each))/ours.used.Seconds()/float64(len(bare.each)), "x-constant-cpu")
			b.ReportMetric(ours.p99().Seconds()*1000, "p99-ms")
			b.ReportMetric(bare.p99().Seconds()*1000, "constant-p99-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// newBenchRig returns a rig whose interface formats its log as the program does, and discards it. It measures r.api,
// without checks against the document.
func newBenchRig(b *testing.B, o store.Options) *rig {
	b.Helper()
	r := newRigWith(b, o)
	r.api.Log = slog.New(slog.DiscardHandler).With("component", "httpapi")
	return r
}

type benchUser struct{ name, token string }

// measured is the result of rounds of requests.
type measured struct {
	took time.Duration
	used time.Duration // of the processors
	each []time.Duration
}

func (m *measured) add(o measured) {
	m.took += o.took
	m.used += o.used
	m.each = append(m.each, o.each...)
}

func (m *measured) perSecond() float64 { return float64(len(m.each)) / m.took.Seconds() }

func (m *measured) p99() time.Duration {
	slices.Sort(m.each)
	return m.each[len(m.each)*99/100]
}

// load makes the clients send for a second.
func load(b *testing.B, h http.Handler, users []benchUser, method, path, body string) measured {
	b.Helper()
	listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := NewServer(h, slog.New(slog.DiscardHandler))
	go func() { _ = srv.Serve(listener) }()
	defer func() { _ = srv.Shutdown(context.Background()) }()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchClients}}
	defer client.CloseIdleConnections()
	base := "http://" + listener.Addr().String() + "/instance/"
	one := func(u benchUser) time.Duration {
		start := time.Now()
		req, err := http.NewRequestWithContext(b.Context(), method, base+u.name+path, strings.NewReader(body))
		if err != nil {
			b.Error(err)
			return 0
		}
		req.Header.Set("Authorization", "Bearer "+u.token)
		res, err := client.Do(req)
		if err != nil {
			b.Error(err)
			return 0
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			b.Error(res.Status)
		}
		return time.Since(start)
	}
	all := make([][]time.Duration, benchClients)
	var stop atomic.Bool
	var wait sync.WaitGroup
	begin, used := time.Now(), cpuTime(b)
	for i := range all {
		wait.Go(func() {
			one(users[i]) // opens the connection
			for !stop.Load() && !b.Failed() {
				all[i] = append(all[i], one(users[i]))
			}
		})
	}
	time.Sleep(time.Second)
	stop.Store(true)
	wait.Wait()
	return measured{time.Since(begin), cpuTime(b) - used, slices.Concat(all...)}
}

// cpuTime returns the processor time of the process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAuthenticated measures one request without the network.
func BenchmarkAuthenticated(b *testing.B) {
	r := newBenchRig(b, store.Options{NoSync: true, MinFree: 1})
	token := r.instance("a")
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest(http.MethodGet, "/instance/a/connection/status", nil)
		req.Header.Set("Authorization", "Bearer "+token)
		r.api.ServeHTTP(httptest.NewRecorder(), req)
	}
}

// BenchmarkUnauthenticated measures the part of that which the test itself and the processing of the answer take.
func BenchmarkUnauthenticated(b *testing.B) {
	r := newBenchRig(b, store.Options{NoSync: true, MinFree: 1})
	b.ReportAllocs()
	for b.Loop() {
		r.api.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/health", nil))
	}
}
