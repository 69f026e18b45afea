package dispatch

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/internal/nightly"
)

// In this file, ten destinations get 200 events a second, and some of them never answer.

const (
	destinations = 10
	perSecond    = 200
)

// load is such a period. The first destinations are the dead ones.
type load struct {
	dead  int
	from  time.Duration // when they die
	lasts time.Duration
	alone bool // no event is made for them
}

// journey records what happened to the events for the healthy destinations.
type journey struct {
	mu       sync.Mutex
	enqueued map[int]time.Time // under way
	waited   []time.Duration   // from Enqueue to the receiver
	took     []time.Duration   // from Enqueue to its answer
}

func (j *journey) left(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.enqueued[n] = time.Now()
}

// RoundTrip implements [http.RoundTripper] for the healthy ones.
func (j *journey) RoundTrip(req *http.Request) (*http.Response, error) {
	n, _ := strconv.Atoi(req.Header["x-request-id"][0]) //nolint:staticcheck // as it is on the wire
	arrived := time.Now()
	if req.URL.Host == "h9" && rand.IntN(3) == 0 {
		time.Sleep(rand.N(600 * time.Millisecond)) // one is slow now and then
	} else {
		time.Sleep(rand.N(30 * time.Millisecond))
	}
	if n < 0 {
		return taken(), nil // for one that is dead later
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waited = append(j.waited, arrived.Sub(j.enqueued[n]))
	j.took = append(j.took, time.Since(j.enqueued[n]))
	delete(j.enqueued, n)
	return taken(), nil
}

func taken() *http.Response { return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody} }

// run offers the events, each to the next destination.
func (l load) run(t *testing.T) (j *journey) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		j = &journey{enqueued: map[int]time.Time{}}
		begin := time.Now()
		isDead := func(host string, at time.Time) bool {
			i, _ := strconv.Atoi(host[1:])
			return i < l.dead && at.Sub(begin) >= l.from
		}
		q := NewQueue(QueueConfig{Sender: &Sender{timeout: DefaultTimeout, wire: tripper(func(req *http.Request) (*http.Response, error) {
			if isDead(req.URL.Host, time.Now()) {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			return j.RoundTrip(req)
		})}})
		for n := range int(l.lasts.Seconds()) * perSecond {
			time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / perSecond)))
			if n%destinations < l.dead {
				if !l.alone {
					_ = q.Enqueue(numbered(fmt.Sprint("h", n%destinations), -1))
				}
				continue
			}
			j.left(n)
			if err := q.Enqueue(numbered(fmt.Sprint("h", n%destinations), n)); err != nil {
				t.Fatalf("after %v: %v, %+v", time.Since(begin), err, q.Stats())
			}
		}
		time.Sleep(time.Minute)
		l.ended(t, q, j)
	})
	return j
}

// ended checks that no event for a healthy destination is left in the queue or was
// dropped.
func (l load) ended(t *testing.T, q *Queue, j *journey) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.enqueued) != 0 {
		t.Errorf("%d events for healthy destinations were lost, %+v", len(j.enqueued), q.Stats())
	}
	if s := q.Stats(); !l.alone && l.dead > 0 && s.Full == 0 {
		t.Errorf("%+v: nothing was ever full, this shows nothing", s)
	}
	if err := q.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

type tripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f tripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func percentileOf(all []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func TestHourWithDeadReceiversCostsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("lives through hours")
	}
	hour, while := nightly.Or(3*time.Minute, time.Hour), nightly.Or(3*time.Minute, 10*time.Minute)
	for _, dead := range nightly.Or([]int{1, 9}, []int{1, 3, 9}) {
		alone := load{dead: dead, lasts: while, alone: true}.run(t)
		for name, l := range map[string]load{
			"for an hour":                {dead: dead, lasts: hour},
			"all at once, after a while": {dead: dead, lasts: while, from: while / 2},
		} {
			t.Run(fmt.Sprint(dead, " of ten dead ", name), func(t *testing.T) { l.run(t).compare(t, alone) })
		}
	}
}

// compare compares the times of the healthy destinations with those that they have alone.
func (j *journey) compare(t *testing.T, alone *journey) {
	t.Helper()
	for what, p99 := range map[string][2]time.Duration{
		"to the receiver": {percentileOf(j.waited, 0.99), percentileOf(alone.waited, 0.99)},
		"to its answer":   {percentileOf(j.took, 0.99), percentileOf(alone.took, 0.99)},
	} {
		t.Logf("p99 %s: %v, alone %v", what, p99[0], p99[1])
		if p99[0] > 2*p99[1] {
			t.Errorf("p99 %s: %v, alone %v", what, p99[0], p99[1])
		}
	}
	if longest := slices.Max(j.waited); longest > 2*patience {
		t.Errorf("one waited for %v", longest)
	}
}
