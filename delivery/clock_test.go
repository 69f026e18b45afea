package delivery

import (
	"errors"
	"path/filepath"
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

// TestCheckAsksNoClockWhatIsOver checks a file whose clock was years ahead: what has expired
// there has not by the clock of the check. The check still finds a missing row.
func TestCheckAsksNoClockWhatIsOver(t *testing.T) {
	r := newRig(t, Config{Log: true})
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	r.path = filepath.Join(t.TempDir(), "ahead.db")
	now := time.Now().Add(10 * 365 * 24 * time.Hour)
	r.now = func() time.Time { return now }
	r.open()
	to := event.Destination{Target: event.TargetWebhook, URL: "http://hook/", MaxAge: time.Hour}
	over := r.emit(event.About{}, to)
	now = now.Add(2 * time.Hour)
	r.update(func(tx *store.Tx) error {
		_, _, err := r.l.Expire(tx, tx.Steady(), 10)
		return err
	})
	waits := r.emit(event.About{}, to)
	faults := func() (all []string) {
		t.Helper()
		if err := r.s.Close(); err != nil {
			t.Fatal(err)
		}
		report, err := store.Check(t.Context(), r.path, Buckets())
		if err != nil {
			t.Fatal(err)
		}
		r.open()
		return report.Faults
	}
	if all := faults(); len(all) > 0 {
		t.Fatalf("a sound file: %v", all)
	}
	r.view(func(tx *store.Tx) error {
		if _, found, err := getEvent(tx, over.Seq); !found || err != nil {
			t.Errorf("the event that is over is not kept; this test shows nothing (%v)", err)
		}
		return nil
	})
	for name, lose := range map[string]func(tx *store.Tx) error{
		"position": func(tx *store.Tx) error { return tx.Delete(positions, waits.positionKey()) },
		"alarm": func(tx *store.Tx) error {
			return tx.Delete(expiries, expiry{waits.ExpiresAt, expiryEvent, waits.Seq}.key())
		},
	} {
		before := map[string][]byte{}
		r.view(func(tx *store.Tx) error {
			for bucket, key := range map[string][]byte{positions: waits.positionKey(), expiries: expiry{waits.ExpiresAt, expiryEvent, waits.Seq}.key()} {
				value, err := tx.Get(bucket, key)
				if err != nil {
					return err
				}
				before[bucket] = value
			}
			return nil
		})
		r.update(lose)
		if all := faults(); len(all) == 0 {
			t.Errorf("a missing %s is not found", name)
		}
		r.update(func(tx *store.Tx) error {
			return errors.Join(tx.Put(positions, waits.positionKey(), before[positions]),
				tx.Put(expiries, expiry{waits.ExpiresAt, expiryEvent, waits.Seq}.key(), before[expiries]))
		})
	}
}
