package clock

import (
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"
)

// TestClockJumpAheadIsDistrustedForADay goes through the life of one program.
func TestClockJumpAheadIsDistrustedForADay(t *testing.T) {
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
		"ahead for days, corrected":    {start, []look{{365 * day, 0, false}, {365 * day, 2 * day, true}, {0, 3 * day, true}, {365 * day, 4 * day, false}}},
	} {
		k := Clock{known: c.known, saved: c.known, log: slog.New(slog.DiscardHandler)}
		for i, l := range c.looks {
			if is := k.Trusted(start.Add(l.ahead+l.running), l.running); is != l.trusted {
				t.Errorf("%s, look %d: trusted %t", name, i, is)
			}
		}
	}
}

// TestNoSettingOfTheClockEndsLivesEarly sets the clock at random while a program runs and
// while it is stopped. Steady time advances by the time that the program ran, and never
// goes back. Only starts under a clock that is ahead can put it ahead of the true time,
// each by at most two days.
func TestNoSettingOfTheClockEndsLivesEarly(t *testing.T) {
	days := func(n float64) time.Duration { return time.Duration(n * 24 * float64(time.Hour)) }
	settings := []time.Duration{0, 0, 0, 0, days(3650), days(-3650), days(-20500), days(21), days(-21), days(2.5), days(1.9), days(-1.9)}
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 7))
		right := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		setting := time.Duration(0)
		k := &Clock{log: slog.New(slog.DiscardHandler)}
		k.begin(right, steadyState{})
		before, lived, most := k.steady, time.Duration(0), time.Duration(0)
		for range 30 {
			running := time.Duration(0)
			for looks := rng.IntN(8); looks >= 0; looks-- {
				step := time.Duration(rng.Int64N(int64(2 * time.Hour)))
				right, running, most = right.Add(step), running+step, most+step
				if rng.IntN(6) == 0 {
					setting = settings[rng.IntN(len(settings))]
				}
				k.look(right.Add(setting), running)
			}
			if went := k.SteadyAt(running).Sub(before); went != running {
				t.Fatalf("seed %d: steady time went on by %v in a run of %v", seed, went, running)
			}
			lived += running
			st := steadyState{Steady: k.SteadyAt(running).UnixMilli(), High: k.high.UnixMilli()}
			known := k.known
			before = k.SteadyAt(running)
			stop := time.Duration(rng.Int64N(int64(10 * time.Hour)))
			right, most = right.Add(stop), most+stop
			if rng.IntN(2) == 0 {
				setting = settings[rng.IntN(len(settings))]
			}
			k = &Clock{log: slog.New(slog.DiscardHandler), known: known}
			k.begin(right.Add(setting), st)
			went := k.steady.Sub(before)
			if went < -time.Millisecond || went > leap {
				t.Fatalf("seed %d: steady time went on by %v during a stop of %v", seed, went, stop)
			}
			if before, lived = k.steady, lived+went; setting > 0 {
				most += leap
			}
			if lived > most {
				t.Fatalf("seed %d: %v of steady time, want %v at most", seed, lived, most)
			}
		}
	}
}
