package instance

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"postern/event"
)

// keeper keeps one instance's connection. The session reports facts to it; it
// passes them to the registry and decides whether to dial.
type keeper struct {
	sup     *Supervisor
	id      int64
	session Session

	mu      sync.Mutex
	changed chan struct{} // closed and replaced after each fact and each dial
	dialing bool          // a goroutine is waiting to dial, or dialling
	calm    bool          // dial no more: logged out, restarting or stopping
	tries   int           // dials since the last time online
	failure error         // why the last dial failed, nil after a good one
	code    *event.QRCode // the code that waits for a phone
	request string        // id of the API call that wants the connection

	lastReceived, lastSent time.Time
}

// report is the session's report function.
func (k *keeper) report(ctx context.Context, f event.Fact) error {
	k.mu.Lock()
	if f.RequestID == "" {
		f.RequestID = k.request
	}
	if f.Status == event.Reconnecting && !k.mayRetry() {
		f.Status = event.Disconnected
	}
	k.mu.Unlock()

	if err := k.sup.reg.Report(ctx, k.id, f); err != nil {
		if f.Status != "" {
			k.note(f) // the connection is what it is, stored or not
		}
		return err
	}
	k.note(f)
	if code, ok := f.Data.(event.QRCode); ok && k.sup.cfg.OnCode != nil {
		k.sup.cfg.OnCode(k.id, code.Code)
	}
	return nil
}

// mayRetry reports whether a lost connection is dialled again. The caller
// holds k.mu.
func (k *keeper) mayRetry() bool {
	return k.sup.cfg.AutoReconnect && !k.calm && k.sup.life.Err() == nil && k.session.Paired()
}

// note draws the consequences of a stored fact.
func (k *keeper) note(f event.Fact) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch data := f.Data.(type) {
	case event.QRCode:
		k.code = &data
	case *event.Message, event.Receipt:
		k.lastReceived = time.Now()
	}
	switch f.Status {
	case "", event.QRCodeState:
	case event.Online:
		k.tries, k.code, k.request = 0, nil, ""
	case event.Reconnecting:
		k.dialAfter(k.delay())
	case event.Connecting:
		if u, ok := f.Data.(event.ConnectionUpdate); ok && u.Type == event.TypeManualReconnect {
			k.dialAfter(0) // paired: the login is due at once
		}
	case event.ConnectionError:
		k.code = nil
		if u, ok := f.Data.(event.ConnectionUpdate); ok && u.Type == event.TypeStreamError && k.mayRetry() {
			k.dialAfter(k.delay())
		}
	default:
		k.code = nil
	}
	k.broadcast()
}

// broadcast wakes those who await. The caller holds k.mu.
func (k *keeper) broadcast() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// await blocks until ok holds or ctx ends. ok runs with k.mu held.
func (k *keeper) await(ctx context.Context, ok func() bool) error {
	for {
		k.mu.Lock()
		done, changed := ok(), k.changed
		k.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// settled reports whether the attempt to connect came to some end. The caller
// holds k.mu.
func (k *keeper) settled() bool {
	return k.session.Online() || k.code != nil || !k.dialing && k.failure != nil || k.ended()
}

// ended reports whether the stored state says that nothing more will come by
// itself. The caller holds k.mu.
func (k *keeper) ended() bool {
	if k.dialing {
		return false
	}
	rec, err := k.sup.reg.ByID(k.id)
	if err != nil {
		return true
	}
	switch rec.Status {
	case event.Connecting, event.Reconnecting, event.Pairing, event.QRCodeState, event.PairingCodeState:
		return false
	default:
		return true
	}
}

// delay is the pause before the next dial: exponential from InitialDelay to
// MaxDelay, less a random part of up to a quarter so that instances which were
// lost together do not come back together. The caller holds k.mu.
func (k *keeper) delay() time.Duration {
	cfg := k.sup.cfg
	d := cfg.MaxDelay
	if k.tries < 16 {
		d = min(d, cfg.InitialDelay<<k.tries)
	}
	return d - time.Duration(rand.Int64N(int64(d)/4+1))
}

// startDial dials after the delay unless a dial is under way.
func (k *keeper) startDial(delay time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calm = false
	k.dialAfter(delay)
}

// dialAfter starts the goroutine that dials. The caller holds k.mu.
func (k *keeper) dialAfter(delay time.Duration) {
	if k.dialing || k.calm || k.sup.life.Err() != nil {
		return
	}
	k.dialing = true
	k.sup.work.Go(func() { k.dial(delay) })
}

// dial waits and dials until one dial succeeds; what follows a good one is
// reported by the session.
func (k *keeper) dial(delay time.Duration) {
	for {
		select {
		case <-time.After(delay):
		case <-k.sup.life.Done():
		}
		err := k.dialOnce()
		k.mu.Lock()
		k.failure = err
		again := err != nil && k.mayRetry()
		if !again {
			k.dialing = false
			k.broadcast()
			k.mu.Unlock()
			if err != nil && k.sup.life.Err() == nil {
				k.sup.set(k.id, event.Fact{Status: event.ConnectionTimeout, Error: err.Error()})
			}
			return
		}
		delay = k.delay()
		k.broadcast()
		k.mu.Unlock()
		k.sup.set(k.id, event.Fact{Status: event.Reconnecting, Error: err.Error()})
	}
}

func (k *keeper) dialOnce() error {
	k.mu.Lock()
	stopped := k.calm || k.sup.life.Err() != nil
	k.tries++
	k.mu.Unlock()
	if stopped {
		return context.Canceled
	}
	ctx, cancel := context.WithTimeout(k.sup.life, k.sup.cfg.ConnectTimeout)
	defer cancel()
	return k.session.Connect(ctx)
}

// quiet ends all dialling and drops the socket.
func (k *keeper) quiet(ctx context.Context) error {
	k.mu.Lock()
	k.calm = true
	k.code = nil
	k.mu.Unlock()
	k.session.Disconnect()
	return k.await(ctx, func() bool { return !k.dialing })
}

// close is quiet for the end of the program, when life is over already.
func (k *keeper) close() { _ = k.quiet(context.Background()) }
