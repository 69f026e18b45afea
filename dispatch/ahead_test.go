package dispatch

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"postern/event"
)

// TestLineIsFasterThanOneCommitPerEvent: with a disk that takes a tenth of a second
// and a receiver that takes ten milliseconds, a line keeps up with more than ten events a
// second, in order and each event once.
func TestLineIsFasterThanOneCommitPerEvent(t *testing.T) {
	for _, order := range []event.Order{event.OrderChat, event.OrderInstance} {
		t.Run(string(order), func(t *testing.T) {
			inTown(t, func(t *testing.T, c *town) {
				hook := webhookLane(1)
				c.add(hook, "a", order)
				const events = 400
				c.emitAll(1, "x@c", numbers(events), hook)
				c.atCommit(func() { time.Sleep(100 * time.Millisecond) })
				begin := time.Now()
				for len(c.accepted("a")) < events && time.Since(begin) < time.Hour {
					time.Sleep(10 * time.Millisecond)
				}
				if took := time.Since(begin); took > 8*time.Second {
					t.Errorf("%d events took %s", events, took)
				}
				time.Sleep(time.Minute)
				c.atCommit(nil)
				if got := c.bodies("a"); len(got) != events || !slices.IsSorted(got) {
					t.Errorf("%d arrived, in the order %v", len(got), got)
				}
				if c.most["a"] != 1 || c.pending() != 0 {
					t.Errorf("%d in flight at once, %d wait", c.most["a"], c.pending())
				}
			})
		})
	}
}

// TestWhatIsRefusedHoldsItsLine although the file is slow: no later event is sent before
// the refused one was accepted.
func TestWhatIsRefusedHoldsItsLine(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	for _, status := range []int{503, 422, 0} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			inTown(t, func(t *testing.T, c *town) {
				hook := webhookLane(1)
				c.add(hook, "a", event.OrderChat)
				c.atCommit(func() { time.Sleep(100 * time.Millisecond) })
				n := 0
				c.set("a", func(*http.Request, int) (int, http.Header) {
					if n++; n%7 == 0 {
						return status, nil
					}
					return 200, nil
				})
				c.emitAll(1, "x@c", numbers(60), hook)
				time.Sleep(48 * time.Hour)
				c.atCommit(nil)
				for i, h := range c.at("a") {
					if i > 0 && h.body < c.at("a")[i-1].body {
						t.Fatalf("%s came behind %s", h.body, c.at("a")[i-1].body)
					}
				}
				if got := c.accepted("a"); len(got) != 60 || !slices.IsSorted(got) || c.pending() != 0 {
					t.Errorf("%d arrived, in the order %v; %d wait", len(got), got, c.pending())
				}
			})
		})
	}
}

// TestAStopGivesBackWhatIsAhead: accepted events are stored, the others are sent by the
// next start, and none is sent twice.
func TestAStopGivesBackWhatIsAhead(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderInstance)
		c.emitAll(1, "x@c", numbers(300), hook)
		for range 20 {
			time.Sleep(73 * time.Millisecond)
			c.close()
			c.open(c.path)
		}
		time.Sleep(time.Minute)
		if got := c.bodies("a"); len(got) != 300 || !slices.IsSorted(got) {
			t.Errorf("%d arrived, in the order %v", len(got), got)
		}
	})
}

// TestLineReleasesTheTurnOfOthers: while a line has a long backlog, the first events
// of other lines wait for one of its events, and not for all.
func TestLineReleasesTheTurnOfOthers(t *testing.T) {
	t.Parallel()
	inTown(t, func(t *testing.T, c *town) {
		hook := webhookLane(1)
		c.add(hook, "a", event.OrderChat)
		for i := range 10 {
			c.emitAll(1, "long"+strconv.Itoa(i)+"@c", numbers(500), hook)
		}
		time.Sleep(time.Second) // all places of the lane are taken
		begin := time.Now()
		c.emit(1, "short@c", "short", hook)
		for !slices.Contains(c.accepted("a"), "short") && time.Since(begin) < time.Hour {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(begin); took > 200*time.Millisecond {
			t.Errorf("it waited %s", took)
		}
	})
}
