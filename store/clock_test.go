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
		"behind":                       {start, []look{{-365 * day, 0, true}, {-365 * day, 10 * day, true}, {0, 11 * day, true}}},
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
