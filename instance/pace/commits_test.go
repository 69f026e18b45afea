package pace

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/store"
)

func number(n int64) *int64 { return new(n) }

func newPacer(t *testing.T, s *store.Store, limits Limits) *Pacer {
	t.Helper()
	p, err := Open(t.Context(), Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Set(t.Context(), 1, limits, func(*store.Tx) bool { return true }); err != nil {
		t.Fatal(err)
	}
	return p
}

// commit does what every send does once it is acknowledged.
func commit(t *testing.T, s *store.Store) {
	t.Helper()
	if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Put(bucket, store.Key(int64(99)), []byte("x")) }); err != nil {
		t.Fatal(err)
	}
}

// TestCountingCostsNoCommitWhileAnInstanceSends: one commit for the first message after a pause, one
// to withdraw the grant, none for the thousand messages between.
func TestCountingCostsNoCommitWhileAnInstanceSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
		defer func() { _ = s.Close() }()
		p := newPacer(t, s, Limits{PerDay: number(5000)})
		const sends = 1000
		before := s.Stats().Commits
		for range sends {
			pass, err := p.Begin(1, "a@s.whatsapp.net", "")
			if err != nil {
				t.Fatal(err)
			}
			if err := pass.Leave(); err != nil {
				t.Fatal(err)
			}
			commit(t, s)
			pass.End(true)
		}
		time.Sleep(2 * quiet)
		synctest.Wait()
		if got := s.Stats().Commits - before; got != sends+2 {
			t.Errorf("%d commits for %d sends that commit once each", got, sends)
		}
		time.Sleep(time.Hour)
		if got := s.Stats().Commits - before; got != sends+2 {
			t.Errorf("%d commits by an idle instance", got-sends-2)
		}
		if used := p.Status(1).PerDay.Used; used != sends {
			t.Errorf("%d are counted", used)
		}
	})
}

// TestWithoutLimitsNothingIsWritten, and nothing is kept in memory.
func TestWithoutLimitsNothingIsWritten(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	defer func() { _ = s.Close() }()
	p, err := Open(t.Context(), Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	before := s.Stats().Commits
	for range 10 {
		pass, err := p.Begin(1, "a@s.whatsapp.net", "b")
		if err != nil || pass != nil || pass.Space(t.Context()) != nil || pass.Leave() != nil || p.Hold(1, "a@s.whatsapp.net", "b") != nil {
			t.Fatal("an instance without limits is held back")
		}
		pass.End(true)
	}
	p.Release("b")
	if got := s.Stats().Commits - before; got != 0 || p.Status(1) != nil || p.Limits(1) != (Limits{}) {
		t.Errorf("%d commits", got)
	}
}

// TestSpaceLeavesTimeBetweenTwoMessages, also across a restart.
func TestSpaceLeavesTimeBetweenTwoMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
		defer func() { _ = s.Close() }()
		p := newPacer(t, s, Limits{JitterMs: &Jitter{2000, 5000}})
		var last time.Time
		shortest, longest := time.Hour, time.Duration(0)
		for n := range 300 {
			if n == 150 {
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
				var err error
				if p, err = Open(t.Context(), Config{Store: s}); err != nil {
					t.Fatal(err)
				}
			}
			pass, err := p.Begin(1, "a@s.whatsapp.net", "")
			if err != nil || pass.Space(t.Context()) != nil || pass.Leave() != nil {
				t.Fatal(err)
			}
			pass.End(true)
			if n > 0 {
				shortest, longest = min(shortest, time.Since(last)), max(longest, time.Since(last))
			}
			last = time.Now()
		}
		if shortest < 2*time.Second || shortest > 2200*time.Millisecond || longest > 5*time.Second+2*time.Millisecond || longest < 4800*time.Millisecond {
			t.Errorf("between two messages were %s to %s", shortest, longest)
		}
	})
}

// TestDamagedRecordStillLimits: missing departures count as of the start.
func TestDamagedRecordStillLimits(t *testing.T) {
	for name, spoil := range map[string]func(*store.Tx) error{
		"head": func(tx *store.Tx) error { return tx.Put(heads, headKey(1), []byte{1}) },
		"no head": func(tx *store.Tx) error {
			return errors.Join(tx.Delete(heads, headKey(1)), tx.Put(heads, headKey(2), nil))
		},
		"newest": func(tx *store.Tx) error {
			return tx.Put(heads, headKey(1), head{0, 100, 100}.encode(moment{}, nil)[:3])
		},
		"departures": func(tx *store.Tx) error { return tx.Put(bucket, chunkKey(1, 0), nil) },
		"gone":       func(tx *store.Tx) error { return tx.Delete(bucket, chunkKey(1, 1)) },
	} {
		s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
		p := newPacer(t, s, Limits{PerHour: number(100)})
		for range 100 {
			pass, err := p.Begin(1, "a@s.whatsapp.net", "")
			if err != nil || pass.Leave() != nil {
				t.Fatal(err)
			}
			pass.End(true)
		}
		if err := errors.Join(p.Close(), s.Update(t.Context(), spoil)); err != nil {
			t.Fatal(err)
		}
		p, err := Open(t.Context(), Config{Store: s})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := p.Ask(1, "a@s.whatsapp.net"); !errors.Is(err, ErrLimit) || event.NotNowCode(err) != Code {
			t.Errorf("%s: %v", name, err)
		}
		_ = s.Close()
	}
}

// TestSpaceCountsFromTheDeparture sends with preparations of random length between Leave and Left,
// and with repeated bytes: the gaps are those between departures.
func TestSpaceCountsFromTheDeparture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
		defer func() { _ = s.Close() }()
		p := newPacer(t, s, Limits{JitterMs: &Jitter{300, 700}})
		var last time.Time
		shortest, longest := time.Hour, time.Duration(0)
		for n := range 1000 {
			sender := ""
			if n%2 == 0 { // a batch
				sender = "b"
				if refused := p.Hold(1, "a@s.whatsapp.net", sender); refused != nil {
					t.Fatal(refused)
				}
			}
			pass, err := p.Begin(1, "a@s.whatsapp.net", sender)
			if err != nil || pass.Space(t.Context()) != nil || pass.Leave() != nil {
				t.Fatal(err)
			}
			prepared := time.Duration(rand.IntN(2000)) * time.Millisecond
			time.Sleep(prepared)
			if n > 0 {
				shortest, longest = min(shortest, time.Since(last)), max(longest, time.Since(last)-prepared)
			}
			pass.Left()
			last = time.Now()
			if n%10 == 0 {
				time.Sleep(time.Second) // the connection breaks, and the bytes are repeated
				pass.Left()
				last = time.Now()
			}
			time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond) // the acknowledgement
			pass.End(true)
		}
		if shortest < 300*time.Millisecond || longest > 702*time.Millisecond {
			t.Errorf("between two messages were %s to %s", shortest, longest)
		}
	})
}
