//go:build unix

package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postern/delivery"
	"postern/delivery/logbook"
	"postern/event"
	"postern/store"
)

// The figures of durable events and of the log, with a synced file.

// bench is a relay of durable events over real sockets.
type bench struct {
	s      *file
	ledger *delivery.Ledger
	log    *logbook.Log
	relay  *Relay
	to     []event.Destination
	lanes  map[delivery.Lane]event.Destination
}

func openBench(b *testing.B, urls []string, order event.Order) *bench {
	b.Helper()
	c := &bench{lanes: map[delivery.Lane]event.Destination{}}
	for i, url := range urls {
		to := event.Destination{
			Target: event.TargetEndpoint, Endpoint: fmt.Sprint("e", i), URL: url, WithID: true, Durable: true, Order: order, MaxAge: time.Hour,
		}
		c.to = append(c.to, to)
		c.lanes[endpointLane(1, to.Endpoint)] = to
	}
	var err error
	c.s = openBare(b, store.Options{Path: filepath.Join(b.TempDir(), "d.db")})
	resolve := func(is delivery.Lane) (event.Destination, delivery.Status) {
		to, known := c.lanes[is]
		if !known {
			return to, delivery.Gone
		}
		return to, delivery.Ready
	}
	if c.ledger, err = delivery.Open(c.s.Store, delivery.Config{Log: true, Outbox: c.s.Outbox, Resolve: resolve}); err != nil {
		b.Fatal(err)
	}
	c.log = logbook.New(c.ledger, logbook.Config{})
	c.relay = NewRelay(RelayConfig{
		Store: c.s.Store, Outbox: c.s.Outbox, Ledger: c.ledger, Resolve: resolve, Sender: NewSender(SenderConfig{Connections: 2 * mostSlow}),
	})
	return c
}

func (c *bench) start(b *testing.B) {
	b.Helper()
	if err := c.relay.Start(); err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(c.ledger.Start(b.Context()), c.log.Start(b.Context())); err != nil {
		b.Fatal(err)
	}
}

func (c *bench) stop(b *testing.B) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := c.relay.Stop(ctx); err != nil {
		b.Error(err)
	}
	if err := errors.Join(c.log.Stop(ctx), c.ledger.Stop(ctx)); err != nil {
		b.Error(err)
	}
	if err := c.s.Close(); err != nil {
		b.Error(err)
	}
}

// emit commits one event for all destinations.
func (c *bench) emit(b *testing.B, chat string, body []byte) { c.emitFor(b, 1, chat, body) }

// emitFor is emit for an instance.
func (c *bench) emitFor(b *testing.B, instance int64, chat string, body []byte) {
	err := c.s.Update(b.Context(), func(tx *store.Tx) error {
		e := delivery.Event{Kind: event.MessagesUpsert, Instance: instance, Name: "n", RequestID: "r", About: event.About{Chat: chat}, Body: body}
		_, err := c.ledger.Emit(tx, e, true, c.to)
		return err
	})
	if err != nil {
		b.Error(err)
	}
}

func (c *bench) waiting(b *testing.B) (n int) {
	all, err := c.relay.backlogs()
	if err != nil {
		b.Fatal(err)
	}
	for _, l := range all {
		n += l.Pending
	}
	return n
}

// BenchmarkDurable starts with committed events for ten destinations and ends when all
// are acknowledged in the file; it compares with a bare loop to the same ten. Live, 200
// chats commit one event at a time during the run, and their commits are part of the
// time.
func BenchmarkDurable(b *testing.B) {
	for _, order := range []event.Order{event.OrderNone, event.OrderChat} {
		for _, live := range []bool{false, true} {
			b.Run(fmt.Sprintf("order=%s/live=%t", order, live), func(b *testing.B) {
				var urls []string
				for range 10 {
					url, _ := sink(b)
					urls = append(urls, url)
				}
				var ours, reference costs
				for b.Loop() {
					ours.add(durably(b, urls, order, live))
					reference.add(bareTo(b, urls))
				}
				ours.report(b, reference)
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// costs is what a number of deliveries cost.
type costs struct {
	n   int
	cpu time.Duration // of all processors
	all time.Duration
}

func (c *costs) add(other costs) {
	c.n += other.n
	c.cpu += other.cpu
	c.all += other.all
}

func (c costs) report(b *testing.B, bare costs) {
	rate := func(c costs) float64 { return float64(c.n) / c.all.Seconds() }
	each := func(c costs) float64 { return c.cpu.Seconds() / float64(c.n) }
	b.ReportMetric(rate(c), "deliveries/s")
	b.ReportMetric(rate(c)/rate(bare), "x-bare")
	b.ReportMetric(each(bare)/each(c), "x-bare-cpu")
}

// median returns the median of each cost over rounds with the same number of deliveries.
func median(all []costs) (m costs) {
	m.n = all[0].n
	slices.SortFunc(all, func(a, b costs) int { return cmp.Compare(a.cpu, b.cpu) })
	m.cpu = all[len(all)/2].cpu
	slices.SortFunc(all, func(a, b costs) int { return cmp.Compare(a.all, b.all) })
	m.all = all[len(all)/2].all
	return m
}

// watch begins to measure n deliveries.
func watch(b *testing.B, n int) func() costs {
	begin, cpu := time.Now(), cpuTime(b)
	return func() costs { return costs{n, cpuTime(b) - cpu, time.Since(begin)} }
}

func durably(b *testing.B, urls []string, order event.Order, live bool) costs {
	b.Helper()
	c := openBench(b, urls, order)
	events := 2 * benchDeliveries / len(urls)
	offer := func() {
		const chats = 200
		var wg sync.WaitGroup
		for chat := range chats {
			wg.Go(func() {
				for range events / chats {
					c.emit(b, strconv.Itoa(chat), benchBody)
				}
			})
		}
		wg.Wait()
	}
	if !live {
		offer()
	}
	done := watch(b, events*len(urls))
	c.start(b)
	defer c.stop(b)
	if live {
		offer()
	}
	for c.waiting(b) > 0 {
		time.Sleep(5 * time.Millisecond)
	}
	return done()
}

// bareTo is bare to several receivers in turns.
func bareTo(b *testing.B, urls []string) costs {
	b.Helper()
	done := watch(b, 2*benchDeliveries)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchWorkers}}
	defer client.CloseIdleConnections()
	sender := &Sender{timeout: DefaultTimeout, wire: tripper(client.Do)}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range benchWorkers {
		wg.Go(func() {
			for n := next.Add(1); n <= 2*benchDeliveries; n = next.Add(1) {
				if o := sender.Post(b.Context(), urls[int(n)%len(urls)], http.Header{"Content-Type": {"application/json"}}, benchBody); !o.Delivered() {
					b.Error(o.Reason())
				}
			}
		})
	}
	wg.Wait()
	return done()
}

// BenchmarkDurableToReceipt commits 200 events a second, of 50 chats, and measures
// from the return of the commit to the receivers' handlers: with one destination,
// and with ten of which one never answers, as a ratio to nine alone.
func BenchmarkDurableToReceipt(b *testing.B) {
	for _, order := range []event.Order{event.OrderNone, event.OrderChat} {
		b.Run("one/order="+string(order), func(b *testing.B) {
			for b.Loop() {
				took := offerDurable(b, 1, 0, 200, order)
				b.ReportMetric(ms(percentileOf(took, 0.5)), "p50-ms")
				b.ReportMetric(ms(percentileOf(took, 0.99)), "p99-ms")
			}
			b.ReportMetric(0, "ns/op")
		})
		b.Run("dead-of-ten/order="+string(order), func(b *testing.B) {
			for b.Loop() {
				with := percentileOf(offerDurable(b, 10, 1, 20, order), 0.99)
				alone := percentileOf(offerDurable(b, 9, 0, 20, order), 0.99)
				b.ReportMetric(ms(with), "p99-ms")
				b.ReportMetric(float64(with)/float64(alone), "x-alone")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// offerDurable offers events at a rate to some receivers, the first of which may be dead,
// for two rounds of its timeouts.
func offerDurable(b *testing.B, receivers, dead, rate int, order event.Order) (took []time.Duration) {
	b.Helper()
	var mu sync.Mutex
	committed := make([]time.Time, int(deadFor.Seconds())*rate)
	arrived := make([][]time.Time, len(committed))
	life, end := context.WithCancel(context.Background())
	var urls []string
	for i := range receivers {
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			now := time.Now()
			if i < dead {
				<-life.Done()
				return
			}
			var n int
			_, _ = fmt.Fscan(r.Body, &n)
			mu.Lock()
			defer mu.Unlock()
			arrived[n] = append(arrived[n], now)
		}))
		defer srv.Close()
		urls = append(urls, srv.URL)
	}
	defer end()
	c := openBench(b, urls, order)
	c.start(b)
	defer c.stop(b)
	var wg sync.WaitGroup
	begin := time.Now()
	for n := range committed {
		time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / time.Duration(rate))))
		wg.Go(func() {
			c.emit(b, strconv.Itoa(n%50), strconv.AppendInt(nil, int64(n), 10))
			now := time.Now()
			mu.Lock()
			defer mu.Unlock()
			committed[n] = now
		})
	}
	wg.Wait()
	time.Sleep(time.Second)
	mu.Lock()
	defer mu.Unlock()
	for n, at := range committed {
		if len(arrived[n]) != receivers-dead {
			b.Fatalf("event %d arrived %d times", n, len(arrived[n]))
		}
		for _, arrival := range arrived[n] {
			took = append(took, max(0, arrival.Sub(at))) // the relay hears of a commit before its caller goes on
		}
	}
	return took
}

// BenchmarkQueueLogged is BenchmarkQueue with the log on, and its cost relative to the
// queue without a log. The three take turns.
func BenchmarkQueueLogged(b *testing.B) {
	url, count := sink(b)
	sender := NewSender(SenderConfig{Connections: benchWorkers})
	s, err := store.Open(store.Options{Path: filepath.Join(b.TempDir(), "l.db"), Buckets: delivery.Buckets()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ledger, err := delivery.Open(s, delivery.Config{Log: true})
	if err != nil {
		b.Fatal(err)
	}
	log := logbook.New(ledger, logbook.Config{})
	if err := log.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = log.Stop(context.Background()) }()
	queued := func(l *logbook.Log) costs {
		q := NewQueue(QueueConfig{Sender: sender, Workers: benchWorkers, Size: benchDeliveries, Log: l})
		count.Store(0)
		done := watch(b, benchDeliveries)
		for range benchDeliveries {
			n := event.Notice{
				Kind: event.MessagesUpsert, Body: benchBody, InstanceName: "n", InstanceID: 1, RequestID: "r",
				To: []event.Destination{{Target: event.TargetWebhook, URL: url}},
			}
			if err := q.Enqueue(n); err != nil {
				b.Fatal(err)
			}
		}
		if err := q.Close(b.Context()); err != nil || count.Load() != benchDeliveries {
			b.Fatal(err, count.Load())
		}
		took := done()
		if l != nil { // what is written behind costs, too
			if err := l.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			took.cpu = done().cpu
		}
		return took
	}
	var rounds [3][]costs // the medians count: others may work on the machine
	for b.Loop() {
		rounds[0] = append(rounds[0], queued(nil))
		rounds[1] = append(rounds[1], queued(log))
		rounds[2] = append(rounds[2], bareTo(b, []string{url}))
	}
	off, on := median(rounds[0]), median(rounds[1])
	on.report(b, median(rounds[2]))
	b.ReportMetric(off.all.Seconds()/on.all.Seconds(), "x-unlogged")
	b.ReportMetric(off.cpu.Seconds()/on.cpu.Seconds(), "x-unlogged-cpu")
	b.ReportMetric(float64(log.LogDropped()), "not-logged")
	b.ReportMetric(0, "ns/op")
}
