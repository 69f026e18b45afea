// Package traffic counts, in memory, what goes through an instance.
package traffic

import (
	"sync"
	"sync/atomic"
	"time"
)

// Totals are the counts of an instance since the program started.
type Totals struct {
	Received        uint64 // messages from others, each once; without ignored chats
	Sent            uint64 // messages that WhatsApp accepted
	Undecryptable   uint64 // undecryptable messages, each time one arrived
	WebhookFailures uint64 // failed delivery attempts to its own webhook and endpoints
	LastReceived    time.Time
	LastSent        time.Time // both zero if there was none
}

// Counts counts the traffic of one instance. It is safe for concurrent use.
type Counts struct {
	received, sent, undecryptable, failures atomic.Uint64
	lastReceived, lastSent                  atomic.Int64 // Unix nanoseconds
	day                                     dayCounts
}

// Received counts a message from others.
func (c *Counts) Received() {
	count(&c.received, &c.lastReceived)
	c.day.add(time.Now(), 1, 0, 0)
}

// Sent counts a message that WhatsApp accepted.
func (c *Counts) Sent() {
	count(&c.sent, &c.lastSent)
	c.day.add(time.Now(), 0, 1, 0)
}

// Undecryptable counts an undecryptable message.
func (c *Counts) Undecryptable() { c.undecryptable.Add(1) }

// Failed counts a failed delivery attempt.
func (c *Counts) Failed() {
	c.failures.Add(1)
	c.day.add(time.Now(), 0, 0, 1)
}

// Totals returns the current counts.
func (c *Counts) Totals() Totals {
	return Totals{
		Received: c.received.Load(), Sent: c.sent.Load(), Undecryptable: c.undecryptable.Load(), WebhookFailures: c.failures.Load(),
		LastReceived: timeOf(&c.lastReceived), LastSent: timeOf(&c.lastSent),
	}
}

// Day returns the counts of the last 24 hours.
func (c *Counts) Day(now time.Time) Day { return c.day.sum(now) }

// count increments a counter and sets its time.
func count(n *atomic.Uint64, last *atomic.Int64) {
	n.Add(1)
	last.Store(time.Now().UnixNano())
}

func timeOf(last *atomic.Int64) time.Time {
	if ns := last.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
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
