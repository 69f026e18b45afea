package app

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"postern/delivery"
	"postern/dispatch"
	"postern/event"
)

// metrics implements GET /metrics. Counters of the parts
// are read at a scrape; only durations are collected as they happen.
type metrics struct {
	app        *App
	registry   *prometheus.Registry
	deliveries *prometheus.HistogramVec
	attempts   *prometheus.CounterVec
	commits    prometheus.Histogram
	groups     prometheus.Histogram
	fetches    *prometheus.HistogramVec
	files      *prometheus.CounterVec

	mu      sync.Mutex
	counted heldCounts // what can only be counted by reading it
}

const outcomeAccepted = "accepted" // of an attempt to deliver

func newMetrics(a *App) *metrics {
	m := &metrics{
		app:      a,
		registry: prometheus.NewRegistry(),
		deliveries: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "postern_webhook_delivery_duration_seconds", Help: "Time of one webhook delivery, by flow and outcome: accepted, refused (not 2xx) or failed (no answer).",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
		}, []string{"flow", "outcome"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postern_webhook_attempts_total", Help: "Attempts to deliver an event, by flow, target (webhook, global or endpoint) and outcome as above.",
		}, []string{"flow", "target", "outcome"}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "postern_store_commit_duration_seconds", Help: "Time of one commit of the data file, its fsync included.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1},
		}),
		groups: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "postern_store_commit_group_size", Help: "Changes that shared one commit.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 1024},
		}),
		fetches: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "postern_media_fetch_duration_seconds", Help: "Time to fetch the file of a message from WhatsApp, by outcome: fetched, gone, invalid or failed.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"outcome"}),
		files: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postern_media_requests_total", Help: "Requests for files of messages that named one, by the status of the answer.",
		}, []string{"status"}),
	}
	for _, outcome := range []string{"fetched", "gone", "invalid", "failed"} {
		m.fetches.WithLabelValues(outcome)
	}
	m.files.WithLabelValues("200")
	m.registry.MustRegister(m.deliveries, m.attempts, m.commits, m.groups, m.fetches, m.files, m,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// handler answers a scrape. A partial answer is better than none.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// of returns the handler of the whole program's metrics or, unless opens is nil, of those of the
// instances that it reports.
func (m *metrics) of(opens func(instance int64) bool) http.Handler {
	if opens == nil {
		return m.handler()
	}
	some := prometheus.NewRegistry()
	some.MustRegister(each{m, opens})
	return promhttp.HandlerFor(some, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

func (m *metrics) committed(calls int, took time.Duration) {
	m.commits.Observe(took.Seconds())
	m.groups.Observe(float64(calls))
}

// fetched observes a fetch of a message's file.
func (m *metrics) fetched(took time.Duration, err error) {
	outcome := "failed"
	switch {
	case err == nil:
		outcome = "fetched"
	case errors.Is(err, event.ErrMediaGone):
		outcome = "gone"
	case errors.Is(err, event.ErrMedia):
		outcome = "invalid"
	}
	m.fetches.WithLabelValues(outcome).Observe(took.Seconds())
}

// served counts an answer to a request for a message's file.
func (m *metrics) served(status int) { m.files.WithLabelValues(strconv.Itoa(status)).Inc() }

// attempted counts an attempt to deliver, and for the instance one that its webhook or an
// endpoint did not accept.
func (m *metrics) attempted(to delivery.Lane, o dispatch.Outcome) {
	outcome := "refused"
	switch {
	case o.Delivered():
		outcome = outcomeAccepted
	case o.Err != nil:
		outcome = "failed"
	}
	m.deliveries.WithLabelValues(string(to.Flow), outcome).Observe(o.Duration.Seconds())
	m.attempts.WithLabelValues(string(to.Flow), string(to.Target), outcome).Inc()
	if to.Target != event.TargetGlobal && !o.Delivered() {
		m.app.registry.CountWebhookFailure(to.Instance)
	}
}

// outcomes counts the accepted and the failed delivery attempts.
func (m *metrics) outcomes() (accepted, failed uint64) {
	found := make(chan prometheus.Metric)
	go func() {
		defer close(found)
		m.attempts.Collect(found)
	}()
	for one := range found {
		var is dto.Metric
		if one.Write(&is) != nil {
			continue
		}
		n := uint64(is.GetCounter().GetValue())
		for _, label := range is.GetLabel() {
			switch {
			case label.GetName() != "outcome":
			case label.GetValue() == outcomeAccepted:
				accepted += n
			default:
				failed += n
			}
		}
	}
	return accepted, failed
}

// observeCell adds the histogram of what the database takes for a commit, and returns what
// fills it.
func (m *metrics) observeCell() func(time.Duration) {
	commits := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "postern_cluster_commit_seconds", Help: "Time that the database took for a commit of the cell.",
		Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5},
	})
	m.registry.MustRegister(commits)
	return func(took time.Duration) { commits.Observe(took.Seconds()) }
}
