package whatsapp

import (
	"context"
	"sync"
	"time"

	"postern/event"
	"postern/whatsapp/translate"
)

// reloginAfter is how long the session waits for WhatsApp's request to log in after a
// pairing. It usually comes within a second.
const reloginAfter = 3 * time.Second

// reloginState follows the step from paired to logged in. WhatsApp ends the pairing
// stream with code 515, which the library turns into ManualLoginReconnect. If the
// connection closes first, the code may be lost. In both cases exactly one
// manual.reconnect is reported.
type reloginState int

const (
	reloginNone      reloginState = iota
	reloginEarly                  // code 515 was handled before its pairing
	reloginExpected               // paired; waiting for code 515
	reloginAnnounced              // manual.reconnect was reported; waiting for the login
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

// expect starts the watchdog after a pairing. It reports whether the request to log in
// has already come.
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
				r.conn.log.Info("WhatsApp did not request the login after pairing")
			}
		case <-ctx.Done():
		}
	})
	return early
}

// announce reports manual.reconnect, once per pairing or request of WhatsApp, and
// returns whether it did. The library handles a pairing and the code 515 after it in
// two goroutines; a code that comes first is kept for the pairing. The caller holds
// facts.order.
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
		r.facts.change(translate.ConnectionFact(event.TypeManualReconnect, event.ConnectionConnecting, event.Connecting))
	}
	return due
}

// between reports whether the closed stream belongs to a pairing. A code 515 alone is
// not enough: a pairing need not follow.
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
