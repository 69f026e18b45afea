package dispatch

import (
	"fmt"
	"testing"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/internal/nightly"
)

// sharing is the result of a relay for instances that each have one destination at a
// receiver of their own and one at a receiver shared by all.
type sharing struct {
	steps, rows float64 // of feeders, and read by them, for each event
	most        int     // in flight at once to the shared receiver
	fewest      int     // accepted by it of one instance
	waited      []time.Duration
}

func shared(t *testing.T, pace time.Duration, order event.Order) (s sharing) {
	const instances, perInstance, lasts = 40, 2, 30 * time.Second
	inTown(t, func(t *testing.T, c *town) {
		c.pace["shared"] = pace
		var lanes [][]delivery.Lane
		for i := range int64(instances) {
			both := []delivery.Lane{webhookLane(i + 1), endpointLane(i+1, "shared")}
			c.add(both[0], fmt.Sprint("own", i), order)
			c.add(both[1], "shared", order)
			lanes = append(lanes, both)
		}
		events := 0
		made := map[string]time.Time{}
		for begin := time.Now(); time.Since(begin) < lasts; events++ {
			body := fmt.Sprint(events)
			made[body] = time.Now()
			i := events % instances
			c.emit(int64(i+1), "chat", body, lanes[i]...)
			time.Sleep(time.Second / instances / perInstance)
		}
		time.Sleep(time.Second)
		s.steps = float64(c.relay.Stats().Wakes.Feeders) / float64(events)
		s.rows = float64(c.relay.wakes.rows.Load()) / float64(events)
		c.mu.Lock()
		s.most = c.most["shared"]
		c.mu.Unlock()
		heard := map[string]int{}
		for _, h := range c.at("shared") {
			n := 0
			_, _ = fmt.Sscan(h.body, &n)
			heard[fmt.Sprint(n%instances)]++
		}
		s.fewest = events
		for i := range instances {
			s.fewest = min(s.fewest, heard[fmt.Sprint(i)])
			for _, h := range c.at(fmt.Sprint("own", i)) {
				s.waited = append(s.waited, h.at.Sub(made[h.body]))
			}
		}
		if len(s.waited) != events {
			t.Errorf("%d of %d events reached the receivers of their own", len(s.waited), events)
		}
	})
	return s
}

func TestASlowSharedReceiverCostsOthersNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("delivers for minutes of its clock")
	}
	for _, order := range nightly.Or([]event.Order{event.OrderChat}, []event.Order{event.OrderNone, event.OrderChat}) {
		t.Run(string(order), func(t *testing.T) {
			quick, slow := shared(t, 10*time.Millisecond, order), shared(t, 3*time.Second, order)
			t.Logf("steps %.2f, %.2f; rows %.2f, %.2f; in flight %d, %d; fewest %d, %d", quick.steps, slow.steps, quick.rows, slow.rows, quick.most, slow.most, quick.fewest, slow.fewest)
			if slow.most > mostSlow {
				t.Errorf("%d in flight to the slow receiver, want at most %d", slow.most, mostSlow)
			}
			if slow.steps > 1.1*quick.steps || slow.rows > 1.1*quick.rows+1 {
				t.Errorf("each event takes %.2f steps and %.2f rows beside a slow receiver, %.2f and %.2f beside a quick one", slow.steps, slow.rows, quick.steps, quick.rows)
			}
			if slow.fewest < 4 {
				t.Errorf("an instance had %d attempts in the time for eight", slow.fewest)
			}
			if w, q := percentileOf(slow.waited, 0.99), percentileOf(quick.waited, 0.99); w > 2*q {
				t.Errorf("p99 of the others %v, %v beside a quick receiver", w, q)
			}
		})
	}
}
