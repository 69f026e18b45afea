package main

import (
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"postern/dispatch"
	"postern/event"
	"postern/httpapi"
)

// metrics is what GET /metrics tells. Counters that the parts keep themselves
// are read when somebody asks; only durations are collected as they happen.
type metrics struct {
	app        *app
	registry   *prometheus.Registry
	deliveries *prometheus.HistogramVec
	commits    prometheus.Histogram
	groups     prometheus.Histogram

	mu      sync.Mutex
	counted heldCounts // what can only be counted by reading it
}

// heldCounts are counts of what the file keeps for a while.
type heldCounts struct {
	at                time.Time
	uploads, keys     int
	uploadBytes       int64
	uploadsOK, keysOK bool
}

// countEvery is how long counts are kept: Prometheus asks more often than they
// are worth reading through the file.
const countEvery = time.Minute

// Flows of deliveries, a label of their durations.
const (
	flowInstance = "instance"
	flowBatch    = "batch"
)

func newMetrics(a *app) *metrics {
	m := &metrics{
		app:      a,
		registry: prometheus.NewRegistry(),
		deliveries: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "postern_webhook_delivery_duration_seconds", Help: "Time of one webhook delivery, by flow and outcome: accepted, refused (not 2xx) or failed (no answer).",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
		}, []string{"flow", "outcome"}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "postern_store_commit_duration_seconds", Help: "Time of one commit of the data file, its fsync included.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1},
		}),
		groups: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "postern_store_commit_group_size", Help: "Changes that shared one commit.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 1024},
		}),
	}
	m.registry.MustRegister(m.deliveries, m.commits, m.groups, m,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// handler answers a scrape. Part of it missing is better than all of it.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

func (m *metrics) committed(calls int, took time.Duration) {
	m.commits.Observe(took.Seconds())
	m.groups.Observe(float64(calls))
}

// delivered returns the observer of a flow's deliveries.
func (m *metrics) delivered(flow string) func(dispatch.Outcome) {
	accepted := m.deliveries.WithLabelValues(flow, "accepted")
	refused := m.deliveries.WithLabelValues(flow, "refused")
	failed := m.deliveries.WithLabelValues(flow, "failed")
	return func(o dispatch.Outcome) {
		to := refused
		switch {
		case o.Delivered():
			to = accepted
		case o.Err != nil:
			to = failed
		}
		to.Observe(o.Duration.Seconds())
	}
}

// Describe implements prometheus.Collector: what it collects is not known
// beforehand.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	c := collection{out}
	c.gauge("postern_build_info", "Always 1; the labels tell what runs.", 1, "version", version, "go_version", runtime.Version())
	m.collectStore(c)
	m.collectHeld(c)
	m.collectDelivery(c)
	m.collectInstances(c)
	m.collectBatches(c)
	m.collectClients(c)
}

func (m *metrics) collectStore(c collection) {
	s := m.app.store.Stats()
	c.counter("postern_store_commits_total", "Commits of the data file.", float64(s.Commits))
	c.counter("postern_store_updates_total", "Changes that the commits carried.", float64(s.Updates))
	c.counter("postern_store_write_seconds_total", "Time of all commits that was spent writing and in fsync.", s.WriteTime.Seconds())
	c.counter("postern_store_damaged_records_total", "How often a damaged record was met.", float64(s.Damaged))
	c.gauge("postern_store_damaged_records", "Records of the data file that cannot be read and are set aside.", float64(s.SetAside))
	c.gauge("postern_store_file_bytes", "Size of the data file.", float64(s.FileBytes))
	c.gauge("postern_store_file_free_bytes", "Space inside the data file that will be used again.", float64(s.FreePages*s.PageSize))
	c.gauge("postern_store_disk_free_bytes", "Space left on the disk of the data file.", float64(s.FreeBytes))
	pending, oldest, err := m.app.store.Backlog()
	if err != nil {
		return
	}
	age := 0.0
	if !oldest.IsZero() {
		age = max(0, time.Since(oldest).Seconds())
	}
	c.gauge("postern_outbox_pending", "Batch events that are still to be delivered.", float64(pending))
	c.gauge("postern_outbox_oldest_age_seconds", "Age of the oldest batch event that is still to be delivered, 0 when there is none.", age)
}

// held counts anew once a minute.
func (m *metrics) held() heldCounts {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.counted.at) < countEvery {
		return m.counted
	}
	h := heldCounts{at: time.Now()}
	var err error
	h.uploads, h.uploadBytes, err = m.app.media.Held()
	h.uploadsOK = err == nil
	h.keys, err = httpapi.HeldKeys(m.app.store)
	h.keysOK = err == nil
	m.counted = h
	return h
}

func (m *metrics) collectHeld(c collection) {
	h := m.held()
	if h.uploadsOK {
		c.gauge("postern_uploads", "Uploads that messages can point to, counted once a minute.", float64(h.uploads))
		c.gauge("postern_uploads_bytes", "Size of the files of these uploads, which lie at WhatsApp.", float64(h.uploadBytes))
	}
	if h.keysOK {
		c.gauge("postern_idempotency_keys", "Idempotency-Keys that are kept, counted once a minute.", float64(h.keys))
	}
}

func (m *metrics) collectDelivery(c collection) {
	q := m.app.queue.Stats()
	c.gauge("postern_webhook_queue_waiting", "Deliveries of instance events that wait for a worker.", float64(q.Waiting))
	c.gauge("postern_webhook_queue_in_flight", "Deliveries of instance events under way.", float64(q.InFlight))
	const dropped = "postern_webhook_dropped_total"
	const why = "Deliveries of instance events that were dropped, by reason."
	c.counter(dropped, why, float64(q.Full), "reason", "queue_full")
	c.counter(dropped, why, float64(q.Closed), "reason", "stopping")
	r := m.app.relay.Stats()
	open := 0.0
	if r.Open {
		open = 1
	}
	c.gauge("postern_outbox_in_flight", "Deliveries of batch events under way.", float64(r.InFlight))
	c.gauge("postern_outbox_breaker_open", "1 while the global webhook is held to be down.", open)
	clients, slow := m.app.hub.Stats()
	c.gauge("postern_websocket_clients", "Open WebSockets.", float64(clients))
	c.counter("postern_websocket_slow_total", "WebSockets that were closed because they did not keep up.", float64(slow))
}

func (m *metrics) collectInstances(c collection) {
	counts := map[event.State]int{}
	restricted, now := 0, time.Now()
	for _, rec := range m.app.registry.List() {
		counts[rec.Status]++
		if _, is := rec.Restriction(now); is {
			restricted++
		}
	}
	for _, s := range event.States() {
		c.gauge("postern_instances", "Instances by connection state.", float64(counts[s]), "state", string(s))
	}
	c.gauge("postern_instances_restricted", "Instances whose account WhatsApp restricts now, so that batches leave them out.", float64(restricted))
	c.gauge("postern_asynchronous_sends", "Asynchronous sends that were accepted and have not ended.", float64(m.app.processor.Kept()))
	s := m.app.whatsapp.Stats()
	c.counter("postern_whatsapp_handler_panics_total", "Events from WhatsApp over which the program stumbled.", float64(s.Panics))
	for kind, n := range s.Unhandled {
		c.counter("postern_whatsapp_unknown_events_total", "Events from WhatsApp of a type that this version does not know.", float64(n), "type", kind)
	}
}

func (m *metrics) collectBatches(c collection) {
	counts, err := m.app.engine.States()
	if err != nil {
		return
	}
	for s, n := range counts {
		c.gauge("postern_batches", "Unfinished batches by status.", float64(n), "status", string(s))
	}
}

func (m *metrics) collectClients(c collection) {
	l := m.app.clients.Stats()
	c.gauge("postern_connections", "Connections of clients of the API, WebSockets included.", float64(l.Open))
	c.gauge("postern_connections_limit", "Connections of clients that the API takes, as the system's descriptors allow.", float64(m.app.clients.Total()))
	c.counter("postern_connections_refused_total", "Connections that were closed at once, for their address held as many as it may.", float64(l.Refused))
	c.counter("postern_connections_evicted_total", "Connections without a request that were closed to make room for another.", float64(l.Evicted))
	c.counter("postern_connections_waited_total", "Connections that had to wait, for all others had requests.", float64(l.Waited))
	wrong, limited := m.app.failures.Stats()
	const guessed = "postern_wrong_credentials_total"
	const what = "Requests with a wrong credential, by answer: refused (401), or limited (429) after too many of one address."
	c.counter(guessed, what, float64(wrong), "answer", "refused")
	c.counter(guessed, what, float64(limited), "answer", "limited")
}

// collection makes metrics of values. labels are pairs of name and value.
type collection struct{ out chan<- prometheus.Metric }

func (c collection) gauge(name, help string, v float64, labels ...string) {
	c.add(prometheus.GaugeValue, name, help, v, labels)
}

func (c collection) counter(name, help string, v float64, labels ...string) {
	c.add(prometheus.CounterValue, name, help, v, labels)
}

func (c collection) add(kind prometheus.ValueType, name, help string, v float64, labels []string) {
	var names, values []string
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	c.out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, v, values...)
}
