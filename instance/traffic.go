package instance

import (
	"time"

	"postern/event"
	"postern/instance/traffic"
)

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
	all := e.traffic.Totals()
	f.Received += all.Received
	f.Sent += all.Sent
}

// Day returns the counts of the last 24 hours of an instance, zero if it does not exist.
func (r *Registry) Day(id int64) traffic.Day {
	e := r.entry(id)
	if e == nil {
		return traffic.Day{}
	}
	now := time.Now()
	d := e.traffic.Day(now)
	if d.Since = now.Add(-24 * time.Hour); r.started.After(d.Since) {
		d.Since = r.started
	}
	return d
}

// Traffic returns the counts of an instance, zero if it does not exist.
func (r *Registry) Traffic(id int64) traffic.Totals {
	e := r.entry(id)
	if e == nil {
		return traffic.Totals{}
	}
	return e.traffic.Totals()
}

// countReceived counts a received message, unless the account wrote it or an earlier copy
// was counted.
func (r *Registry) countReceived(id int64, f event.Fact, m *event.Message, known bool) {
	if e := r.entry(id); e != nil && f.Kind == event.MessagesUpsert && !m.KeyFromMe && !known {
		e.traffic.Received()
	}
}

func (r *Registry) countSent(id int64) {
	if e := r.entry(id); e != nil {
		e.traffic.Sent()
	}
}

// CountUndecryptable counts an undecryptable message.
func (r *Registry) CountUndecryptable(id int64) {
	if e := r.entry(id); e != nil {
		e.traffic.Undecryptable()
	}
}

// CountWebhookFailure counts a failed delivery attempt.
func (r *Registry) CountWebhookFailure(id int64) {
	if e := r.entry(id); e != nil {
		e.traffic.Failed()
	}
}
