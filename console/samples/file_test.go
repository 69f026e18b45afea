package samples

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"postern/store"
)

func openStore(t *testing.T, path string, now func() time.Time) *store.Store {
	t.Helper()
	s, err := store.Open(store.Options{Path: path, Buckets: Buckets(), MinFree: 1, NoSync: true, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// newStored is a world with a data file.
func newStored(t *testing.T) *world {
	t.Helper()
	w := &world{at: time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)}
	w.path = filepath.Join(t.TempDir(), "t.db")
	w.store = openStore(t, w.path, func() time.Time { return w.at })
	w.open()
	return w
}

// minute passes, with what the loop of Start does at its end.
func (w *world) minute(t *testing.T, sent uint64) {
	t.Helper()
	w.passes(time.Minute, sent)
	w.save(t.Context(), false)
}

func (w *world) inFile(t *testing.T) int {
	t.Helper()
	sum := 0
	for _, b := range Buckets() {
		n, err := w.store.Rows(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

func TestSamplesOutliveAKill(t *testing.T) {
	w := newStored(t)
	w.is.Instances, w.is.FileBytes, w.is.MemoryBytes, w.is.OldestPending = []int32{3, 0, 1}, 7, 8, 9*time.Second
	for n := range uint64(5) {
		w.minute(t, n+1)
	}
	before := w.Since(Minute, time.Time{})
	w.passes(20*time.Second, 50) // in the running minute
	w.at = w.at.Add(3 * time.Minute)
	w.open()
	w.wants(t, []string{"12:00", "12:01", "12:02", "12:03", "12:04", "12:08"}, 1, 2, 3, 4, 5, 0)
	for i, s := range w.Since(Minute, time.Time{})[:5] {
		if was := before[i]; !s.At.Equal(was.At) || s.Counts != was.Counts || !slices.Equal(s.Instances, was.Instances) ||
			s.FileBytes != was.FileBytes || s.MemoryBytes != was.MemoryBytes || s.OldestPending != was.OldestPending {
			t.Errorf("got %+v, want %+v", s, was)
		}
	}
}

func TestOrderlyStopKeepsTheRunningMinute(t *testing.T) {
	w := newStored(t)
	w.passes(10*time.Second, 4)
	w.stop, w.done = func() {}, make(chan struct{})
	close(w.done)
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.passes(5*time.Second, 3)
	w.wants(t, []string{"12:00"}, 7)
	w.minute(t, 1)
	w.open()
	w.wants(t, []string{"12:00", "12:01"}, 8, 0)
}

func TestHoursOutliveTheirMinutes(t *testing.T) {
	w := newStored(t)
	for range 40 * 60 {
		w.minute(t, 1)
	}
	w.open()
	if n := len(w.Since(Minute, time.Time{})); n != keptMinutes+1 {
		t.Errorf("%d minutes", n)
	}
	hours := w.Since(Hour, time.Time{})
	if len(hours) != 41 {
		t.Fatalf("%d hours", len(hours))
	}
	var sum uint64
	for i, h := range hours {
		sum += h.Sent
		if want := time.Date(2026, 3, 1, 12+i, 0, 0, 0, time.UTC); !h.At.Equal(want) {
			t.Errorf("hour %d began at %s, want %s", i, h.At, want)
		}
	}
	if sum != 40*60 || hours[1].Sent != 60 {
		t.Errorf("%d messages in all hours, %d in the second", sum, hours[1].Sent)
	}
}

func TestHourWithAStartInItIsWhole(t *testing.T) {
	w := newStored(t)
	for range 20 {
		w.minute(t, 1)
	}
	w.at = w.at.Add(10 * time.Minute)
	w.open()
	for range 40 {
		w.minute(t, 1)
	}
	w.at = w.at.Add(3 * time.Hour) // ends while nothing runs
	w.open()
	hours := w.Since(Hour, time.Time{})
	if len(hours) != 3 || hours[0].Sent != 50 || hours[1].Sent != 10 || hours[2].At.Hour() != 16 {
		t.Errorf("%+v", hours)
	}
}

func TestClockSetBackKeepsSamplesWhileUntrusted(t *testing.T) {
	w := newStored(t)
	for range 10 {
		w.minute(t, 1)
	}
	right := w.at
	w.at = time.Date(1970, 1, 2, 0, 0, 30, 0, time.UTC)
	w.open()
	w.minute(t, 1)
	w.at = right.Add(time.Minute)
	w.open()
	if got := w.Since(Minute, time.Time{}); len(got) != 11 {
		t.Errorf("%d samples after a start in 1970, want those of before and the running one", len(got))
	}
	w.at = right.Add(-5 * time.Minute) // by a little: as without a restart
	w.open()
	w.minute(t, 1)
	w.open()
	w.wants(t, []string{"12:00", "12:01", "12:02", "12:03", "12:04", "12:05", "12:06"}, 1, 1, 1, 1, 1, 2, 1)
}

// TestStartWithAClockBehindKeepsNewerSamples in the file, and has them again when the clock is corrected.
func TestStartWithAClockBehindKeepsNewerSamples(t *testing.T) {
	w := newStored(t)
	for range 6 * 60 {
		w.minute(t, 1)
	}
	right := w.at
	w.at = right.Add(-5 * time.Hour)
	w.open()
	for range 3 {
		w.minute(t, 0)
	}
	if n := len(w.Since(Hour, time.Time{})); n != 2 {
		t.Errorf("%d hours while the clock is behind, want 12:00 and the running one", n)
	}
	// The file is opened again: for this clock, which has no monotonic reading, a step is time that passed.
	_ = w.store.Close()
	w.at = right.Add(5 * time.Minute)
	w.store = openStore(t, w.path, func() time.Time { return w.at })
	w.cfg.Store = w.store
	w.minute(t, 0)
	for _, what := range []string{"corrected", "started again"} {
		if n := len(w.Since(Minute, right.Add(-4*time.Hour))); n != 4*60 && n != 4*60+1 {
			t.Errorf("%s: %d minutes", what, n)
		}
		hours := w.Since(Hour, time.Time{})
		if len(hours) != 7 {
			t.Fatalf("%s: %d hours", what, len(hours))
		}
		for _, h := range hours[:6] {
			if h.Sent != 60 {
				t.Errorf("%s: %+v", what, h)
			}
		}
		w.open()
	}
}

func TestStopOfADayKeepsTheLastHour(t *testing.T) {
	w := newStored(t)
	for range 80 {
		w.minute(t, 1)
	}
	w.at = w.at.Add(30 * time.Hour)
	w.open()
	w.minute(t, 0)
	for range 2 {
		hours := w.Since(Hour, time.Time{})
		if len(hours) != 3 || hours[0].Sent != 60 || hours[1].Sent != 20 || hours[1].At.Hour() != 13 {
			t.Errorf("%+v", hours)
		}
		if n := len(w.Since(Minute, time.Time{})); n != 2 && n != 1 {
			t.Errorf("%d minutes", n)
		}
		w.open()
	}
}

func TestFullDiskDelaysSamples(t *testing.T) {
	w := newStored(t)
	w.minute(t, 1)
	_ = w.store.Close()
	w.minute(t, 2)
	if !w.failing {
		t.Error("no failure is noticed")
	}
	path := filepath.Join(t.TempDir(), "again.db")
	w.cfg.Store = openStore(t, path, func() time.Time { return w.at })
	w.store = w.cfg.Store
	w.minute(t, 3)
	w.open()
	if got := w.Since(Minute, time.Time{}); len(got) != 3 || got[0].Sent != 2 || got[1].Sent != 3 {
		t.Errorf("%+v", got)
	}
}

// Postern promises at most 1 MiB of the file.
func TestAllSamplesTakeOneMebibyte(t *testing.T) {
	w := newStored(t)
	w.is.Instances = make([]int32, 17)
	for i := range w.is.Instances {
		w.is.Instances[i] = 2000
	}
	w.is.FileBytes, w.is.MemoryBytes, w.is.OldestPending = 1<<40, 1<<35, 72*time.Hour
	for range (keptHours + 30) * 60 {
		w.is.Received, w.is.Deliveries, w.is.Failed = w.is.Received+100_000, w.is.Deliveries+200_000, w.is.Failed+1000
		w.passes(time.Minute, 100_000)
		if w.at.Minute() == 0 {
			w.save(t.Context(), false)
		}
	}
	w.save(t.Context(), false)
	if n := w.inFile(t); n < keptHours+keptMinutes || n > keptHours+keptMinutes+70 {
		t.Errorf("%d samples in the file", n)
	}
	var pages int64
	for _, b := range Buckets() {
		usage, err := w.store.Usage(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %+v", b.Name, usage)
		pages += usage.Pages
	}
	if pages > 1<<20 {
		t.Errorf("%d bytes", pages)
	}
}
