package dispatch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stopAfter closes the queue and returns how long that took.
func stopAfter(t *testing.T, q *Queue) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	begin := time.Now()
	if err := q.Close(ctx); err != nil {
		t.Error(err)
	}
	return time.Since(begin)
}

const longest = grace + 2*glance

// TestStopDeliversToASlowNewReceiver has an answer come after four seconds, of which nothing is known.
func TestStopDeliversToASlowNewReceiver(t *testing.T) {
	among(t, func(t *testing.T, c *crowd, q *Queue) {
		c.set("slow", in(4*time.Second, 200))
		enqueue(t, q, "slow", 3)
		if took := stopAfter(t, q); c.count("slow") != 3 || took > 12*time.Second+glance {
			t.Errorf("%d arrived in %v", c.count("slow"), took)
		}
	})
}

// TestStopWaitsTwoSecondsForAKnownHang waits two seconds for a receiver that hung before, and the
// time of a delivery for one that hangs only now.
func TestStopWaitsTwoSecondsForAKnownHang(t *testing.T) {
	for name, before := range map[string]int{"never tried": 0, "known to hang": 10, "good before": 1} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd()
			var logs bytes.Buffer
			q := c.queue(t, QueueConfig{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
			c.set("hangs", never)
			switch before {
			case 1:
				c.set("hangs", in(10*time.Millisecond, 200))
				enqueue(t, q, "hangs", 1)
				time.Sleep(time.Second)
				c.set("hangs", never)
			case 10:
				enqueue(t, q, "hangs", 10)
				time.Sleep(16 * time.Second)
			}
			enqueue(t, q, "hangs", 100)
			most := DefaultTimeout + longest
			if before == 10 {
				most = longest
			}
			if took := stopAfter(t, q); took > most {
				t.Errorf("%s: the stop took %v", name, took)
			}
			if s := q.Stats(); s.Waiting != 0 || s.InFlight != 0 {
				t.Errorf("%s: %+v", name, s)
			}
			if !strings.Contains(logs.String(), "destination=hangs:80 count=") || strings.Count(logs.String(), "webhooks dropped while stopping") != 1 {
				t.Errorf("%s: the log has\n%s", name, logs.String())
			}
		})
	}
}

// TestStopWaitsForReceiversThatAnswer: hanging receivers beside the answering
// ones must not use up the time.
func TestStopWaitsForReceiversThatAnswer(t *testing.T) {
	among(t, func(t *testing.T, c *crowd, q *Queue) {
		for i := range 5 {
			host := fmt.Sprint("hangs", i)
			c.set(host, never)
			enqueue(t, q, host, 50)
		}
		c.set("known", in(5*time.Second, 200))
		c.set("good", in(100*time.Millisecond, 200))
		enqueue(t, q, "known", 1)
		time.Sleep(time.Minute)
		enqueue(t, q, "good", 400)
		enqueue(t, q, "known", 10)
		took := stopAfter(t, q)
		if c.count("good") != 400 || c.count("known") != 11 {
			t.Errorf("good got %d, known %d", c.count("good"), c.count("known"))
		}
		if s := q.Stats(); s.Delivered != 411 {
			t.Errorf("%+v", s)
		}
		if took > 15*time.Second {
			t.Errorf("the stop took %v", took)
		}
	})
}

func TestStopDoesNotWaitForRefusingReceivers(t *testing.T) {
	among(t, func(t *testing.T, c *crowd, q *Queue) {
		c.set("refuses", in(0, 0))
		c.set("errs", in(time.Millisecond, 500))
		enqueue(t, q, "refuses", 300)
		enqueue(t, q, "errs", 300)
		if took := stopAfter(t, q); took > longest {
			t.Errorf("the stop took %v", took)
		}
	})
}

func TestStopEndsWithItsContext(t *testing.T) {
	among(t, func(t *testing.T, c *crowd, q *Queue) {
		c.set("slow", in(time.Second, 200))
		enqueue(t, q, "slow", 1000)
		if took := stopAfter(t, q); took < 20*time.Second-grace || took > 20*time.Second-grace+glance {
			t.Errorf("the stop took %v", took)
		}
		if s := q.Stats(); s.Closed+s.Delivered+s.Failed != 1000 {
			t.Errorf("%+v", s)
		}
	})
}

func TestInterruptEndsTheWaitForATest(t *testing.T) {
	among(t, func(t *testing.T, c *crowd, q *Queue) {
		c.set("hangs", never)
		time.AfterFunc(time.Second, q.Interrupt)
		begin := time.Now()
		if o := q.PostNow(t.Context(), notice("http://hangs/")); o.Delivered() || time.Since(begin) != time.Second {
			t.Errorf("%+v after %v", o, time.Since(begin))
		}
	})
}
