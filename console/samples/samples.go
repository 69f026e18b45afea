// Package samples keeps how the program stood in each minute of the last day, so that
// what led to a moment can be looked at without a store of metrics beside it.
//
// A sample has what happened in its minute, by the differences of counters that others
// keep, and how things stood at its end. A counter that begins anew at 0 counts from
// there. Minutes are those of the wall clock: one that was set back takes the samples
// with it that would now be in the future, one that was set on leaves a gap, as a
// machine that slept does. Nothing is written to the disk: a new start begins anew.
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
	// Interval is what a sample is about.
	Interval = time.Minute
	// Kept is how many samples there are besides the one of the running minute: a day.
	Kept = int(24 * time.Hour / Interval)

	// fresh is how old a reading may be for who asks: hostile askers cost one a second.
	fresh = time.Second
)

// Counts are how often things happened, since whatever moment.
type Counts struct {
	Sent       uint64 // messages that WhatsApp took
	Received   uint64 // messages of others
	Deliveries uint64 // attempts to deliver an event that a receiver accepted
	Failed     uint64 // attempts that none did
}

// Levels are how things stand.
type Levels struct {
	Instances     []int32       // by connection state, in an order that is always the same
	OldestPending time.Duration // age of the oldest event that waits to be delivered; 0 when none does
	FileBytes     int64         // of the data file
	MemoryBytes   int64         // that the program has of the system
}

// Reading is how the program stands at one moment.
type Reading struct {
	Counts // since the program started

	Levels
}

// Sample is one minute.
type Sample struct {
	At     time.Time // when the minute began, UTC
	Counts           // of this minute

	Levels // at its end, or now when it runs
}

// Recorder keeps the samples. Its methods may be called from any goroutine.
type Recorder struct {
	read func() Reading
	now  func() time.Time
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	rows    []Sample // the oldest first, at most Kept
	running Sample   // zero before the first reading
	counted Counts   // by the last reading
	seen    time.Time
}

// New returns a recorder that begins with Start. read is never called twice at once.
// now is the machine's clock; nil: the real one.
func New(read func() Reading, now func() time.Time) *Recorder {
	if now == nil {
		now = time.Now
	}
	return &Recorder{read: read, now: now, stop: func() {}, done: make(chan struct{})}
}

// Start has samples kept from now on.
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

// Stop ends what Start began.
func (r *Recorder) Stop(ctx context.Context) error {
	r.stop()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("samples: stop: %w", context.Cause(ctx))
	}
}

// Since returns the samples whose minute began at a time or later, the oldest first. The
// last is that of the running minute.
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

// Running is the sample of the running minute.
func (r *Recorder) Running() Sample {
	r.look(fresh)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// look takes a reading, unless the last one is younger than age.
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

// drop removes what would be in the future of a clock that was set back.
func (r *Recorder) drop(from time.Time) {
	for n := len(r.rows); n > 0 && !r.rows[n-1].At.Before(from); n = len(r.rows) {
		r.rows = r.rows[:n-1]
	}
}

// forget removes what is older than a day.
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

// since is what happened since an earlier count.
func (c Counts) since(before Counts) Counts {
	return Counts{
		more(c.Sent, before.Sent), more(c.Received, before.Received),
		more(c.Deliveries, before.Deliveries), more(c.Failed, before.Failed),
	}
}

func more(now, before uint64) uint64 {
	if now < before { // it began anew
		return now
	}
	return now - before
}
