package instance

import (
	"sync/atomic"
	"time"

	"postern/event"
)

// Traffic is what went through an instance since the program started.
type Traffic struct {
	Received        uint64 // messages of others, each once; those of ignored chats aside
	Sent            uint64 // messages that WhatsApp took
	Undecryptable   uint64 // messages that could not be read, each time one came
	WebhookFailures uint64 // attempts to deliver to its own webhook and endpoints
	LastReceived    time.Time
	LastSent        time.Time // both zero when there was none
}

// Flow is how many messages went through all instances since the program started,
// those that were deleted meanwhile included.
type Flow struct{ Received, Sent uint64 }

// Flow is that of now.
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

// trafficCounts counts it.
type trafficCounts struct {
	received, sent, undecryptable, failures atomic.Uint64
	lastReceived, lastSent                  atomic.Int64 // Unix nanoseconds
}

// count notes that something happened now.
func count(n *atomic.Uint64, last *atomic.Int64) {
	n.Add(1)
	last.Store(time.Now().UnixNano())
}

// Traffic is that of an instance, nothing when there is no such one.
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

// countReceived counts a message that was taken, unless the account wrote it itself or
// an earlier copy was counted.
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

// CountUndecryptable counts a message that could not be read.
func (r *Registry) CountUndecryptable(id int64) {
	if e := r.entry(id); e != nil {
		e.traffic.undecryptable.Add(1)
	}
}

// CountWebhookFailure counts an attempt to deliver that was not accepted.
func (r *Registry) CountWebhookFailure(id int64) {
	if e := r.entry(id); e != nil {
		e.traffic.failures.Add(1)
	}
}
