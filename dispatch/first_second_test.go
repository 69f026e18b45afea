package dispatch

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// onset is the seconds around the moment when receivers stop answering: ten destinations
// get 200 events a second, and the first of them die together.
type onset struct {
	dead    int
	from    time.Duration // when they die
	burst   int           // events for each dead destination that come at once
	latency func(n int) time.Duration
	alone   bool // no event is made for the dead ones once they are dead
}

const onsetLasts = 2 * time.Second

// run returns the times from Enqueue to the answer of the events for healthy
// destinations that were made in the first seconds after the others died.
func (o onset) run(t *testing.T) (took []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		died := begin.Add(o.from)
		var mu sync.Mutex
		made := map[int]time.Time{}
		q := NewQueue(QueueConfig{Sender: &Sender{timeout: DefaultTimeout, wire: tripper(func(req *http.Request) (*http.Response, error) {
			n, _ := strconv.Atoi(req.Header["x-request-id"][0]) //nolint:staticcheck // as it is on the wire
			i, _ := strconv.Atoi(req.URL.Host[1:])
			if i < o.dead && !time.Now().Before(died) {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			time.Sleep(o.latency(n))
			mu.Lock()
			defer mu.Unlock()
			if at := made[n]; i >= o.dead && !at.Before(died) {
				took = append(took, time.Since(at))
			}
			return taken(), nil
		})}})
		for n := range int((o.from + onsetLasts).Seconds() * perSecond) {
			time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / perSecond)))
			i, copies := n%destinations, 1
			if i < o.dead && !time.Now().Before(died) {
				copies = 0
				if turn := n / destinations; !o.alone && turn%o.burst == 0 {
					copies = o.burst
				}
			}
			mu.Lock()
			made[n] = time.Now()
			mu.Unlock()
			for range copies {
				if err := q.Enqueue(numbered(fmt.Sprint("h", i), n)); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(time.Minute)
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return took
}

func TestHealthyReceiversDoNotWaitWhenOthersDie(t *testing.T) {
	quick := func(n int) time.Duration { return time.Duration(1+n*7%29) * time.Millisecond }
	for _, dead := range []int{1, 3} {
		for name, o := range map[string]onset{
			"dead at once":                  {from: 0, burst: 1, latency: quick},
			"after they answered":           {from: 5 * time.Second, burst: 1, latency: quick},
			"with bursts":                   {from: 5 * time.Second, burst: 20, latency: quick},
			"after they answered in 300 ms": {from: 5 * time.Second, burst: 1, latency: func(n int) time.Duration { return quick(n) + slowFirst(n, dead) }},
		} {
			t.Run(fmt.Sprint(dead, " ", name), func(t *testing.T) {
				o.dead = dead
				with := o.run(t)
				o.alone = true
				alone := o.run(t)
				if len(with) != len(alone) || len(with) == 0 {
					t.Fatalf("%d answers beside dead receivers, %d alone", len(with), len(alone))
				}
				p99, base := percentileOf(with, 0.99), percentileOf(alone, 0.99)
				t.Logf("p99 %v, alone %v; longest %v", p99, base, percentileOf(with, 1))
				if p99 >= 2*base {
					t.Errorf("p99 %v, alone %v", p99, base)
				}
			})
		}
	}
}

// slowFirst returns the additional time of events for the destinations that die later.
func slowFirst(n, dead int) time.Duration {
	if n%destinations < dead {
		return 270 * time.Millisecond
	}
	return 0
}
