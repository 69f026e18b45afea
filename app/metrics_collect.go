package app

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"postern/batch"
	"postern/delivery"
	"postern/dispatch"
	"postern/event"
	"postern/httpapi/idempotency"
	"postern/media/kept"
	"postern/whatsapp"
)

// heldCounts are counts of temporary records in the file.
type heldCounts struct {
	at                time.Time
	uploads, keys     int
	uploadBytes       int64
	uploadsOK, keysOK bool
	files             map[kept.State]int
}

// countEvery is how long counts are cached: Prometheus scrapes more often than they
// are worth a pass over the file.
const countEvery = time.Minute

// Describe implements prometheus.Collector: what it collects is not known
// beforehand.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	c := collection{out}
	c.gauge("postern_build_info", "Always 1; the labels tell what runs.", 1, "version", version, "go_version", runtime.Version())
	m.collectCell(c)
	if !m.app.leads() {
		return // the parts do not run
	}
	m.collectStore(c)
	m.collectHeld(c)
	if b := m.app.backups; b != nil {
		last := 0.0
		if at := b.LastSuccess(); !at.IsZero() {
			last = float64(at.Unix())
		}
		c.gauge("postern_backup_last_success_timestamp_seconds", "Of when the newest backup in backup.dir is, in Unix seconds; 0 when there is none.", last)
	}
	m.collectDelivery(c)
	m.collectInstances(c)
	m.collectEach(c, nil)
	m.collectBatches(c)
	m.collectTroubles(c)
	m.collectClients(c)
}

func (m *metrics) collectStore(c collection) {
	s := m.app.store.Stats()
	c.counter("postern_store_commits_total", "Commits of the data file.", float64(s.Commits))
	c.counter("postern_store_updates_total", "Changes that the commits carried.", float64(s.Updates))
	c.counter("postern_store_pages_written_total", "Pages that the commits wrote.", float64(s.Pages))
	c.counter("postern_store_writes_total", "System calls that wrote them.", float64(s.Writes))
	c.counter("postern_store_writer_wakeups_total", "How often the writer of the data file was woken. It then commits until no change is waiting.", float64(s.Wakes))
	c.gauge("postern_store_page_bytes", "Size of a page of the data file.", float64(s.PageSize))
	c.counter("postern_store_write_seconds_total", "Time of all commits that was spent writing and in fsync.", s.WriteTime.Seconds())
	c.counter("postern_store_damaged_records_total", "How often a damaged record was met.", float64(s.Damaged))
	c.gauge("postern_store_damaged_records", "Records of the data file that cannot be read and are set aside.", float64(s.SetAside))
	c.gauge("postern_store_file_bytes", "Size of the data file.", float64(s.FileBytes))
	c.gauge("postern_store_file_free_bytes", "Space inside the data file that will be used again.", float64(s.FreePages*s.PageSize))
	c.gauge("postern_store_disk_free_bytes", "Space left on the disk of the data file.", float64(s.FreeBytes))
	pending, oldest, err := m.app.outbox.Backlog()
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

// held counts again once a minute.
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
	h.keys, err = idempotency.Count(m.app.store)
	h.keysOK = err == nil
	if h.files, err = m.app.kept.States(); err != nil {
		h.files = nil
	}
	m.counted = h
	return h
}

func (m *metrics) collectHeld(c collection) {
	h := m.held()
	if h.uploadsOK {
		c.gauge("postern_uploads", "Uploads that messages can point to, counted once a minute.", float64(h.uploads))
		c.gauge("postern_uploads_bytes", "Size of the files of these uploads, which lie at WhatsApp.", float64(h.uploadBytes))
	}
	for _, s := range kept.States() {
		if h.files != nil {
			c.gauge("postern_media_files", "Files of messages that are kept or were to be kept, by state, counted once a minute.", float64(h.files[s]), "state", string(s))
		}
	}
	bytes := int64(0)
	for _, n := range m.app.kept.Bytes() {
		bytes += n
	}
	c.gauge("postern_media_bytes", "Size of the kept files of messages.", float64(bytes))
	c.counter("postern_media_lost_total", "Kept files that were found missing or of another length.", float64(m.app.kept.Lost()))
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
	for loop, n := range map[string]uint64{"outbox": r.Wakes.Outbox, "events": r.Wakes.Events, "feeder": r.Wakes.Feeders, "settle": r.Wakes.Settles} {
		c.counter("postern_relay_wakeups_total", "How often a loop of the relay went on after it had waited: outbox and events follow what is committed, feeder hands it to the senders of a destination, settle stores outcomes.", float64(n), "loop", loop)
	}
	c.gauge("postern_outbox_breaker_open", "1 while the global webhook is held to be down.", open)
	m.collectDurable(c, r)
	clients, slow := m.app.hub.Stats()
	c.gauge("postern_websocket_clients", "Open WebSockets.", float64(clients))
	c.counter("postern_websocket_slow_total", "WebSockets that were closed because they did not keep up.", float64(slow))
}

// collectDurable collects the metrics of durable deliveries.
func (m *metrics) collectDurable(c collection, r dispatch.RelayStats) {
	c.gauge("postern_webhook_lanes", "Destinations of durable events that are at work.", float64(r.Lanes))
	c.gauge("postern_webhook_breakers_open", "Of these, those that are held to be down.", float64(r.LanesOpen))
	c.gauge("postern_webhook_durable_in_flight", "Deliveries of durable events under way.", float64(r.LanesInFlight))
	c.counter("postern_webhook_expired_total", "Durable deliveries that were given up because their time was over.", float64(r.Expired))
	const cancelled = "postern_webhook_cancelled_total"
	const why = "Deliveries of instance events that were cancelled, by reason: removed (their endpoint) or capacity (webhook.durable_max_bytes)."
	c.counter(cancelled, why, float64(r.Removed+m.app.queue.Stats().Removed), "reason", "removed")
	c.counter(cancelled, why, float64(m.app.ledger.Shed()), "reason", "capacity")
	c.counter("postern_webhook_log_dropped_total", "Deliveries that the log does not have because it could not follow.", float64(m.app.deliveries.LogDropped()))
	w, err := m.app.relay.Waiting()
	if err != nil {
		return
	}
	for _, flow := range []delivery.Flow{delivery.FlowInstance, delivery.FlowBatch} {
		c.gauge("postern_webhook_pending", "Durable deliveries, and repeated ones, that wait, by flow; batch events of the outbox aside.", float64(w[flow].Pending), "flow", string(flow))
		c.gauge("postern_webhook_pending_bytes", "Their bodies, each destination counted.", float64(w[flow].Bytes), "flow", string(flow))
		age := 0.0
		if at := w[flow].Oldest; !at.IsZero() {
			age = max(0, time.Since(at).Seconds())
		}
		c.gauge("postern_webhook_oldest_pending_age_seconds", "Age of the oldest of them that may be sent, 0 when there is none.", age, "flow", string(flow))
	}
}

func (m *metrics) collectInstances(c collection) {
	counts := map[event.State]int{}
	restricted, now := 0, m.app.registry.Now()
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
	c.gauge("postern_scheduled_sends", "Messages that are sent at a later time (options.sendAt) and have not ended.", float64(m.app.scheduled.Kept()))
	for rule, n := range m.app.registry.Ignored() {
		c.counter("postern_whatsapp_ignored_total", "Messages and other events of chats that an instance ignores, by the field of its settings that says so.", float64(n), "rule", rule)
	}
	version, source := m.app.versions.Current()
	c.gauge("postern_whatsapp_version_info", "Always 1; the labels tell which version of WhatsApp's client connections say they are of, and whether it is builtin, pinned, stored or fetched.", 1, "version", version, "source", string(source))
	s := m.app.whatsapp.Stats()
	c.counter("postern_whatsapp_handler_panics_total", "Events from WhatsApp over which the program stumbled.", float64(s.Panics))
	c.counter("postern_whatsapp_quiet_reconnects_total", "Connections that were reopened because WhatsApp delivered nothing any more.", float64(s.QuietReconnects))
	c.counter("postern_whatsapp_floods_total", "Times that a connection was read more slowly, since WhatsApp sent faster than could be handled.", float64(s.Floods))
	for _, chat := range []string{"person", "group", "status"} {
		c.counter("postern_whatsapp_stale_devices_total", "Messages that some devices of their recipients may not have got, since they had other devices than known.", float64(s.StaleDevices[chat]), "chat", chat)
	}
	const unreadable = "postern_whatsapp_undecryptable_total"
	const outcomes = "Messages that could not be decrypted: told, asked of the phone or, over the limit of an hour, not (limited), and copies of them that were told (recovered) or came once more (repeated)."
	for _, o := range []whatsapp.UnreadableOutcome{whatsapp.UnreadableTold, whatsapp.UnreadableAsked, whatsapp.UnreadableLimited} {
		c.counter(unreadable, outcomes, float64(s.Unreadable[o]), "outcome", string(o))
	}
	copies := m.app.messages.Copies()
	c.counter(unreadable, outcomes, float64(copies.Recovered), "outcome", "recovered")
	c.counter(unreadable, outcomes, float64(copies.Repeated), "outcome", "repeated")
	for _, r := range whatsapp.Recoveries() {
		c.counter("postern_whatsapp_appstate_recoveries_total", "Attempts to mend labels and chat settings of an account that did not verify, by step and outcome.",
			float64(s.Recoveries[r]), "step", string(r.Step), "outcome", string(r.Outcome))
	}
	for kind, n := range s.Unhandled {
		c.counter("postern_whatsapp_unknown_events_total", "Events from WhatsApp of a type that this version does not know.", float64(n), "type", kind)
	}
}

func (m *metrics) collectBatches(c collection) {
	counts, err := m.app.engine.States()
	if err != nil {
		return
	}
	for _, s := range batch.Unfinished() {
		c.gauge("postern_batches", "Unfinished batches by status.", float64(counts[s]), "status", string(s))
	}
}

func (m *metrics) collectClients(c collection) {
	l := m.app.clients.Stats()
	c.gauge("postern_connections", "Connections of clients of the API, WebSockets included, and requests that run beside another one on a connection of HTTP/2.", float64(l.Open))
	c.gauge("postern_connections_limit", "Connections of clients that the API takes, as the system's descriptors allow.", float64(m.app.clients.Total()))
	c.counter("postern_connections_refused_total", "Connections that were closed at once, and requests over HTTP/2 that were reset, for their address held as many as it may.", float64(l.Refused))
	c.counter("postern_connections_evicted_total", "Connections without a request that were closed to make room for another.", float64(l.Evicted))
	c.counter("postern_connections_waited_total", "Connections that had to wait, for all others had requests.", float64(l.Waited))
	wrong, limited := m.app.failures.Stats()
	const guessed = "postern_wrong_credentials_total"
	const what = "Requests with a wrong credential, by answer: refused (401), or limited (429) after too many of one address."
	c.counter(guessed, what, float64(wrong), "answer", "refused")
	c.counter(guessed, what, float64(limited), "answer", "limited")
}

// collectCell reports the node of a program with store.url.
func (m *metrics) collectCell(c collection) {
	if m.app.cell == nil {
		return
	}
	node := m.app.cell.node
	s := node.State()
	from, _ := node.Takeover()
	c.gauge("postern_cluster_owner", "1 if this node owns the cell and its lease is valid.", oneIf(node.Valid()))
	c.gauge("postern_cluster_epoch", "How often the cell was taken over, as this node knows it.", float64(s.Cell.Epoch))
	c.gauge("postern_cluster_lease_seconds", "What is left of the lease of this node; 0 on a standby.", node.LeaseLeft().Seconds())
	c.gauge("postern_cluster_behind_versions", "Changes that the file of a standby lacks.", float64(s.Behind))
	c.gauge("postern_cluster_behind_seconds", "How long the file of a standby has lacked changes.", node.Behind().Seconds())
	c.counter("postern_cluster_takeovers_total", "How often this process took the cell from another node.", oneIf(from != ""))
	c.gauge("postern_cluster_engine_up", "1 if the database answered the last call of this node.", oneIf(node.Answered()))
	c.gauge("postern_cluster_engine_synchronous", "1 if commits wait for a second copy; 0 also with store.accept_loss and none.", oneIf(node.SecondCopy()))
	for result, n := range m.app.cell.forwarded() {
		c.counter("postern_cluster_forwarded_total", "Requests that this node forwarded to the owner, by result: ok, lost (no answer) or refused (not sent).", float64(n), "result", result)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// collectTroubles counts the subjects of troubles for a scrape.
func (m *metrics) collectTroubles(c collection) {
	if m.app.troubles == nil {
		return
	}
	for kind, by := range m.app.troubles.Counts() {
		for severity, n := range by {
			c.gauge("postern_troubles", "What is wrong, by kind and severity: how many instances, receivers, batches or parts of the program.", float64(n), "kind", string(kind), "severity", string(severity))
		}
	}
}

// collection converts values to metrics. labels are pairs of name and value.
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
