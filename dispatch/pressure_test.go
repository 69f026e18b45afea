package dispatch

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

// TestOnlyFastProducersAreHeldUp: only with a receiver that answers at
// once, and for at most a tenth of a second.
func TestOnlyFastProducersAreHeldUp(t *testing.T) {
	answers := func(p *pressure, took time.Duration, accepted bool) {
		for range 50 {
			p.ended(took, accepted)
		}
	}
	for name, c := range map[string]struct {
		seen func(p *pressure)
		want time.Duration
	}{
		"nothing was sent yet": {func(*pressure) {}, 0},
		"sent at once":         {func(p *pressure) { p.began(time.Now().Add(-mostLag), time.Now()); answers(p, time.Millisecond, true) }, 0},
		"sent late":            {func(p *pressure) { p.began(time.Now().Add(-mostLag-1), time.Now()); answers(p, time.Millisecond, true) }, mostPause},
		"the receiver is slow": {func(p *pressure) {
			p.began(time.Now().Add(-time.Hour), time.Now())
			answers(p, 20*time.Millisecond, true)
		}, 0},
		"the receiver refuses": {func(p *pressure) {
			p.began(time.Now().Add(-time.Hour), time.Now())
			answers(p, time.Millisecond, false)
		}, 0},
		"it was long ago":               {func(p *pressure) { p.began(time.Now().Add(-time.Hour), time.Now().Add(-lagIsNews)) }, 0},
		"the clock went back meanwhile": {func(p *pressure) { p.began(time.Now().Add(time.Hour), time.Now()) }, 0},
		"the relay has caught up soon": {func(p *pressure) {
			p.began(time.Now().Add(-time.Hour), time.Now())
			time.AfterFunc(11*time.Millisecond, func() { p.began(time.Now(), time.Now()) })
		}, 12 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &Relay{}
				c.seen(&r.pressure)
				begin := time.Now()
				r.KeepPace(t.Context())
				if took := time.Since(begin); took != c.want {
					t.Errorf("held up for %v, not %v", took, c.want)
				}
				time.Sleep(time.Second)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r := &Relay{}
		r.pressure.began(time.Now().Add(-time.Hour), time.Now())
		gone, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		begin := time.Now()
		r.KeepPace(gone)
		if took := time.Since(begin); took > lookAgain {
			t.Errorf("who has gone was held up for %v", took)
		}
	})
}

// TestTheRelayKnowsWhetherItIsBehind with real receivers: one that accepts, one that
// refuses, and a slow one.
func TestTheRelayKnowsWhetherItIsBehind(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(emitted) int
		seen   func(p *pressure) bool
	}{
		"accepts": {nil, func(p *pressure) bool { return p.lag > mostLag && !p.at.IsZero() && p.took > 0 }},
		"refuses": {func(emitted) int { return http.StatusInternalServerError }, func(p *pressure) bool { return p.lag > mostLag && p.at.IsZero() }},
		"slow": {
			func(emitted) int { time.Sleep(2 * quickly); return http.StatusOK },
			func(p *pressure) bool { return p.lag > mostLag && p.took >= quickly },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hook := newReceiver(t)
			hook.set(c.answer)
			s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
			for n := range 40 {
				emit(t, s, uuid.New(), n)
			}
			time.Sleep(2 * mostLag) // so that each is late
			r := startRelay(t, RelayConfig{Store: s.Store, Outbox: s.Outbox, Ledger: s.ledger, URL: hook.URL})
			eventually(t, name, func() bool {
				r.pressure.mu.Lock()
				defer r.pressure.mu.Unlock()
				return c.seen(&r.pressure)
			})
		})
	}
}
