package store

import (
	"path/filepath"
	"testing"
	"time"
)

// TestTrustedTimeIsKeptInTheFile reopens a file repeatedly: a restart does not make a
// wrong clock right.
func TestTrustedTimeIsKeptInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	trusts := func() bool {
		t.Helper()
		s, err := Open(Options{Path: path, Buckets: declared, NoSync: true, MinFree: 1, Now: func() time.Time { return now }})
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
	}{
		{0, 0},
		{hour, hour},
		{47 * hour, 47 * hour},
		{10 * year, 0},
		{-10 * year, 0},
		{-year, 0},
		{year, 0},
		{-hour, 0},
		{hour, 0},
		{2 * hour, 2 * hour},
		{-40 * hour, 0},
		{30 * hour, 0},
		{11 * hour, hour},
		{72 * hour, 0},
	} {
		now, want = now.Add(c.stopped), want+c.adds
		s, err := Open(Options{Path: path, Buckets: declared, NoSync: true, MinFree: 1, Now: func() time.Time { return now }})
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
		s, err := Open(Options{Path: path, Buckets: declared, NoSync: true, MinFree: 1, Now: func() time.Time { return now }})
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

// TestClockThatWasBelievedIsCorrectedAtOnce: a clock that is ten years ahead runs for
// days, until it is trusted, and is then corrected. From then on records get the right
// time, also after a restart.
func TestClockThatWasBelievedIsCorrectedAtOnce(t *testing.T) {
	for _, restart := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "s.db")
		right := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		ahead := 10 * 365 * 24 * time.Hour
		opened, running, off := right, time.Duration(0), time.Duration(0)
		open := func() *Store {
			t.Helper()
			s, err := Open(Options{Path: path, Buckets: declared, NoSync: true, MinFree: 1, Now: func() time.Time { return opened.Add(running + off) }})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := open()
		put(t, s, "a", "1")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		off = ahead
		s = open()
		if s.TrustsClock() {
			t.Fatal("a clock ten years ahead is trusted")
		}
		for range 50 {
			running += time.Hour
			put(t, s, "a", "1")
		}
		if !s.TrustsClock() {
			t.Fatal("it is not trusted after two days")
		}
		if restart {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			off = 0
			s = open()
		} else {
			s.opened, off = s.opened.Add(-ahead), 0 // its Now has no monotonic reading
		}
		if err := s.Update(t.Context(), func(tx *Tx) error {
			if is := tx.Now(); !is.Equal(right.Add(running)) {
				t.Errorf("restart %t: the corrected clock says %v, records get %v", restart, right.Add(running), is)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
