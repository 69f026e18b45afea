package instance

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"postern/event"
	"postern/instance/automatic"
)

// keeper manages one instance's connection. It passes the facts that the session reports
// to the registry, and decides when to dial.
type keeper struct {
	sup     *Supervisor
	id      int64
	session Session

	// turn, of size 1, is full while a call connects, pairs, restarts or logs out, so
	// that their stored states do not interleave.
	turn chan struct{}
	gone error // why the keeper is retired; set with turn and mu held

	mu      sync.Mutex
	changed chan struct{} // closed and replaced after each fact and each dial
	state   event.State   // state of the connection, as last reported
	unsaved event.State   // that state if storing it failed, else empty
	telling int           // facts with a new state that are being stored and published
	dialing bool          // a goroutine waits to dial, or is dialling
	hangup  context.CancelFunc
	asked   bool          // a call asks for the connection since the last dial
	redial  bool          // a loss was reported during the dial; dial again
	pause   time.Duration // before that
	calm    bool          // do not dial: logging out, restarting or stopping
	tries   int           // pauses since a connection that lasted
	since   time.Time     // when the connection came online, until the next pause; zero: it did not
	failure error         // error of the last dial, nil after a success
	code    *event.QRCode // the code that waits to be scanned
	curing  bool          // rejected as outdated; a newer client version is being looked for
	coding  *coding       // a call pairs by a typed code, and dials itself
	request string        // id of the API call that requested the connection
	streak  streak        // of refusals

	lastReceived, lastSent time.Time
	replaced               time.Time // the connection, by another one of the account

	auto *automatic.Actions
}

// take waits for the turn. It returns ErrNotFound if the instance was deleted in the
// meantime, and ErrMoved if it has moved.
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

// takeUnlessStopping is take for calls that start a wait. It fails once Interrupt was
// called.
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

// report is the report function of the session.
func (k *keeper) report(ctx context.Context, f event.Fact) error {
	k.mu.Lock()
	if f.RequestID == "" && f.Status != "" {
		f.RequestID = k.request
	}
	if f.Status == event.Reconnecting && !k.mayRetry() {
		f.Status = event.Disconnected
	}
	if f.Status != "" {
		k.telling++
	}
	k.mu.Unlock()

	err := k.sup.reg.Report(ctx, k.id, f)
	if err == nil || f.Status != "" {
		k.note(f, err) // the connection has this state, stored or not
	}
	if f.Status != "" {
		k.told()
	}
	if err != nil {
		return err
	}
	k.auto.Act(f)
	if code, ok := f.Data.(event.QRCode); ok && k.sup.cfg.OnCode != nil {
		k.sup.cfg.OnCode(k.id, code.Code)
	}
	return nil
}

// told ends the report of a new state.
func (k *keeper) told() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.telling--
	k.broadcast()
}

// mayRetry reports whether a lost connection is dialled again. The caller holds k.mu.
func (k *keeper) mayRetry() bool {
	return k.sup.cfg.AutoReconnect && !k.calm && k.sup.life.Err() == nil && k.session.Paired() && k.session.WrongNetwork() == nil
}

// note acts on a fact; failed is the error of storing it.
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

// become sets the state of the connection. The caller holds k.mu.
func (k *keeper) become(s event.State, failed error) {
	k.state, k.unsaved = s, ""
	if failed != nil {
		k.unsaved = s
	}
}

// follow starts or stops dialling as a new state requires. The caller holds k.mu.
func (k *keeper) follow(f event.Fact) {
	update, _ := f.Data.(event.ConnectionUpdate)
	k.redial = false
	if f.Status != event.QRCodeState {
		k.code = nil
	}
	switch f.Status {
	case event.Online:
		k.since, k.request = time.Now(), ""
		if taken := k.sup.cfg.Taken; taken != nil && f.ClientVersion != "" {
			taken(f.ClientVersion)
		}
	case event.Reconnecting:
		k.dialAfter(k.delay())
	case event.Connecting:
		if update.Type == event.TypeManualReconnect {
			k.dialAfter(0) // paired: log in at once
		}
	case event.ConnectionError:
		if update.Type == event.TypeStreamError && k.mayRetry() {
			k.dialAfter(k.delay())
		}
	case event.ClientOutdated:
		k.outdated(f.ClientVersion)
	case event.StreamReplaced:
		if k.sup.cfg.Valid == nil || !k.mayRetry() {
			k.settle()
			break
		}
		k.dialAfter(k.afterReplacement(time.Now()))
	case event.LoggedOut, event.TemporaryBan:
		k.settle()
	default:
	}
}

// settle leaves the connection as it is until a request for it. The caller holds k.mu.
func (k *keeper) settle() {
	k.request = ""
	if k.hangup != nil {
		k.hangup() // a pending dial would undo it
	}
}

// set stores a state found by this side, not by the session.
func (k *keeper) set(f event.Fact) { k.found(f, k.sup.set(k.id, f)) }

// setAndTell is set that also publishes an event, whose data is complete.
func (k *keeper) setAndTell(f event.Fact) {
	k.found(f, k.sup.checked(k.id, f, k.sup.reg.reportEvent(context.WithoutCancel(k.sup.life), k.id, f, true)))
}

func (k *keeper) found(f event.Fact, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.become(f.Status, err)
	k.broadcast()
}

// broadcast wakes all await calls. The caller holds k.mu.
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

// settled reports whether the connection attempt has ended. The caller holds k.mu.
func (k *keeper) settled() bool {
	return k.state == event.Online || k.state == event.PairingCodeState || k.code != nil || k.session.Passkey() != nil ||
		!k.dialing && (k.failure != nil || !k.underWay())
}

// underWay reports whether progress is expected without another dial or call. The caller
// holds k.mu.
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

// afterReplacement returns the pause before an account whose connection was replaced is
// dialled again. The first time it was a former owner of the account; soon after, it is
// another client, with which this one must not compete. The caller holds k.mu.
func (k *keeper) afterReplacement(now time.Time) time.Duration {
	again := now.Sub(k.replaced) < 10*k.sup.cfg.MaxDelay
	if k.replaced = now; again {
		return k.sup.cfg.MaxDelay
	}
	return k.sup.cfg.InitialDelay
}

// lasting is how long a connection must be online for the next pause to be a first one
// again, if MaxDelay is not shorter. One that ends sooner, such as one whose events cannot
// be stored, would otherwise log in every few seconds without end.
const lasting = time.Minute

// delay returns the pause before the next dial: exponential from InitialDelay to
// MaxDelay, less a random part of up to a half, so that instances lost together do not
// reconnect together. The caller holds k.mu.
func (k *keeper) delay() time.Duration {
	cfg := k.sup.cfg
	if !k.since.IsZero() && time.Since(k.since) >= min(lasting, cfg.MaxDelay) {
		k.tries = 0
	}
	k.since = time.Time{}
	d := cfg.MaxDelay
	if k.tries < 16 {
		d = min(d, cfg.InitialDelay<<k.tries)
	}
	k.tries++
	return d - time.Duration(rand.Int64N(int64(d)/2+1))
}
