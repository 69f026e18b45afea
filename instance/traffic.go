package instance

import (
	"sync"
	"sync/atomic"
	"time"

	"postern/event"
)

// Traffic counts the traffic of an instance since the program started.
type Traffic struct {
	Received        uint64 // messages from others, each once; without ignored chats
	Sent            uint64 // messages that WhatsApp accepted
	Undecryptable   uint64 // undecryptable messages, each time one arrived
	WebhookFailures uint64 // failed delivery attempts to its own webhook and endpoints
	LastReceived    time.Time
	LastSent        time.Time // both zero if there was none
}

// Flow counts the messages of all instances since the program started, including deleted
// instances.
type Flow struct{ Received, Sent uint64 }

// Flow returns the current counts.
func (r *Registry) Flow() Flow {
	r.mu.RLock()
	defer r.mu.RUnlock()
	f := r.departed
	for _, e := range r.byID {
		f.add(e)
	}
	return f
}

func (f *Flow) add(e *entry) {
	f.Received += e.traffic.received.Load()
	f.Sent += e.traffic.sent.Load()
}

// trafficCounts are the counters of Traffic.
type trafficCounts struct {
	received, sent, undecryptable, failures atomic.Uint64
	lastReceived, lastSent                  atomic.Int64 // Unix nanoseconds
	day                                     dayCounts
}

// Day counts what happened to an instance in the last 24 hours, by the hour, or since the program started.
type Day struct {
	Since                  time.Time
	Received, Sent, Failed int // messages of others, own messages, delivery attempts
}

// dayCounts has the counts of the last hours. It takes 304 bytes.
type dayCounts struct {
	mu    sync.Mutex
	hour  int64 // the newest, in hours since 1970
	hours [24]struct{ received, sent, failed uint32 }
}

// add counts in the hour of a time. Hours that passed meanwhile begin at zero, as do all when the clock was set back.
func (d *dayCounts) add(now time.Time, received, sent, failed uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn(now)
	at := &d.hours[d.hour%int64(len(d.hours))]
	at.received, at.sent, at.failed = at.received+received, at.sent+sent, at.failed+failed
}

func (d *dayCounts) turn(now time.Time) {
	hour, all := now.Unix()/3600, int64(len(d.hours))
	if hour < d.hour || hour-d.hour >= all {
		clear(d.hours[:])
		d.hour = hour
	}
	for ; d.hour < hour; d.hour++ {
		d.hours[(d.hour+1)%all] = struct{ received, sent, failed uint32 }{}
	}
}

func (d *dayCounts) sum(now time.Time) (all Day) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn(now)
	for _, h := range d.hours {
		all.Received, all.Sent, all.Failed = all.Received+int(h.received), all.Sent+int(h.sent), all.Failed+int(h.failed)
	}
	return all
}

// Day returns the counts of the last 24 hours of an instance, zero if it does not exist.
func (r *Registry) Day(id int64) Day {
	e := r.entry(id)
	if e == nil {
		return Day{}
	}
	now := time.Now()
	d := e.traffic.day.sum(now)
	if d.Since = now.Add(-24 * time.Hour); r.started.After(d.Since) {
		d.Since = r.started
	}
	return d
}

// count increments a counter and sets its time.
func count(n *atomic.Uint64, last *atomic.Int64) {
	n.Add(1)
	last.Store(time.Now().UnixNano())
}

// Traffic returns the counts of an instance, zero if it does not exist.
func (r *Registry) Traffic(id int64) Traffic {
	e := r.entry(id)
	if e == nil {
		return Traffic{}
	}
	t := &e.traffic
	return Traffic{
		Received: t.received.Load(), Sent: t.sent.Load(), Undecryptable: t.undecryptable.Load(), WebhookFailures: t.failures.Load(),
		LastReceived: timeOf(&t.lastReceived), LastSent: timeOf(&t.lastSent),
	}
}

func timeOf(last *atomic.Int64) time.Time {
	if ns := last.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// countReceived counts a received message, unless the account wrote it or an earlier copy
// was counted.
func (r *Registry) countReceived(id int64, f event.Fact, m *event.Message, known bool) {
	if e := r.entry(id); e != nil && f.Kind == event.MessagesUpsert && !m.KeyFromMe && !known {
		count(&e.traffic.received, &e.traffic.lastReceived)
		e.traffic.day.add(time.Now(), 1, 0, 0)
	}
}

func (r *Registry) countSent(id int64) {
	if e := r.entry(id); e != nil {
		count(&e.traffic.sent, &e.traffic.lastSent)
		e.traffic.day.add(time.Now(), 0, 1, 0)
	}
}

// CountUndecryptable counts an undecryptable message.
func (r *Registry) CountUndecryptable(id int64) {
	if e := r.entry(id); e != nil {
		e.traffic.undecryptable.Add(1)
	}
}

// CountWebhookFailure counts a failed delivery attempt.
func (r *Registry) CountWebhookFailure(id int64) {
	if e := r.entry(id); e != nil {
		e.traffic.failures.Add(1)
		e.traffic.day.add(time.Now(), 0, 0, 1)
	}
}
