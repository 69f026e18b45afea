package samples

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/store"
)

// world is a recorder with a controlled clock and controlled counters.
type world struct {
	*Recorder
	at    time.Time
	is    Reading
	store *store.Store
	path  string
}

func newWorld() *world {
	w := &world{at: time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)}
	w.open()
	return w
}

// open begins a run of the program.
func (w *world) open() {
	var err error
	if w.Recorder, err = Open(Config{Read: func() Reading { return w.is }, Now: func() time.Time { return w.at }, Store: w.store}); err != nil {
		panic(err)
	}
	w.look(0)
}

// passes advances the clock by d and counts sent messages.
func (w *world) passes(d time.Duration, sent uint64) {
	w.is.Sent += sent
	w.at = w.at.Add(d)
	w.look(0)
}

// sent returns the minutes and the messages sent in each.
func (w *world) sent() (minutes []string, sent []uint64) {
	for _, s := range w.Since(Minute, time.Time{}) {
		minutes, sent = append(minutes, s.At.Format("15:04")), append(sent, s.Sent)
	}
	return minutes, sent
}

func (w *world) wants(t *testing.T, minutes []string, sent ...uint64) {
	t.Helper()
	if m, s := w.sent(); !slices.Equal(m, minutes) || !slices.Equal(s, sent) {
		t.Errorf("got %v with %v, want %v with %v", m, s, minutes, sent)
	}
}

func TestSamplesHoldCounterDifferencesPerMinute(t *testing.T) {
	w := newWorld()
	w.is.Sent = 1000
	w.open() // counts from before the start are ignored
	w.passes(20*time.Second, 3)
	w.passes(20*time.Second, 2)
	w.passes(30*time.Second, 7)
	w.wants(t, []string{"12:00", "12:01"}, 5, 7)
	if at := time.Date(2026, 3, 1, 12, 1, 0, 0, time.UTC); len(w.Since(Minute, at)) != 1 || len(w.Since(Minute, at.Add(time.Second))) != 0 {
		t.Error("Since does not select the minutes that began at or after its time")
	}
}

func TestCounterReset(t *testing.T) {
	w := newWorld()
	w.passes(10*time.Second, 50)
	w.is.Sent = 4
	w.passes(10*time.Second, 0)
	w.wants(t, []string{"12:00"}, 54)
}

func TestClockSetBackDropsFutureSamples(t *testing.T) {
	w := newWorld()
	for range 5 {
		w.passes(time.Minute, 1)
	}
	w.passes(-2*time.Minute, 10)
	w.wants(t, []string{"12:00", "12:01", "12:02", "12:03"}, 1, 1, 1, 10)
	w.passes(time.Minute, 1)
	w.wants(t, []string{"12:00", "12:01", "12:02", "12:03", "12:04"}, 1, 1, 1, 11, 0)
}

func TestClockSetForwardLeavesGap(t *testing.T) {
	w := newWorld()
	w.passes(time.Hour, 2)
	w.passes(10*time.Second, 1)
	w.wants(t, []string{"12:00", "13:00"}, 2, 1)
	w.passes(48*time.Hour, 0)
	w.wants(t, []string{"13:00"}, 0) // older than a day
}

func TestSamplesTakeBoundedMemory(t *testing.T) {
	w := newWorld()
	w.is.Instances = make([]int32, 17)
	w.look(0)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range (keptHours + 30) * 60 {
		w.is.Instances = make([]int32, 17) // each reading has its own
		w.passes(time.Minute, 1)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := len(w.Since(Minute, time.Time{})); n != keptMinutes+1 {
		t.Errorf("%d samples, want %d", n, keptMinutes+1)
	}
	grew := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d bytes", grew)
	if grew > 768<<10 {
		t.Errorf("all samples take %d bytes", grew)
	}
	if c := cap(w.minutes.rows); c > 2*keptMinutes {
		t.Errorf("capacity for %d samples", c)
	}
}

func TestReadingsAreLimitedToOnePerSecond(t *testing.T) {
	w := newWorld()
	readings := 0
	w.cfg.Read = func() Reading {
		readings++
		return w.is
	}
	for range 100 {
		w.at = w.at.Add(100 * time.Millisecond)
		w.Running()
	}
	if readings != 10 {
		t.Errorf("%d readings in ten seconds", readings)
	}
}

func TestSamplesAreTakenWithoutCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Uint64
		r, err := Open(Config{Read: func() Reading { return Reading{Counts: Counts{Sent: sent.Load()}} }})
		if err != nil {
			t.Fatal(err)
		}
		r.Start()
		for range 5 {
			sent.Add(1)
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		if err := r.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(r.minutes.rows) != 5 {
			t.Errorf("%d samples after five minutes", len(r.minutes.rows))
		}
	})
}
