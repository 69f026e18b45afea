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

	// turn, of size 1, is full while a call connects, pairs, restarts or logs
	// out: what one of them stores must not be overtaken by another.
	turn chan struct{}
	gone error // why there is nothing to connect any more; belongs to who has the turn

	mu      sync.Mutex
	changed chan struct{} // closed and replaced after each fact and each dial
	state   event.State   // what the connection is, as last told
	unsaved event.State   // that state when it could not be stored, else empty
	dialing bool          // a goroutine is waiting to dial, or dialling
	hangup  context.CancelFunc
	redial  bool          // a loss was told while the dial still ran; dial again
	pause   time.Duration // before that
	calm    bool          // dial no more: logging out, restarting or stopping
	tries   int           // pauses since the last time online
	failure error         // why the last dial failed, nil after a good one
	code    *event.QRCode // the code that waits for a phone
	curing  bool          // refused as outdated, and a newer version of the client is looked for
	coding  *coding       // a call pairs by a typed code, and dials by itself
	request string        // id of the API call that wants the connection
	streak  streak        // of refusals

	lastReceived, lastSent time.Time

	auto automatic
}

// take waits for the turn. It fails with ErrNotFound when the instance was
// deleted meanwhile, and with ErrMoved when it has moved away.
func (k *keeper) take(ctx context.Context) error {
	select {
	case k.turn <- struct{}{}:
		if k.gone != nil {
			defer k.release()
			return k.gone
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takeUnlessStopping is take for calls that begin something to wait for. Once
// Interrupt was called it fails, for it would be the wrong time to begin.
func (k *keeper) takeUnlessStopping(ctx context.Context) error {
	if err := k.take(ctx); err != nil {
		return err
	}
	if k.sup.calls.Err() != nil {
		k.release()
		return errStopping
	}
	return nil
}

func (k *keeper) release() { <-k.turn }

// report is the session's report function.
func (k *keeper) report(ctx context.Context, f event.Fact) error {
	k.mu.Lock()
	if f.RequestID == "" && f.Status != "" {
		f.RequestID = k.request
	}
	if f.Status == event.Reconnecting && !k.mayRetry() {
		f.Status = event.Disconnected
	}
	k.mu.Unlock()

	err := k.sup.reg.Report(ctx, k.id, f)
	if err == nil || f.Status != "" {
		k.note(f, err) // the connection is what it is, stored or not
	}
	if err != nil {
		return err
	}
	k.act(f)
	if code, ok := f.Data.(event.QRCode); ok && k.sup.cfg.OnCode != nil {
		k.sup.cfg.OnCode(k.id, code.Code)
	}
	return nil
}

// mayRetry reports whether a lost connection is dialled again. The caller
// holds k.mu.
func (k *keeper) mayRetry() bool {
	return k.sup.cfg.AutoReconnect && !k.calm && k.sup.life.Err() == nil && k.session.Paired() && k.session.WrongNetwork() == nil
}

// note draws the consequences of a fact; failed is why it was not stored.
func (k *keeper) note(f event.Fact, failed error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch data := f.Data.(type) {
	case event.QRCode:
		k.code = &data
	case *event.Message, event.Receipt:
		k.lastReceived = time.Now()
	}
	if f.Unlink {
		k.streak = streak{}
	}
	if f.Status != "" {
		k.become(f.Status, failed)
		k.follow(f)
	}
	k.broadcast()
}

// become notes the state of the connection. The caller holds k.mu.
func (k *keeper) become(s event.State, failed error) {
	k.state, k.unsaved = s, ""
	if failed != nil {
		k.unsaved = s
	}
}

// follow dials, or ceases to, as a new state asks for. The caller holds k.mu.
func (k *keeper) follow(f event.Fact) {
	update, _ := f.Data.(event.ConnectionUpdate)
	k.redial = false
	if f.Status != event.QRCodeState {
		k.code = nil
	}
	switch f.Status {
	case event.Online:
		k.tries, k.request = 0, ""
		if taken := k.sup.cfg.Taken; taken != nil && f.ClientVersion != "" {
			taken(f.ClientVersion)
		}
	case event.Reconnecting:
		k.dialAfter(k.delay())
	case event.Connecting:
		if update.Type == event.TypeManualReconnect {
			k.dialAfter(0) // paired: the login is due at once
		}
	case event.ConnectionError:
		if update.Type == event.TypeStreamError && k.mayRetry() {
			k.dialAfter(k.delay())
		}
	case event.ClientOutdated:
		k.outdated(f.ClientVersion)
	case event.LoggedOut, event.StreamReplaced, event.TemporaryBan:
		k.settle()
	default:
	}
}

// settle leaves the connection as it is until somebody asks for it. The caller
// holds k.mu.
func (k *keeper) settle() {
	k.request = ""
	if k.hangup != nil {
		k.hangup() // a dial that waits would undo it
	}
}

// set stores a state that this side found, not the session.
func (k *keeper) set(f event.Fact) { k.found(f, k.sup.set(k.id, f)) }

// setAndTell is set for a state with an event, whose data is complete.
func (k *keeper) setAndTell(f event.Fact) {
	k.found(f, k.sup.checked(k.id, f, k.sup.reg.reportEvent(context.WithoutCancel(k.sup.life), k.id, f, true)))
}

func (k *keeper) found(f event.Fact, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.become(f.Status, err)
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
	return k.state == event.Online || k.state == event.PairingCodeState || k.code != nil || k.session.Passkey() != nil ||
		!k.dialing && (k.failure != nil || !k.underWay())
}

// underWay reports whether more is to come by itself, without another dial or
// call. The caller holds k.mu.
func (k *keeper) underWay() bool {
	switch k.state {
	case event.Connecting, event.Reconnecting, event.Pairing, event.QRCodeState, event.PairingCodeState:
		return true
	case event.ClientOutdated:
		return k.curing
	default:
		return false
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
	k.tries++
	return d - time.Duration(rand.Int64N(int64(d)/4+1))
}
