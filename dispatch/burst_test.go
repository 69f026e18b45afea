package dispatch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// This file tests which destination may use how many of the ten workers, and when.

func TestTenEventsForOneDestinationLeaveAtOnce(t *testing.T) {
	for _, idle := range []time.Duration{0, time.Second, time.Minute, 10 * time.Minute} {
		t.Run(idle.String(), func(t *testing.T) {
			among(t, func(t *testing.T, c *crowd, q *Queue) {
				c.set("good", in(100*time.Millisecond, 204))
				enqueue(t, q, "good", 1)
				time.Sleep(100*time.Millisecond + idle)
				synctest.Wait()
				enqueue(t, q, "good", 10)
				synctest.Wait()
				if n := c.inFlight("good"); n != 10 {
					t.Errorf("%d of ten events went out at once, idle for %v before", n, idle)
				}
			})
		})
	}
}

func TestUntriedDestinationMayUseSpareWorkers(t *testing.T) {
	among(t, func(t *testing.T, c *crowd, q *Queue) {
		c.set("new", in(100*time.Millisecond, 200))
		enqueue(t, q, "new", 30)
		synctest.Wait()
		if n := c.inFlight("new"); n != 10 {
			t.Errorf("%d in flight, ten workers", n)
		}
		if time.Sleep(301 * time.Millisecond); c.count("new") != 30 || q.Stats().Delivered != 30 {
			t.Errorf("%+v", q.Stats())
		}
	})
}

func TestFailingDestinationHasOnlyItsShare(t *testing.T) {
	for name, c := range map[string]struct {
		how  manner
		wait time.Duration // until that is seen
		left int           // of what was tried, in flight still
	}{
		"refuses the connection": {in(time.Millisecond, 0), time.Second, 0},
		"answers 500":            {in(time.Millisecond, 500), time.Second, 0},
		"dislikes the event":     {in(time.Millisecond, 422), time.Second, 0},
		"hangs":                  {never, 2 * time.Second, 1},
		"has hung":               {never, 20 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			among(t, func(t *testing.T, crowd *crowd, q *Queue) {
				crowd.set("bad", c.how)
				enqueue(t, q, "bad", 1)
				time.Sleep(c.wait)
				if n := crowd.inFlight("bad"); n != c.left {
					t.Fatalf("%d in flight", n)
				}
				crowd.set("bad", never)
				enqueue(t, q, "bad", 10)
				time.Sleep(10 * time.Second)
				if n := crowd.inFlight("bad"); n < 1 || n > 2 {
					t.Errorf("%d in flight, its share is 2", n)
				}
			})
		})
	}
}

func TestOneSuccessGivesTheCreditBack(t *testing.T) {
	among(t, func(t *testing.T, c *crowd, q *Queue) {
		c.set("back", never)
		enqueue(t, q, "back", 1)
		time.Sleep(20 * time.Second)
		c.set("back", in(50*time.Millisecond, 200))
		enqueue(t, q, "back", 1)
		time.Sleep(time.Second)
		enqueue(t, q, "back", 10)
		synctest.Wait()
		if n := c.inFlight("back"); n != 10 {
			t.Errorf("%d in flight", n)
		}
	})
}

func TestLoneSlowDestinationUsesAllWorkers(t *testing.T) {
	among(t, func(t *testing.T, c *crowd, q *Queue) {
		c.set("slow", in(4*time.Second, 200)) // four answers are worth more than none
		enqueue(t, q, "slow", 1)
		time.Sleep(5 * time.Second)
		enqueue(t, q, "slow", 100)
		time.Sleep(42 * time.Second)
		if n := q.Stats().Delivered; n != 101 {
			t.Errorf("%d delivered in the time of a hundred by ten", n)
		}
		if c.most["slow"] != 10 {
			t.Errorf("%d in flight, ten workers", c.most["slow"])
		}
	})
}

func TestInFlightNeverExceedsTheWorkers(t *testing.T) {
	among(t, func(t *testing.T, c *crowd, q *Queue) {
		for _, host := range []string{"a", "b", "c"} {
			c.set(host, in(10*time.Millisecond, 200))
			enqueue(t, q, host, 10)
		}
		time.Sleep(time.Second)
		for _, host := range []string{"a", "b", "c"} {
			c.set(host, never)
			enqueue(t, q, host, 100)
			time.Sleep(2 * time.Second)
		}
		time.Sleep(time.Minute)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, host := range []string{"a", "b", "c"} {
			if c.most[host] > 10 {
				t.Errorf("%s had %d in flight", host, c.most[host])
			}
		}
		if c.peak > 20 {
			t.Errorf("%d in flight in all: ten, and ten more in place of those that hang", c.peak)
		}
	})
}

// TestOneDeadOfTwentyCostsOthersNothing: a dead destination takes what it can get in
// a burst, at its best moment, and steadily, while its nineteen neighbours repeatedly get
// one event each.
func TestOneDeadOfTwentyCostsOthersNothing(t *testing.T) {
	for name, proven := range map[string]bool{"never tried": false, "it was good until then": true} {
		t.Run(name, func(t *testing.T) {
			among(t, func(t *testing.T, c *crowd, q *Queue) {
				c.set("dead", in(20*time.Millisecond, 200))
				if proven {
					enqueue(t, q, "dead", 1)
					time.Sleep(time.Second)
				}
				c.set("dead", never)
				enqueue(t, q, "dead", 100)
				for second := range 60 {
					if second > 0 { // the first second tells that it hangs
						enqueue(t, q, "dead", 10)
						delivered := q.Stats().Delivered
						for i := range 19 {
							host := fmt.Sprint("neighbour", i)
							c.set(host, in(20*time.Millisecond, 200))
							enqueue(t, q, host, 1)
						}
						time.Sleep(50 * time.Millisecond) // nineteen by ten, with one to spare
						if n := q.Stats().Delivered - delivered; n != 19 {
							t.Fatalf("second %d: %d of 19 within the time that they need alone", second, n)
						}
					}
					time.Sleep(time.Second)
				}
			})
		})
	}
}

// TestSimultaneousOutagesDelayOthersByASecond: nine good
// destinations die with a burst waiting for each.
func TestSimultaneousOutagesDelayOthersByASecond(t *testing.T) {
	among(t, func(t *testing.T, c *crowd, q *Queue) {
		for i := range 10 {
			c.set(fmt.Sprint("h", i), in(20*time.Millisecond, 200))
			enqueue(t, q, fmt.Sprint("h", i), 1)
		}
		time.Sleep(30 * time.Second)
		for i := range 9 {
			c.set(fmt.Sprint("h", i), never)
			enqueue(t, q, fmt.Sprint("h", i), 20)
		}
		time.Sleep(patience)
		for second := range 60 {
			before := c.count("h9")
			enqueue(t, q, "h9", 10)
			if time.Sleep(time.Second); c.count("h9") != before+10 {
				t.Fatalf("second %d: %d of 10 events", second, c.count("h9")-before)
			}
		}
	})
}
