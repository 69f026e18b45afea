package whatsapp

import (
	"context"
	"sync"
	"time"

	"postern/event"
)

// reloginAfter is how long WhatsApp gets to ask for the login that follows a
// pairing. It asks within a second.
const reloginAfter = 3 * time.Second

// reloginState follows the step from paired to logged in. WhatsApp ends the
// pairing stream with code 515, which the library turns into
// ManualLoginReconnect, unless the connection closes first: then the node may
// be lost. Either way exactly one manual.reconnect is reported.
type reloginState int

const (
	reloginNone      reloginState = iota
	reloginEarly                  // code 515 was handled before the pairing that it follows
	reloginExpected               // paired; waiting for code 515
	reloginAnnounced              // manual.reconnect was reported; waiting for Connect and its login
)

// relogin watches for the login that follows a pairing.
type relogin struct {
	conn  *connection
	facts *reporter

	mu    sync.Mutex
	state reloginState
	watch context.CancelFunc // stops the watchdog
}

// reset prepares for a new connection.
func (r *relogin) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = reloginNone
}

// stop ends the watchdog.
func (r *relogin) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopLocked()
}

// expect starts the watchdog after a pairing. It reports whether the
// request to log in has come already.
func (r *relogin) expect() (early bool) {
	ctx, stop := context.WithCancel(context.Background())
	r.mu.Lock()
	r.stopLocked()
	early = r.state == reloginEarly
	r.state = reloginExpected
	r.watch = stop
	r.mu.Unlock()
	r.conn.background.Go(func() {
		timer := time.NewTimer(reloginAfter)
		defer timer.Stop()
		select {
		case <-timer.C:
			r.facts.order.Lock()
			defer r.facts.order.Unlock()
			if r.announce() {
				r.conn.log.Info("whatsapp did not ask for the login after pairing")
			}
		case <-ctx.Done():
		}
	})
	return early
}

// announce reports manual.reconnect, once per pairing or request of
// WhatsApp, and tells whether it did. The library handles a pairing and the
// code 515 after it in two goroutines; when the code comes first it is kept
// for the pairing. The caller holds r.facts.order.
func (r *relogin) announce() bool {
	paired := r.conn.isPaired()
	r.mu.Lock()
	due := r.state == reloginExpected || r.state == reloginNone && paired
	if r.state == reloginNone && !paired {
		r.state = reloginEarly
	}
	if due {
		r.state = reloginAnnounced
		r.stopLocked()
	}
	r.mu.Unlock()
	if due {
		r.facts.tell(connectionFact(event.TypeManualReconnect, event.ConnectionConnecting, event.Connecting))
	}
	return due
}

// between reports whether a closed stream belongs to the pairing. A code
// 515 alone does not make it so: no pairing may follow.
func (r *relogin) between() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == reloginExpected || r.state == reloginAnnounced
}

func (r *relogin) loggedIn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = reloginNone
	r.stopLocked()
}

// stopLocked ends the watchdog. The caller holds r.mu.
func (r *relogin) stopLocked() {
	if r.watch != nil {
		r.watch()
		r.watch = nil
	}
}
