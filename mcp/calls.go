package mcp

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// calls counts what runs, in all and by key, and how many calls each key made in the
// minute that runs.
type calls struct {
	mu     sync.Mutex
	total  int
	of     map[string]int
	minute time.Time
	made   map[string]int
}

func newCalls() *calls { return &calls{of: map[string]int{}} }

const errBusy = "BUSY: too many calls run at the same time; try again when one of them has ended"

// enter counts a request of a key until leave is called; counted ones are calls of the
// minute too. no is why it may not begin now, for the model to read.
func (c *calls) enter(key string, counted bool) (leave func(), no string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total >= maxCalls || c.of[key] >= maxCallsOfKey {
		return nil, errBusy
	}
	if counted {
		now := time.Now()
		if minute := now.Truncate(time.Minute); !minute.Equal(c.minute) {
			c.minute, c.made = minute, map[string]int{}
		}
		if c.made[key] >= maxCallsPerMinute {
			wait := math.Ceil(c.minute.Add(time.Minute).Sub(now).Seconds())
			return nil, fmt.Sprintf("RATE_LIMITED: a key makes %d calls a minute at most (again in %.0f seconds)", maxCallsPerMinute, wait)
		}
		c.made[key]++
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
