package mcp

import (
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"postern/internal/budget"
)

// calls counts what runs, in all and by key, and how many calls each key made in the last
// minute.
type calls struct {
	mu    sync.Mutex
	total int
	of    map[string]int
	made  map[string]*budget.Minute
	swept time.Time // when those that made none lately were forgotten
}

func newCalls() *calls { return &calls{of: map[string]int{}, made: map[string]*budget.Minute{}} }

const errBusy = "BUSY: too many calls run at the same time; try again when one of them has ended"

// enter counts a request of a key until leave is called; counted ones are of its
// maxCallsPerMinute in any 60 seconds too. no is why it may not begin now, for the model to read.
func (c *calls) enter(key string, counted bool) (leave func(), no string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total >= maxCalls || c.of[key] >= maxCallsOfKey {
		return nil, errBusy
	}
	if counted {
		if wait := c.minuteOf(key, time.Now()).Take(maxCallsPerMinute, time.Now()); wait > 0 {
			return nil, fmt.Sprintf("RATE_LIMITED: a key makes %d calls a minute at most (again in %.0f seconds)", maxCallsPerMinute, math.Ceil(wait.Seconds()))
		}
	}
	c.total++
	c.of[key]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.total--
		if c.of[key]--; c.of[key] == 0 {
			delete(c.of, key)
		}
	}, ""
}

// minuteOf returns what a key made, and now and then forgets those that made nothing.
func (c *calls) minuteOf(key string, now time.Time) *budget.Minute {
	if now.Sub(c.swept) >= time.Minute {
		maps.DeleteFunc(c.made, func(_ string, m *budget.Minute) bool { return m.Empty(now) })
		c.swept = now
	}
	m := c.made[key]
	if m == nil {
		m = &budget.Minute{}
		c.made[key] = m
	}
	return m
}
