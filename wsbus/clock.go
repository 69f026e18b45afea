package wsbus

import "time"

const (
	// lookEvery is how often the hub compares the clock on the wall with the time awake, which
	// timers count, and so how late the end of an expired token can be.
	lookEvery = time.Second
	// drift is the difference that goes unnoticed.
	drift = 10 * time.Millisecond
)

var start = time.Now()

// aheadNow returns how far the clock on the wall is ahead of the time awake. It changes when
// the clock is set and while the machine sleeps.
func (h *Hub) aheadNow() time.Duration {
	return h.now().Round(0).Sub(start.Round(0)) - time.Since(start)
}

// checkClock sets the timers of the clients again after a change of the clock.
func (h *Hub) checkClock() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.tokens) == 0 {
		return
	}
	if ahead := h.aheadNow(); (ahead - h.ahead).Abs() > drift {
		h.ahead = ahead
		h.eachLocked((*client).clockWasSet)
	}
	h.looks.Reset(lookEvery)
}
