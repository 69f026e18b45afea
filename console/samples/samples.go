package samples

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"postern/store"
)

// The periods of a sample.
const (
	Minute = time.Minute
	Hour   = time.Hour
)

const (
	// keptMinutes and keptHours are the maximum numbers of completed samples: a day and 30 days.
	keptMinutes = int(24 * time.Hour / Minute)
	keptHours   = int(30 * 24 * time.Hour / Hour)

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
	Instances     []int32       // by connection state, in an order that only grows at its end
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
	cfg  Config
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	minutes series
	hours   series
	running Sample // of the minute; zero before the first reading
	counted Counts // counters of the last reading
	seen    time.Time
	failing bool // the last commit of samples failed
	apart   bool // the file may have samples that memory lacks, since the clock was behind
}

// series are the completed samples of a period, oldest first.
type series struct {
	bucket string
	period time.Duration
	kept   int // at most
	rows   []Sample
	saved  time.Time // those that began until then are in the file
}

// Config configures a Recorder.
type Config struct {
	// Read returns the current counters and gauges. It is called at most once a second.
	Read func() Reading
	// Now is the clock; nil: the system's.
	Now func() time.Time
	// Store keeps the samples; nil: they end with the process.
	Store  *store.Store
	Logger *slog.Logger
}

// Open returns a Recorder with the samples that the file has. It records once started, and for each
// caller of Since or Running.
func Open(cfg Config) (*Recorder, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	r := &Recorder{
		cfg: cfg, stop: func() {}, done: make(chan struct{}),
		minutes: series{bucket: minutes, period: Minute, kept: keptMinutes}, hours: series{bucket: hours, period: Hour, kept: keptHours},
	}
	if cfg.Store == nil {
		return r, nil
	}
	if err := r.load(); err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	return r, nil
}

// Start records each minute until Stop.
func (r *Recorder) Start() {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.look(0)
	go func() {
		defer close(r.done)
		for {
			now := r.cfg.Now()
			timer := time.NewTimer(now.Truncate(Minute).Add(Minute).Sub(now))
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			r.look(0)
			r.save(ctx, false)
		}
	}()
}

// Stop ends the recording and writes the running minute, which the next start continues if it begins in it.
func (r *Recorder) Stop(ctx context.Context) error {
	r.stop()
	select {
	case <-r.done:
	case <-ctx.Done():
		return fmt.Errorf("samples: stop: %w", context.Cause(ctx))
	}
	r.look(0)
	r.save(ctx, true)
	return nil
}

// Since returns the samples of a period that began at or after a time, oldest first, the last one being that of
// the running minute or hour. The period is Minute or Hour.
func (r *Recorder) Since(period time.Duration, at time.Time) []Sample {
	r.look(fresh)
	r.mu.Lock()
	defer r.mu.Unlock()
	of, running := &r.minutes, r.running
	if period == Hour {
		of, running = &r.hours, r.minutes.sum(hourOf(r.running), r.running)
	}
	first, _ := slices.BinarySearchFunc(of.rows, at, func(s Sample, at time.Time) int { return s.At.Compare(at) })
	all := slices.Clone(of.rows[first:])
	if !running.At.Before(at) {
		all = append(all, running)
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

// look takes a reading if the last one is older than age, and completes the minute and the hour that have ended.
func (r *Recorder) look(age time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.cfg.Now()
	if old := now.Sub(r.seen); old >= 0 && old < age {
		return
	}
	is := r.cfg.Read()
	minute := now.UTC().Truncate(Minute)
	switch {
	case r.running.At.IsZero():
		r.counted, r.running = is.Counts, r.minutes.take(minute)
	case minute.Before(r.running.At):
		r.minutes.drop(minute)
		r.hours.drop(minute.Truncate(Hour))
		r.running.At, r.apart = minute, true
	}
	r.running.Counts = r.running.plus(is.since(r.counted))
	r.running.Levels = is.Levels
	r.counted, r.seen = is.Counts, now
	if minute.After(r.running.At) {
		r.minutes.rows = append(r.minutes.rows, r.running)
		r.running = Sample{At: minute, Levels: is.Levels}
		r.rejoin(minute)
		r.closeHours(minute)
		r.minutes.forget(minute)
		r.hours.forget(minute)
	}
}

// closeHours makes the samples of the hours that ended before a minute and have none.
func (r *Recorder) closeHours(minute time.Time) {
	var last time.Time
	if n := len(r.hours.rows); n > 0 {
		last = r.hours.rows[n-1].At
	}
	for _, m := range r.minutes.rows {
		hour := hourOf(m)
		if hour.After(last) && hour.Before(minute.Truncate(Hour)) {
			r.hours.rows = append(r.hours.rows, r.minutes.sum(hour, Sample{}))
			last = hour
		}
	}
}

func hourOf(s Sample) time.Time { return s.At.Truncate(Hour) }

// sum adds up the minutes of an hour and, if it is not zero, the running one.
func (s *series) sum(hour time.Time, running Sample) Sample {
	all := Sample{At: hour}
	first, _ := slices.BinarySearchFunc(s.rows, hour, func(s Sample, at time.Time) int { return s.At.Compare(at) })
	for _, m := range s.rows[first:] {
		if hourOf(m).Equal(hour) {
			all.Counts, all.Levels = all.plus(m.Counts), m.Levels
		}
	}
	if !running.At.IsZero() {
		all.Counts, all.Levels = all.plus(running.Counts), running.Levels
	}
	return all
}

// take returns the sample that began at a time, which is not complete any more: an empty one if there is none.
func (s *series) take(at time.Time) Sample {
	if n := len(s.rows); n > 0 && s.rows[n-1].At.Equal(at) {
		last := s.rows[n-1]
		s.drop(at)
		return last
	}
	return Sample{At: at}
}

// drop removes the samples that began at or after a time.
func (s *series) drop(from time.Time) {
	for n := len(s.rows); n > 0 && !s.rows[n-1].At.Before(from); n = len(s.rows) {
		s.rows = s.rows[:n-1]
	}
	if !s.saved.Before(from) {
		s.saved = from.Add(-1)
	}
}

// forget removes the samples that are too old or too many.
func (s *series) forget(now time.Time) {
	old := 0
	for old < len(s.rows) && (len(s.rows)-old > s.kept || s.rows[old].At.Before(s.oldest(now))) {
		old++
	}
	s.rows = slices.Delete(s.rows, 0, old)
}

// oldest returns when the oldest sample that is kept began, at most.
func (s *series) oldest(now time.Time) time.Time {
	return now.Add(-s.period * time.Duration(s.kept))
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
