package app

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"postern/event"
	"postern/instance"
)

// maxListed is how many instances have metrics of their own, the oldest first: each
// costs eight series.
const maxListed = 2000

// each collects the metrics of some instances alone.
type each struct {
	*metrics
	opens func(instance int64) bool
}

// Collect implements prometheus.Collector.
func (e each) Collect(out chan<- prometheus.Metric) { e.collectEach(collection{out}, e.opens) }

// collectEach collects the metrics of each instance that opens permits, of all when opens is nil,
// if metrics.per_instance is set. How many are left out is a figure of the program; to others it is
// reported only when some are. The label is name, for instance is what Prometheus itself calls whom it scrapes.
func (m *metrics) collectEach(c collection, opens func(instance int64) bool) {
	if !m.app.cfg.Metrics.PerInstance {
		return
	}
	all, now := slices.DeleteFunc(m.app.registry.List(), func(rec instance.Record) bool { return opens != nil && !opens(rec.ID) }), m.app.registry.Now()
	if unlisted := max(0, len(all)-maxListed); unlisted > 0 || opens == nil {
		c.gauge("postern_instance_unlisted", "Instances beyond the first 2 000, which have no metrics of their own.", float64(unlisted))
	}
	for _, rec := range all[:min(len(all), maxListed)] {
		up, until := 0.0, time.Time{}
		if rec.Status == event.Online {
			up = 1
		}
		if restriction, is := rec.Restriction(now); is {
			until = restriction.Until.Time
		}
		t := m.app.registry.Traffic(rec.ID)
		gauge := func(name, help string, v float64) { c.gauge(name, help, v, "name", rec.Name) }
		counter := func(name, help string, n uint64) { c.counter(name, help, float64(n), "name", rec.Name) }
		gauge("postern_instance_up", "1 while the instance is online at WhatsApp.", up)
		gauge("postern_instance_last_received_timestamp_seconds", "When the last message of another account came, in Unix seconds; 0 when none has since the start.", unixSeconds(t.LastReceived))
		gauge("postern_instance_last_sent_timestamp_seconds", "When WhatsApp took the last message, in Unix seconds; 0 when none since the start.", unixSeconds(t.LastSent))
		gauge("postern_instance_phone_seen_timestamp_seconds", "When the account's phone last gave a sign, to the hour, in Unix seconds; 0 when none is known.", unixSeconds(rec.PhoneSeenAt.Time))
		if lost, err := m.app.messages.Undelivered(rec.ID, m.app.cfg.WhatsApp.UndeliveredAfter); err == nil {
			gauge("postern_instance_undelivered_hour", "Messages to single people that fell due in the last hour (whatsapp.undelivered_after) and have no receipt.", float64(lost.Hour))
			gauge("postern_instance_undelivered_day", "Messages to single people that fell due in the last 24 hours and have no receipt.", float64(lost.Day))
			share := 0.0
			if lost.Share != nil {
				share = *lost.Share
			}
			gauge("postern_instance_undelivered_share", "The part of the messages that fell due in the last hour that has no receipt, 0 to 1; 0 when none fell due.", share)
		}
		gauge("postern_instance_restricted_until_timestamp_seconds", "Until when WhatsApp restricts the account, in Unix seconds; 0 when it does not.", unixSeconds(until))
		counter("postern_instance_received_total", "Messages of others that came.", t.Received)
		counter("postern_instance_sent_total", "Messages that WhatsApp took.", t.Sent)
		counter("postern_instance_undecryptable_total", "Messages that could not be decrypted, each time one came.", t.Undecryptable)
		counter("postern_instance_webhook_failures_total", "Attempts to deliver events to the instance's own webhook and endpoints that were not accepted.", t.WebhookFailures)
	}
}

// unixSeconds returns 0 for the zero time.
func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
