package whatsapp

import (
	"sync/atomic"
	"time"
)

// The library keeps some thousand stanzas of a connection that wait for their
// turn. Each one that finds no place gets a goroutine that waits for one, without
// an end, and their order is lost. So a connection whose stanzas come faster than
// they are handled is read more slowly: the network waits with the rest.

// queueIsFull is what the library says, of a stanza, on the goroutine that reads.
const queueIsFull = "Handler queue is full, message ordering is no longer guaranteed"

// floodPause is how long the next stanza is held then: time for the one before it
// to begin its wait, so that they keep their order, and for others to be handled.
// It is short, since somewhere behind them may be an answer that what is being
// handled waits for.
const floodPause = 20 * time.Millisecond

// floodTold is how often the log tells of it at most.
const floodTold = time.Minute

// flood holds back the reader of a session's connection. The zero value is ready.
type flood struct {
	full   atomic.Bool  // the last stanza found no place
	before atomic.Bool  // nor did the one before it
	paused atomic.Int64 // when the reader was held back last, since started
	told   atomic.Int64 // when the log told of it, since started; 0: never
}

// started is what the times of floods count from, on a clock that nobody sets.
var started = time.Now()

// noPlace notes that a stanza found no place, and tells whether it is the first.
func (f *flood) noPlace() bool {
	f.full.Store(true)
	return !f.before.Swap(true)
}

// wait is called before a stanza is given its place.
func (f *flood) wait() {
	if !f.full.Swap(false) {
		f.before.Store(false)
		return
	}
	f.paused.Store(int64(time.Since(started)))
	time.Sleep(floodPause)
}

// lately reports whether the reader was held back within that time: answers of
// WhatsApp may lie behind what is not read yet.
func (f *flood) lately(within time.Duration) bool {
	at := f.paused.Load()
	return at != 0 && time.Since(started)-time.Duration(at) < within
}

// tells reports whether it is time to tell of a flood.
func (f *flood) tells() bool {
	at, now := f.told.Load(), int64(time.Since(started))
	return (at == 0 || now-at > int64(floodTold)) && f.told.CompareAndSwap(at, max(now, 1))
}
