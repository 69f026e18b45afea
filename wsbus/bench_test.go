package wsbus

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"postern/event"
)

// The clients of a benchmark live in another process: this binary, run with
// their number in the environment.
func TestMain(m *testing.M) {
	if plan := os.Getenv("WSBUS_SWARM"); plan != "" {
		if err := runSwarm(plan); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const (
	topics    = 50               // instances, each with as many clients
	perSecond = 200              // events, over all instances
	measured  = 6 * time.Second  // how long events are made
	bodySize  = 1 << 10          // of an event
	plug      = 256 << 10        // of a first event; more than the buffers of a client that does not read
	settling  = 60 * time.Second // for connecting and for what is on its way
)

// swarm is the clients in their process.
type swarm struct {
	b      *testing.B
	cmd    *exec.Cmd
	stdin  interface{ Close() error }
	stdout *bufio.Scanner
}

// report is what the clients measured.
type report struct {
	Messages      int
	P50, P99, Max float64 // milliseconds from publishing to the client
}

func startSwarm(b *testing.B, addr string, clients, silent int) *swarm {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("WSBUS_SWARM=%s %d %d", addr, clients, silent))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	s := &swarm{b, cmd, in, bufio.NewScanner(out)}
	s.line() // "ready"
	return s
}

func (s *swarm) line() []byte {
	if !s.stdout.Scan() {
		s.b.Fatalf("the clients are gone: %v", s.stdout.Err())
	}
	return s.stdout.Bytes()
}

// end takes the clients down and returns what they measured.
func (s *swarm) end() (r report) {
	_ = s.stdin.Close()
	last := s.line()
	if string(last) == "plugged" { // none was sent
		last = s.line()
	}
	if err := json.Unmarshal(last, &r); err != nil {
		s.b.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.b.Fatal(err)
	}
	return r
}

// benchHub serves clients of the instance that their path names.
func benchHub(b *testing.B) (*Hub, string) {
	hub := New(Config{WriteTimeout: 4 * time.Second}) // clients that do not read are closed while others are measured
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.ParseInt(r.URL.Path[1:], 10, 64)
		_ = hub.ServeInstance(w, r, InstanceClient{Instance: id, Expires: time.Now().Add(24 * time.Hour)})
	}))
	// Else the system would take megabytes for a client that reads nothing.
	srv.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		_ = conn.(*net.TCPConn).SetWriteBuffer(16 << 10)
		return ctx
	}
	srv.Start()
	b.Cleanup(srv.Close)
	b.Cleanup(func() { _ = hub.Close(context.Background()) })
	return hub, srv.Listener.Addr().String()
}

// BenchmarkFanOut makes 200 events a second for 50 instances with 100 clients
// each, 2 of which read nothing from the start.
func BenchmarkFanOut(b *testing.B) {
	for _, c := range []struct{ clients, silent int }{{topics, 0}, {5000, 0}, {5000, 100}} {
		b.Run(fmt.Sprintf("clients=%d/silent=%d", c.clients, c.silent), func(b *testing.B) {
			for b.Loop() {
				hub, addr := benchHub(b)
				s := startSwarm(b, addr, c.clients, c.silent)
				for id := range int64(topics) {
					hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: id, Body: make([]byte, plug)})
				}
				s.line() // "plugged"
				publish(hub)
				r := s.end()
				_, slow := hub.Stats()
				b.ReportMetric(r.P50, "p50-ms")
				b.ReportMetric(r.P99, "p99-ms")
				b.ReportMetric(r.Max, "max-ms")
				b.ReportMetric(float64(slow), "closed-as-slow")
				b.ReportMetric(float64(r.Messages)/measured.Seconds(), "messages/s")
			}
		})
	}
}

// publish makes events evenly. An event begins with the time it was made.
func publish(hub *Hub) {
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	for n := range int64(measured.Seconds() * perSecond) {
		<-tick.C
		body := bytes.Repeat([]byte{' '}, bodySize)
		copy(body, strconv.FormatInt(time.Now().UnixNano(), 10))
		hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: n % topics, Body: body})
	}
	time.Sleep(time.Second) // what is on its way arrives
}

// BenchmarkMemoryOfAClient connects 5 000 clients that have nothing to do.
func BenchmarkMemoryOfAClient(b *testing.B) {
	const clients = 5000
	for b.Loop() {
		hub, addr := benchHub(b)
		before, resident := memory()
		s := startSwarm(b, addr, clients, 0)
		for n, _ := hub.Stats(); n < clients; n, _ = hub.Stats() {
			time.Sleep(time.Millisecond)
		}
		after, residentAfter := memory()
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/clients, "heap-B/client")
		b.ReportMetric(float64(after.StackInuse-before.StackInuse)/clients, "stack-B/client")
		b.ReportMetric(float64(residentAfter-resident)/clients, "resident-B/client")
		if path := os.Getenv("WSBUS_PROFILE"); path != "" {
			writeHeapProfile(b, path)
		}
		s.end()
	}
}

func memory() (m runtime.MemStats, resident int64) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	status, _ := os.ReadFile("/proc/self/statm")
	if f := bytes.Fields(status); len(f) > 1 {
		pages, _ := strconv.ParseInt(string(f[1]), 10, 64)
		resident = pages * int64(os.Getpagesize())
	}
	return m, resident
}
