package store

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"
)

// TestClockThatJumpsAheadIsDistrustedForADay goes through the life of one program.
func TestClockThatJumpsAheadIsDistrustedForADay(t *testing.T) {
	day := 24 * time.Hour
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	type look struct {
		ahead, running time.Duration // of the right time; of the program
		trusted        bool
	}
	for name, c := range map[string]struct {
		known time.Time // in the file
		looks []look
	}{
		"a new file":                   {time.Time{}, []look{{0, 0, true}}},
		"a stop of a day":              {start.Add(-day), []look{{0, 0, true}}},
		"a stop of three days":         {start.Add(-3 * day), []look{{0, 0, false}, {0, 23 * time.Hour, false}, {0, 24 * time.Hour, true}, {0, 100 * day, true}}},
		"a year ahead, then corrected": {start, []look{{365 * day, 0, false}, {365 * day, time.Hour, false}, {0, 2 * time.Hour, true}}},
		"a jump while it runs":         {start, []look{{0, 0, true}, {0, 30 * day, true}, {49 * time.Hour, 30*day + time.Minute, false}, {0, 30*day + time.Hour, true}}},
		"an hour of summer time":       {start, []look{{0, 0, true}, {time.Hour, time.Minute, true}}},
		"behind, then corrected":       {start, []look{{-365 * day, 0, true}, {-365 * day, 23 * time.Hour, true}, {0, 24 * time.Hour, true}}},
		"behind for more than a day":   {start, []look{{-365 * day, 0, true}, {-365 * day, 10 * day, true}, {0, 11 * day, false}}},
	} {
		k := clock{known: c.known, saved: c.known, log: slog.New(slog.DiscardHandler)}
		for i, l := range c.looks {
			if is := k.trusted(start.Add(l.ahead+l.running), l.running); is != l.trusted {
				t.Errorf("%s, look %d: trusted %t", name, i, is)
			}
		}
	}
}

// TestTrustedTimeIsKeptInTheFile opens a file again and again: a wrong clock does not become right by a restart.
func TestTrustedTimeIsKeptInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	trusts := func() bool {
		t.Helper()
		s, err := Open(Options{Path: path, Buckets: []Bucket{thing}, NoSync: true, MinFree: 1, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put(thing.Name, Key(uint64(1)), []byte("1")) }); err != nil {
			t.Fatal(err)
		}
		return s.TrustsClock()
	}
	for i, c := range []struct {
		on      time.Duration
		trusted bool
	}{{0, true}, {30 * time.Hour, true}, {365 * 24 * time.Hour, false}, {0, false}, {time.Hour, false}, {-365 * 24 * time.Hour, true}, {24 * time.Hour, true}} {
		now = now.Add(c.on)
		if is := trusts(); is != c.trusted {
			t.Errorf("start %d: trusted %t", i, is)
		}
	}
}

// TestSteadyTimeIgnoresClocksThatAreSet opens a file under clocks that are set while the program is
// stopped and while it runs.
func TestSteadyTimeIgnoresClocksThatAreSet(t *testing.T) {
	const hour, year = time.Hour, 365 * 24 * time.Hour
	path := filepath.Join(t.TempDir(), "s.db")
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	now, want := began, time.Duration(0)
	for i, c := range []struct {
		stopped, adds time.Duration // by how much the time of day and the steady time go on during a stop
	}{{0, 0}, {hour, hour}, {47 * hour, 47 * hour}, {10 * year, 0}, {-10 * year, 0}, {-year, 0}, {year, 0}, {72 * hour, 0}, {-hour, -hour}, {hour, hour}} {
		now, want = now.Add(c.stopped), want+c.adds
		s, err := Open(Options{Path: path, Buckets: []Bucket{thing}, NoSync: true, MinFree: 1, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		now, want = now.Add(3*hour), want+3*hour
		put(t, s, "a", "1")
		if is := view(t, s, func(tx *Tx) (time.Time, error) { return tx.Steady(), nil }).Sub(began); is != want || s.Steady().Sub(began) != want {
			t.Errorf("start %d: %v of steady time, want %v", i, is, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClockFarBehindDatesNoRecord holds the time of transactions under a clock without a battery.
func TestClockFarBehindDatesNoRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	right := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	now := right
	open := func() *Store {
		t.Helper()
		s, err := Open(Options{Path: path, Buckets: []Bucket{thing}, NoSync: true, MinFree: 1, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	dates := func(s *Store) (read, written time.Time) {
		t.Helper()
		read = view(t, s, func(tx *Tx) (time.Time, error) { return tx.Now(), nil })
		if err := s.Update(t.Context(), func(tx *Tx) error { written = tx.Now(); return nil }); err != nil {
			t.Fatal(err)
		}
		return read, written
	}
	s := open()
	put(t, s, "a", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	now = time.Unix(0, 0)
	s = open()
	defer s.Close()
	now = now.Add(2 * time.Hour)
	if read, written := dates(s); read != right.Add(2*time.Hour) || written != read {
		t.Errorf("two hours after a start in 1970: read %v, written %v", read, written)
	}
	now = now.Add(23 * time.Hour)
	if _, written := dates(s); written != time.Unix(25*3600, 0).UTC() {
		t.Errorf("after a day in 1970: written %v", written)
	}
}
