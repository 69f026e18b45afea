package dispatch

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is many receivers behind one RoundTripper, for a bubble, where time stands still
// during waits for a socket. A host answers as its manner says.
type crowd struct {
	mu      sync.Mutex
	manners map[string]manner
	flying  map[string]int
	most    map[string]int // in flight at once, by host
	total   int            // in flight to all of them
	peak    int            // in flight at once to all of them
	arrived map[string]int
}

// manner is how a receiver answers, given the number of its requests so far: with a
// status after a time, or never if that is negative. Status 0 is a refused connection.
type manner func(n int) (after time.Duration, status int)

func never(int) (time.Duration, int) { return -1, 0 }

func in(after time.Duration, status int) manner {
	return func(int) (time.Duration, int) { return after, status }
}

func newCrowd() *crowd {
	return &crowd{manners: map[string]manner{}, flying: map[string]int{}, most: map[string]int{}, arrived: map[string]int{}}
}

func (c *crowd) queue(t *testing.T, cfg QueueConfig) *Queue {
	t.Helper()
	cfg.Sender = &Sender{timeout: DefaultTimeout, wire: c}
	q := NewQueue(cfg)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = q.Close(ctx)
	})
	return q
}

// RoundTrip implements [http.RoundTripper].
func (c *crowd) RoundTrip(req *http.Request) (*http.Response, error) {
	host := req.URL.Host
	after, status := c.enter(host)
	defer c.leave(host)
	if after < 0 {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	select {
	case <-time.After(after):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	resp := httptest.NewRecorder()
	resp.WriteHeader(status)
	return resp.Result(), nil
}

func (c *crowd) enter(host string) (time.Duration, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arrived[host]++
	c.flying[host]++
	c.most[host] = max(c.most[host], c.flying[host])
	c.total++
	c.peak = max(c.peak, c.total)
	return c.manners[host](c.arrived[host])
}

func (c *crowd) leave(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flying[host]--
	c.total--
}

// set changes the manner of a host.
func (c *crowd) set(host string, m manner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.manners[host] = m
}

// inFlight returns the number of requests to a host in flight.
func (c *crowd) inFlight(host string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flying[host]
}

func (c *crowd) count(host string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.arrived[host]
}

// enqueue adds n events for a host to the queue, each of which must find a place.
func enqueue(t *testing.T, q *Queue, host string, n int) {
	t.Helper()
	for range n {
		if err := q.Enqueue(notice("http://" + host + "/")); err != nil {
			t.Fatal(err)
		}
	}
}

// among runs a test in a bubble with a crowd and a queue of the default size.
func among(t *testing.T, fn func(t *testing.T, c *crowd, q *Queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		fn(t, c, c.queue(t, QueueConfig{}))
	})
}
