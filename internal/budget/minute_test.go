package budget

import (
	"testing"
	"time"
)

// TestNoMinuteHasMoreRequestsThanPerMinute: whichever 60 seconds are looked at, also those
// that begin in the middle of a minute of the clock.
func TestNoMinuteHasMoreRequestsThanPerMinute(t *testing.T) {
	for _, perMinute := range []int{1, 6, 60, 100} {
		var m Minute
		var let []time.Duration
		begin := time.Unix(1000, 0)
		for at := time.Duration(0); at < 10*time.Minute; at += 137 * time.Millisecond {
			// no requests for a while
			if at > 3*time.Minute && at < 4*time.Minute+30*time.Second {
				continue
			}
			wait := m.Take(perMinute, begin.Add(at))
			switch {
			case wait == 0:
				let = append(let, at)
			case wait < 0 || wait > 61*time.Second:
				t.Fatalf("%d: waits %s", perMinute, wait)
			default:
				before := m
				kept := *m.taken
				before.taken = &kept
				if again := before.Take(perMinute, begin.Add(at+wait)); again != 0 {
					t.Fatalf("%d: who waits %s has to wait %s more", perMinute, wait, again)
				}
			}
		}
		for i := perMinute; i < len(let); i++ {
			if within := let[i] - let[i-perMinute]; within < time.Minute {
				t.Fatalf("%d requests in %s with %d a minute", perMinute+1, within, perMinute)
			}
		}
		if len(let) < 8*perMinute {
			t.Errorf("%d requests of %d a minute were let through in ten minutes", len(let), perMinute)
		}
	}
}

// TestARateIsOfAnyMinute: so many may come at once, and the next ones when those are a
// minute old; the rate may be changed meanwhile, and the clock set.
func TestARateIsOfAnyMinute(t *testing.T) {
	var m Minute
	now := time.Unix(1000, 0)
	for i := range 6 {
		if wait := m.Take(6, now.Add(time.Duration(i)*time.Second)); wait != 0 {
			t.Fatalf("request %d waits %s", i, wait)
		}
	}
	if wait := m.Take(6, now.Add(10*time.Second)); wait != 51*time.Second {
		t.Errorf("waits %s", wait)
	}
	if wait := m.Take(3, now.Add(10*time.Second)); wait != 54*time.Second {
		t.Errorf("with a lower rate: %s", wait)
	}
	if wait := m.Take(7, now.Add(10*time.Second)); wait != 0 {
		t.Errorf("with a higher rate: %s", wait)
	}
	if wait := m.Take(7, now.Add(-time.Hour)); wait != 51*time.Second {
		t.Errorf("with a clock that was set back: %s", wait)
	}
	if m.Empty(now.Add(time.Minute)) {
		t.Error("it is empty before the last was a minute ago")
	}
	if !m.Empty(now.Add(24 * time.Hour)) {
		t.Error("a day later it is not empty")
	}
	if wait := m.Take(1, now.Add(24*time.Hour)); wait != 0 {
		t.Errorf("a day later: %s", wait)
	}
}
