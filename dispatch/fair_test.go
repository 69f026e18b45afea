package dispatch

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
)

// This file tests which destination loses a place when none is left.

// numbered returns an event that carries its number.
func numbered(host string, n int) event.Notice {
	return event.Notice{Kind: event.MessagesUpsert, Body: []byte("{}"), InstanceName: "n", RequestID: fmt.Sprint(n), To: []event.Destination{{URL: "http://" + host + "/"}}}
}

// waitingIDs returns the numbers of the events that wait for a host, in order.
func waitingIDs(q *Queue, host string) (ids []string) {
	q.plan.mu.Lock()
	defer q.plan.mu.Unlock()
	if l := q.plan.hosts[host+":80"]; l != nil {
		for _, d := range l.waiting {
			ids = append(ids, d.notice.RequestID)
		}
	}
	return ids
}

func TestFullQueueEvictsFromTheLargestHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs bytes.Buffer
		c := newCrowd()
		q := c.queue(t, QueueConfig{Workers: 1, Size: 6, Logger: slog.New(slog.NewTextHandler(&logs, nil))})
		c.set("dead", never)
		c.set("other", never)
		for n := range 7 { // one on its way and six that wait
			if err := q.Enqueue(numbered("dead", n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := q.Enqueue(numbered("dead", 7)); !errors.Is(err, ErrQueueFull) {
			t.Errorf("a newcomer of who holds most: %v", err)
		}
		for n := range 3 {
			if err := q.Enqueue(numbered("other", n)); err != nil {
				t.Errorf("newcomer %d of another: %v", n, err)
			}
		}
		if dead, other := fmt.Sprint(waitingIDs(q, "dead")), fmt.Sprint(waitingIDs(q, "other")); dead != "[1 2 3]" || other != "[0 1 2]" {
			t.Errorf("there wait %s and %s", dead, other)
		}
		// Both hold three, so both hold most.
		for _, host := range []string{"dead", "other"} {
			if err := q.Enqueue(numbered(host, 9)); !errors.Is(err, ErrQueueFull) {
				t.Errorf("%s: %v", host, err)
			}
		}
		if s := q.Stats(); s.Waiting != 6 || s.Full != 6 {
			t.Errorf("%+v, want 6 waiting and 6 dropped: three newcomers, three that had a place", s)
		}
		if n := strings.Count(logs.String(), "level=WARN msg=\"webhook dropped\""); n != 1 || !strings.Contains(logs.String(), "dead:80") {
			t.Errorf("%d warnings about those that lost their places, want one a minute:\n%s", n, logs.String())
		}
	})
}

func TestEachDestinationOfOneEventIsJudgedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		q := c.queue(t, QueueConfig{Workers: 1, Size: 4})
		c.set("dead", never)
		c.set("other", never)
		enqueue(t, q, "dead", 5)
		n := numbered("dead", 5)
		n.To = append(n.To, event.Destination{URL: "http://other/"})
		err := q.Enqueue(n)
		if !errors.Is(err, ErrQueueFull) || strings.Count(err.Error(), "full") != 1 {
			t.Errorf("%v, want one destination refused", err)
		}
		if len(waitingIDs(q, "other")) != 1 || len(waitingIDs(q, "dead")) != 3 {
			t.Errorf("there wait %v and %v", waitingIDs(q, "dead"), waitingIDs(q, "other"))
		}
	})
}

// TestThePlacesAreSharedAsTheRuleSays compares the queue with a naive implementation of
// the rule. No event is sent, so only places are taken.
func TestThePlacesAreSharedAsTheRuleSays(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			size, hosts := 1+rnd.IntN(30), 1+rnd.IntN(8)
			c := newCrowd()
			q := c.queue(t, QueueConfig{Workers: 1, Size: size})
			c.set("first", never)
			enqueue(t, q, "first", 1)
			held := map[string]int{}
			for range 300 {
				host := fmt.Sprint("h", min(rnd.IntN(hosts), rnd.IntN(hosts)))
				before := q.Stats().Full
				err := q.Enqueue(notice("http://" + host + "/"))
				most, all := 0, 0
				for _, n := range held {
					most, all = max(most, n), all+n
				}
				full := all == size
				switch {
				case full && held[host] == most:
					if !errors.Is(err, ErrQueueFull) || q.Stats().Full != before+1 {
						t.Fatalf("seed %d: %s holds most, %d: %v", seed, host, most, err)
					}
				case err != nil || full != (q.Stats().Full == before+1):
					t.Fatalf("seed %d: a newcomer of %s, which holds %d of %d and the most is %d: %v", seed, host, held[host], all, most, err)
				}
				was, victims := held, 0
				held = map[string]int{}
				for i := range hosts {
					h := fmt.Sprint("h", i)
					held[h] = len(waitingIDs(q, h))
					if held[h] < was[h] {
						victims++
						if was[h] != most || held[h] != most-1 {
							t.Fatalf("seed %d: %s had %d, the most is %d, and has %d", seed, h, was[h], most, held[h])
						}
					}
				}
				if want := 0; victims > 1 || !full && victims != want {
					t.Fatalf("seed %d: %d destinations lost places", seed, victims)
				}
			}
		})
	}
}

func TestEmptiedQueueServesTheRestAndForgetsDestinations(t *testing.T) {
	among(t, func(t *testing.T, c *crowd, q *Queue) {
		for i := range 40 {
			c.set(fmt.Sprint("h", i), in(time.Second, 200))
		}
		sent, lost := 0, 0
		for n := range 4000 {
			sent++
			if q.Enqueue(numbered(fmt.Sprint("h", n*n%40), n)) != nil {
				lost++
			}
		}
		time.Sleep(10 * time.Minute)
		s := q.Stats()
		if s.Waiting != 0 || s.InFlight != 0 || s.Delivered+s.Full != uint64(sent) || s.Delivered != 1010 || lost > int(s.Full) {
			t.Errorf("%+v of %d, %d refused", s, sent, lost)
		}
	})
}

func TestIdleDestinationsAreForgotten(t *testing.T) {
	among(t, func(t *testing.T, c *crowd, q *Queue) {
		for i := range 10 * fewHosts {
			host := fmt.Sprint("h", i)
			c.set(host, in(time.Millisecond, 200))
			enqueue(t, q, host, 1)
			time.Sleep(credit / fewHosts)
		}
		if n := len(q.plan.hosts); n > 3*fewHosts {
			t.Errorf("%d destinations are remembered", n)
		}
		if len(waitingIDs(q, "h1")) != 0 || q.plan.hosts[fmt.Sprint("h", 10*fewHosts-10, ":80")] == nil {
			t.Error("the newest is forgotten within its minute")
		}
	})
}
