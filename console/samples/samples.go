// Package samples keeps one sample of the program's metrics per minute for the last day, so
// that recent history is available without an external metrics store.
//
// A sample holds counter differences over its minute and gauge values at its end. A counter
// reset to 0 counts from there. Minutes follow the wall clock: setting it back drops the
// samples that are now in the future; setting it forward, or suspending the machine, leaves
// a gap. Samples are held in memory and lost on restart.
//
// A day of samples with 16 states each takes 300 KB.
package samples

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// Interval is the period of a sample.
	Interval = time.Minute
	// Kept is the maximum number of completed samples: one day.
	Kept = int(24 * time.Hour / Interval)

	// fresh is the maximum age of a reading for a caller; it limits readings to one a second.
	fresh = time.Second
)

// Counts holds counters.
type Counts struct {
	Sent       uint64 // messages accepted by WhatsApp
	Received   uint64 // messages from others
	Deliveries uint64 // accepted delivery attempts
	Failed     uint64 // failed delivery attempts
}

// Levels holds gauges.
type Levels struct {
	Instances     []int32       // by connection state, in a fixed order
	OldestPending time.Duration // age of the oldest pending event; 0 if there is none
	FileBytes     int64         // size of the data file
	MemoryBytes   int64         // obtained from the system
}

// Reading holds the metrics at one moment.
type Reading struct {
	Counts // since the program started

	Levels
}

// Sample holds the metrics of one minute.
type Sample struct {
	At     time.Time // start of the minute, UTC
	Counts           // of this minute

	Levels // at its end; current for the running minute
}

// Recorder keeps the samples. Its methods are safe for concurrent use.
type Recorder struct {
	read func() Reading
	now  func() time.Time
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	rows    []Sample // oldest first, at most Kept
	running Sample   // zero before the first reading
	counted Counts   // counters of the last reading
	seen    time.Time
}

// New returns a recorder; Start starts it. read is never called concurrently. now is the
// clock; nil means [time.Now].
func New(read func() Reading, now func() time.Time) *Recorder {
	if now == nil {
		now = time.Now
	}
	return &Recorder{read: read, now: now, stop: func() {}, done: make(chan struct{})}
}

// Start starts recording a sample every minute.
func (r *Recorder) Start() {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.look(0)
	go func() {
		defer close(r.done)
		for {
			now := r.now()
			timer := time.NewTimer(now.Truncate(Interval).Add(Interval).Sub(now))
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			r.look(0)
		}
	}()
}

// Stop stops the recording.
func (r *Recorder) Stop(ctx context.Context) error {
	r.stop()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("samples: stop: %w", context.Cause(ctx))
	}
}

// Since returns the samples whose minute began at or after at, oldest first. The last one
// is the running minute.
func (r *Recorder) Since(at time.Time) []Sample {
	r.look(fresh)
	r.mu.Lock()
	defer r.mu.Unlock()
	first, _ := slices.BinarySearchFunc(r.rows, at, func(s Sample, at time.Time) int { return s.At.Compare(at) })
	all := slices.Clone(r.rows[first:])
	if !r.running.At.Before(at) {
		all = append(all, r.running)
	}
	return all
}

// Running returns the sample of the running minute.
func (r *Recorder) Running() Sample {
	r.look(fresh)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// look takes a reading, unless the last one is less than age old.
func (r *Recorder) look(age time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if old := now.Sub(r.seen); old >= 0 && old < age {
		return
	}
	is := r.read()
	minute := now.UTC().Truncate(Interval)
	switch {
	case r.running.At.IsZero():
		r.counted, r.running.At = is.Counts, minute
	case minute.Before(r.running.At):
		r.drop(minute)
		r.running.At = minute
	}
	r.running.Counts = r.running.plus(is.since(r.counted))
	r.running.Levels = is.Levels
	r.counted, r.seen = is.Counts, now
	if minute.After(r.running.At) {
		r.rows = append(r.rows, r.running)
		r.running = Sample{At: minute, Levels: is.Levels}
		r.forget(minute)
	}
}

// drop removes the samples from a minute on, after the clock was set back.
func (r *Recorder) drop(from time.Time) {
	for n := len(r.rows); n > 0 && !r.rows[n-1].At.Before(from); n = len(r.rows) {
		r.rows = r.rows[:n-1]
	}
}

// forget removes samples older than a day.
func (r *Recorder) forget(minute time.Time) {
	old := 0
	for old < len(r.rows) && (len(r.rows)-old > Kept || minute.Sub(r.rows[old].At) > Interval*time.Duration(Kept)) {
		old++
	}
	r.rows = slices.Delete(r.rows, 0, old)
}

func (c Counts) plus(d Counts) Counts {
	return Counts{c.Sent + d.Sent, c.Received + d.Received, c.Deliveries + d.Deliveries, c.Failed + d.Failed}
}

// since returns the difference to an earlier count.
func (c Counts) since(before Counts) Counts {
	return Counts{
		more(c.Sent, before.Sent), more(c.Received, before.Received),
		more(c.Deliveries, before.Deliveries), more(c.Failed, before.Failed),
	}
}

func more(now, before uint64) uint64 {
	if now < before { // the counter was reset
		return now
	}
	return now - before
}
