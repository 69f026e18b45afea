package delivery

import (
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// TestWrongClockExpiresNoDelivery makes deliveries under right and wrong clocks, and looks for
// expired ones under others.
func TestWrongClockExpiresNoDelivery(t *testing.T) {
	const year = 365 * 24 * time.Hour
	right := time.Now().Truncate(time.Millisecond)
	for name, c := range map[string]struct{ made, looked time.Duration }{ // by which the clock is ahead
		"ten years ahead after a stop":   {0, 10 * year},
		"ten years behind, corrected":    {-10 * year, 0},
		"ten years ahead, corrected":     {10 * year, 0},
		"a year ahead, two years behind": {year, -2 * year},
		"a day behind, corrected":        {-24 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{Log: true})
			now := right
			start := func(ahead time.Duration) {
				t.Helper()
				if err := r.s.Close(); err != nil {
					t.Fatal(err)
				}
				now = right.Add(ahead)
				r.open()
			}
			r.now = func() time.Time { return now }
			start(0)
			expired := func(after time.Duration) (n int) {
				now = now.Add(after)
				r.update(func(tx *store.Tx) error {
					ended, _, err := r.l.Expire(tx, tx.Steady(), 10)
					n = len(ended)
					return err
				})
				return n
			}
			start(c.made)
			to := event.Destination{Target: event.TargetWebhook, URL: "http://hook/", MaxAge: 20 * time.Hour}
			e := r.emit(event.About{}, to)
			start(c.looked)
			if n := expired(time.Hour); n != 0 {
				t.Fatalf("%d deliveries expired after an hour, maxAge is 20 hours", n)
			}
			r.view(func(tx *store.Tx) error {
				past, err := PositionAfter(tx, e.Instance, 0, 10)
				if len(past) != 1 {
					t.Errorf("%d events can be read by their number, want 1", len(past))
				}
				return err
			})
			start(0)
			if n := expired(20 * time.Hour); n != 1 {
				t.Errorf("%d deliveries expired after their maxAge of running time, want 1", n)
			}
		})
	}
}
