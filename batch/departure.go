package batch

import (
	"errors"
	"sync"
)

// departure is the moment after which a message may have left: the send asks
// for it, and until then it can be cancelled.
type departure struct {
	now func() // called when it leaves

	mu     sync.Mutex
	left   bool
	called bool // off
}

var errCalledOff = errors.New("the send was called off before the message left")

// leave is event.Outgoing.Leaving.
func (d *departure) leave() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.called {
		return errCalledOff
	}
	if !d.left {
		d.now()
	}
	d.left = true
	return nil
}

// cancel keeps the message from leaving. It reports false when it may have
// left already.
func (d *departure) cancel() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.called = !d.left
	return d.called
}
