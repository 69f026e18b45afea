package instance

import (
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
	}
}

func (r *Registry) countSent(id int64) {
	if e := r.entry(id); e != nil {
		count(&e.traffic.sent, &e.traffic.lastSent)
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
	}
}
