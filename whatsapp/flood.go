package whatsapp

import (
	"sync/atomic"
	"time"
)

// The library queues some thousand stanzas of a connection. Each one beyond that gets a
// goroutine that waits for room without limit, and their order is lost. A connection
// whose stanzas arrive faster than they are handled is therefore read more slowly: the
// others wait in the network.

// queueIsFull is what the library logs about a stanza, on the goroutine that reads.
const queueIsFull = "Handler queue is full, message ordering is no longer guaranteed"

// floodPause is how long the next stanza is held back: time for the one before it to
// begin to wait, so that they stay in order, and for others to be handled. It is short,
// because an answer that a handler waits for may be behind them.
const floodPause = 20 * time.Millisecond

// floodLogEvery is the least time between two log lines about floods.
const floodLogEvery = time.Minute

// flood slows down the reader of a session's connection. The zero value is ready to
// use.
type flood struct {
	full   atomic.Bool  // the last stanza found no room
	before atomic.Bool  // neither did the one before it
	paused atomic.Int64 // when the reader was last held back, since started
	logged atomic.Int64 // when it was last logged, since started; 0: never
}

// started is the origin of the times of floods, which setting the clock does not
// change.
var started = time.Now()

// noPlace records that a stanza found no room, and reports whether it is the first.
func (f *flood) noPlace() bool {
	f.full.Store(true)
	return !f.before.Swap(true)
}

// wait is called before a stanza is queued.
func (f *flood) wait() {
	if !f.full.Swap(false) {
		f.before.Store(false)
		return
	}
	f.paused.Store(int64(time.Since(started)))
	time.Sleep(floodPause)
}

// lately reports whether the reader was held back within that time: answers of WhatsApp
// may then be unread.
func (f *flood) lately(within time.Duration) bool {
	at := f.paused.Load()
	return at != 0 && time.Since(started)-time.Duration(at) < within
}

// mayLog reports whether a flood should be logged.
func (f *flood) mayLog() bool {
	at, now := f.logged.Load(), int64(time.Since(started))
	return (at == 0 || now-at > int64(floodLogEvery)) && f.logged.CompareAndSwap(at, max(now, 1))
}
