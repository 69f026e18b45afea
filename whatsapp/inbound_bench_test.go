//go:build unix

package whatsapp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types/events"

	"postern/dispatch"
	"postern/event"
	"postern/instance"
	"postern/instance/webhooks"
	"postern/messages"
	"postern/store"
	"postern/whatsapp/device"
)

// backlog is the number of texts that wait for the instance in each round.
const backlog = 2000

// BenchmarkInbound receives texts that were queued while the instance was offline: as
// the program does, stored and delivered to a receiver over HTTP, and with the same
// client, device store and acknowledgements but without our handlers. Both times are
// from the first message to the last.
func BenchmarkInbound(b *testing.B) {
	r := newRig(b)
	own := r.pair()
	contact := r.contact()
	r.stop()
	dialer := r.session.lines.socket.client
	r.session, r.store = nil, nil
	var bare, ours taken
	rounds := 0
	for b.Loop() {
		for _, measure := range []struct {
			run  func(*testing.B, *rig) taken
			into *taken
		}{{func(b *testing.B, r *rig) taken { return receiveBare(b, r, dialer) }, &bare}, {receiveOurs, &ours}} {
			for range backlog {
				if _, err := contact.SendText(b.Context(), own.JID(), "hello"); err != nil {
					b.Fatal(err)
				}
			}
			measure.into.add(measure.run(b, r))
		}
		rounds++
	}
	all := float64(rounds * (backlog - 1))
	b.ReportMetric(all/ours.time.Seconds(), "events/s")
	b.ReportMetric(all/bare.time.Seconds(), "bare-events/s")
	b.ReportMetric(bare.time.Seconds()/ours.time.Seconds(), "x-bare")
	for name, t := range map[string]taken{"": ours, "bare-": bare} {
		b.ReportMetric(float64(t.commits)/all, name+"commits/msg")
		b.ReportMetric(float64(t.pages)/all, name+"pages/msg")
		b.ReportMetric(float64(t.allocs)/all, name+"allocs/msg")
		b.ReportMetric(float64(t.cpu.Microseconds())/all, name+"cpu-us/msg")
	}
	b.ReportMetric(0, "ns/op")
}

// taken is what a round took: the time from the first to the last of its messages,
// and of the whole process, the network and the phone included, from the login to
// the last acknowledgements.
type taken struct {
	time, cpu      time.Duration
	commits, pages uint64
	allocs         uint64
}

func (t *taken) add(o taken) {
	t.time += o.time
	t.cpu += o.cpu
	t.commits += o.commits
	t.pages += o.pages
	t.allocs += o.allocs
}

// meter starts counting; the returned function stops it.
func meter(st *store.Store) func(took time.Duration) taken {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, cpu := st.Stats(), cpuTime()
	return func(took time.Duration) taken {
		runtime.ReadMemStats(&after)
		s := st.Stats()
		return taken{took, cpuTime() - cpu, s.Commits - began.Commits, s.PagesMade - began.PagesMade, after.Mallocs - before.Mallocs}
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// stopwatch is the time from the first to the last of the round's messages.
type stopwatch struct {
	mu    sync.Mutex
	n     int
	first time.Time
	took  time.Duration
	done  chan struct{}
}

func newStopwatch() *stopwatch { return &stopwatch{done: make(chan struct{})} }

func (s *stopwatch) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n++; s.n == 1 {
		s.first = time.Now()
	}
	if s.n == backlog {
		s.took = time.Since(s.first)
		close(s.done)
	}
}

func (s *stopwatch) wait(b *testing.B) time.Duration {
	b.Helper()
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		b.Fatalf("%d of %d messages came", s.n, backlog)
	}
	return s.took
}

func openAll(b *testing.B, r *rig) (*store.Store, *device.Container) {
	b.Helper()
	st, err := store.Open(store.Options{Path: r.path, Buckets: slices.Concat(device.Buckets(), instance.Buckets(), webhooks.Buckets(), messages.Buckets())})
	if err != nil {
		b.Fatal(err)
	}
	devices, err := device.Open(st, nil)
	if err != nil {
		b.Fatal(err)
	}
	return st, devices
}

func receiveBare(b *testing.B, r *rig, dialer *http.Client) taken {
	b.Helper()
	st, devices := openAll(b, r)
	defer st.Close()
	saved, err := devices.Load(b.Context(), r.owner)
	if err != nil {
		b.Fatal(err)
	}
	cli := whatsmeow.NewClient(saved.Device, libraryLog{log: r.conn.log})
	cli.SynchronousAck, cli.EnableDecryptedEventBuffer = true, true
	cli.SetWebsocketHTTPClient(dialer)
	watch, done := newStopwatch(), meter(st)
	cli.AddEventHandlerWithSuccessStatus(func(evt any) bool {
		if _, ok := evt.(*events.Message); ok {
			watch.tick()
		}
		return true
	})
	if err := cli.Connect(); err != nil {
		b.Fatal(err)
	}
	defer cli.Disconnect()
	took := watch.wait(b)
	time.Sleep(200 * time.Millisecond) // the last acknowledgements
	return done(took)
}

func receiveOurs(b *testing.B, r *rig) taken {
	b.Helper()
	watch := newStopwatch()
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		if strings.HasPrefix(req.Header.Get("x-webhook-event"), "messages.upsert") {
			watch.tick()
		}
	}))
	defer hook.Close()
	st, devices := openAll(b, r)
	defer st.Close()
	queue := dispatch.NewQueue(dispatch.QueueConfig{Sender: dispatch.NewSender(dispatch.SenderConfig{}), Size: 2 * backlog, Logger: r.conn.log})
	defer func() { _ = queue.Close(context.Background()) }()
	archive, err := messages.Open(b.Context(), messages.Config{Store: st, Owner: instance.There, SaveMessages: true, SaveUpdates: true, SaveContacts: true})
	if err != nil {
		b.Fatal(err)
	}
	defer archive.Close()
	registry, err := instance.Open(b.Context(), instance.Config{
		Store: st, Messages: archive, Webhooks: webhooks.New(webhooks.Config{Store: st, GlobalURL: hook.URL}),
		Publish: func(n event.Notice) {
			if err := queue.Enqueue(n); err != nil {
				b.Error(err)
			}
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := registry.ByID(r.owner); err != nil {
		if _, err := registry.Create(b.Context(), instance.New{Name: "bench", Mint: func(string) (string, error) { return "t", nil }}); err != nil {
			b.Fatal(err)
		}
	}
	cfg := r.cfg
	cfg.Devices = devices
	conn, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	session, err := conn.Open(b.Context(), r.owner, func(ctx context.Context, f event.Fact) error { return registry.Report(ctx, r.owner, f) })
	if err != nil {
		b.Fatal(err)
	}
	done := meter(st)
	if err := session.Connect(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer session.Disconnect()
	took := watch.wait(b)
	time.Sleep(200 * time.Millisecond) // the last acknowledgements
	return done(took)
}
