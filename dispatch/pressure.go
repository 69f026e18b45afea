package dispatch

import (
	"context"
	"sync"
	"time"
)

// A caller that makes events of batches faster than they can be sent is delayed a little,
// so that events are sent soon after they happened. This applies only if the program
// itself cannot keep pace: a slow or dead receiver delays no caller, and its events wait
// in the file.
const (
	mostLag   = 50 * time.Millisecond  // from a commit to the first attempt, from which on the relay is behind
	quickly   = 10 * time.Millisecond  // a receiver that answers within it is not the cause
	mostPause = 100 * time.Millisecond // for which one call is delayed
	lookAgain = 2 * time.Millisecond
	lagIsNews = time.Second // for how long an observed lag is valid
)

// pressure measures how far the relay is behind with the events of batches.
type pressure struct {
	mu   sync.Mutex
	lag  time.Duration // of the newest first attempt
	at   time.Time     // when that was; zero: the receiver is the cause
	took time.Duration // about how long the receiver takes to accept
}

// began notes a first attempt at an event that was due.
func (p *pressure) began(due, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lag, p.at = now.Sub(due), now
}

// ended notes how long an attempt took, and whether the receiver accepted.
func (p *pressure) ended(took time.Duration, accepted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !accepted {
		p.at = time.Time{}
		return
	}
	p.took += (took - p.took) / 8
}

func (p *pressure) behind(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lag > mostLag && p.took < quickly && now.Sub(p.at) < lagIsNews
}

// KeepPace waits while events of batches are made faster than they can be sent to a
// receiver that answers at once, for at most a tenth of a second. Call it before making
// many such events.
func (r *Relay) KeepPace(ctx context.Context) {
	for left := mostPause; left > 0 && ctx.Err() == nil && r.pressure.behind(time.Now()); left -= lookAgain {
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
		}
	}
}
