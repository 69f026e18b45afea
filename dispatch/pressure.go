package dispatch

import (
	"context"
	"sync"
	"time"
)

// Who makes events of batches faster than they can be sent is held up a little, so that
// they are told soon after they happened. Only where it is the program that cannot keep
// pace: a receiver that answers slowly, or not, holds nobody up, and what is for it waits
// in the file.
const (
	mostLag   = 50 * time.Millisecond  // from a commit to the first attempt, from which on the relay is behind
	quickly   = 10 * time.Millisecond  // in which a receiver answers that is not to blame for it
	mostPause = 100 * time.Millisecond // for which one call is held up
	lookAgain = 2 * time.Millisecond
	lagIsNews = time.Second // for how long a lag that was seen says anything
)

// pressure is how far the relay is behind with the events of batches.
type pressure struct {
	mu   sync.Mutex
	lag  time.Duration // of the first attempt that began last
	at   time.Time     // when that was; zero: the receiver is to blame
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

// KeepPace waits while events of batches come faster than they can be sent to a receiver
// that answers at once, for a tenth of a second at most. Who is about to make some in
// numbers calls it first.
func (r *Relay) KeepPace(ctx context.Context) {
	for left := mostPause; left > 0 && ctx.Err() == nil && r.pressure.behind(time.Now()); left -= lookAgain {
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
		}
	}
}
