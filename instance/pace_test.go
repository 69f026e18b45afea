package instance

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"postern/event"
	"postern/instance/pace"
	"postern/store"
)

// TestJitterCountsFromDepartures: work between the limits and the wire, such as the request for
// the keys of a new contact, shortens no gap.
func TestJitterCountsFromDepartures(t *testing.T) {
	var s *store.Store
	inBubble(t, func(c *SupervisorConfig) {
		var err error
		if s, err = store.Open(store.Options{Path: filepath.Join(t.TempDir(), "p.db"), Buckets: pace.Buckets(), NoSync: true, MinFree: 1}); err != nil {
			t.Fatal(err)
		}
		if c.Pacer, err = pace.Open(bg, pace.Config{Store: s}); err != nil {
			t.Fatal(err)
		}
	}, func(r *rig) {
		defer func() { _ = s.Close() }()
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := r.sup.cfg.Pacer.Set(bg, id, pace.Limits{JitterMs: &pace.Jitter{Min: 300, Max: 700}}, func(*store.Tx) bool { return true }); err != nil {
			t.Fatal(err)
		}
		var left []time.Time
		line := r.net.session(id)
		line.prepare = func() { time.Sleep(time.Duration(rand.IntN(2000)) * time.Millisecond) }
		line.departed = func() { left = append(left, time.Now()) }
		for n := range 100 {
			if _, err := r.sup.SendAndStore(bg, id, event.Outgoing{ID: fmt.Sprint("OUT", n), To: hello.To}, Keeping{}); err != nil {
				t.Fatal(err)
			}
		}
		for n := range len(left) - 1 {
			if gap := left[n+1].Sub(left[n]); gap < 300*time.Millisecond {
				t.Fatalf("message %d left %v after the one before", n+1, gap)
			}
		}
	})
}
