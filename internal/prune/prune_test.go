package prune

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// shelf keeps things by when they were made.
type shelf struct {
	mu    sync.Mutex
	made  []time.Time
	looks []time.Time
	late  time.Duration // at most, so far
}

func (s *shelf) look(life time.Duration) Func {
	return func(before time.Time) (oldest time.Time, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		now := time.Now()
		s.looks = append(s.looks, now)
		s.made = slices.DeleteFunc(s.made, func(at time.Time) bool {
			old := at.Before(before)
			if old {
				s.late = max(s.late, now.Sub(at.Add(life)))
			}
			return old
		})
		for _, at := range s.made {
			if oldest.IsZero() || at.Before(oldest) {
				oldest = at
			}
		}
		return oldest, nil
	}
}

// right is a clock that is trusted.
type right struct{}

func (right) TrustsClock() bool { return true }

// wrong is a clock that is trusted from a time on.
type wrong struct{ until time.Time }

func (w wrong) TrustsClock() bool { return !time.Now().Before(w.until) }

func TestNothingIsRemovedByAnUntrustedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		until := time.Now().Add(24 * time.Hour)
		var s shelf
		s.made = []time.Time{time.Now().AddDate(-1, 0, 0)}
		go Loop(ctx, wrong{until}, time.Hour, s.look(time.Hour), func(err error) { t.Error(err) })
		time.Sleep(24*time.Hour - time.Second)
		synctest.Wait()
		if len(s.looks) != 0 || len(s.made) != 1 {
			t.Errorf("%d looks, %d things left", len(s.looks), len(s.made))
		}
		time.Sleep(2 * time.Minute)
		cancel()
		synctest.Wait()
		if len(s.looks) == 0 || len(s.made) != 0 {
			t.Errorf("trusted again: %d looks, %d things left", len(s.looks), len(s.made))
		}
	})
}

// Whatever its life, nothing is kept longer than a tenth of it or a minute too
// long, and what comes all the time costs no more looks than that needs.
func TestNothingIsKeptMuchLongerThanItsLife(t *testing.T) {
	for _, life := range []time.Duration{time.Minute, 10 * time.Minute, 3 * time.Hour, 72 * time.Hour, 2160 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			var s shelf
			go Loop(ctx, right{}, life, s.look(life), func(err error) { t.Error(err) })
			const things = 500
			for range things {
				time.Sleep(life / 100)
				synctest.Wait()
				s.mu.Lock()
				s.made = append(s.made, time.Now())
				s.mu.Unlock()
			}
			time.Sleep(2*life + time.Minute)
			cancel()
			synctest.Wait()
			if allowed := max(life/10, time.Minute); len(s.made) > 0 || s.late > allowed {
				t.Errorf("life %s: %d things are left, the latest went %s late, at most %s", life, len(s.made), s.late, allowed)
			}
			if most := int(8*life/Grace(life)) + 1; len(s.looks) > most {
				t.Errorf("life %s: %d looks, %d are enough", life, len(s.looks), most)
			}
		})
	}
}

func TestEmptyStoreIsCheckedOncePerLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		var s shelf
		go Loop(ctx, right{}, time.Hour, s.look(time.Hour), func(err error) { t.Error(err) })
		time.Sleep(10*time.Hour - time.Second)
		cancel()
		synctest.Wait()
		if len(s.looks) != 10 {
			t.Errorf("%d looks in ten hours: %v", len(s.looks), s.looks)
		}
	})
}

// A thing from the future, because a clock was set back, does not hold up what
// is made after it.
func TestFutureTimesDelayNothing(t *testing.T) {
	now := time.Now()
	if at := next(now, now.AddDate(1, 0, 0), time.Hour, nil); !at.Equal(now.Add(time.Hour)) {
		t.Errorf("the next look is after %s", at.Sub(now))
	}
}

func TestAFailedLookIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		looks, reported := 0, 0
		go Loop(ctx, right{}, 100*time.Hour, func(time.Time) (time.Time, error) {
			looks++
			return time.Time{}, errors.New("odd")
		}, func(error) { reported++ })
		time.Sleep(3*time.Hour + time.Second)
		cancel()
		synctest.Wait()
		if looks != 4 || reported != 4 {
			t.Errorf("%d looks, %d failures reported, want 4", looks, reported)
		}
	})
}

// TestWaitEndsWhenTheClockGoesBack: what was reckoned by a clock that was ahead is reckoned again.
func TestWaitEndsWhenTheClockGoesBack(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		began, until, now time.Time
		over              bool
	}{
		{now, now.Add(time.Hour), now, false},
		{now, now.Add(time.Hour), now.Add(time.Hour), true},
		{now, now.Add(time.Hour), now.Add(-30 * time.Second), false}, // a small step
		{now, now.AddDate(0, 0, 30), now.AddDate(-10, 0, 0), true},
	} {
		if is := over(c.began, c.until, c.now); is != c.over {
			t.Errorf("from %v to %v, at %v: over %t", c.began, c.until, c.now, is)
		}
	}
}
