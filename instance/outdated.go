package instance

import (
	"context"
	"maps"
	"time"

	"postern/event"
)

// coding is the state of a call that pairs by a typed code.
type coding struct {
	refused bool // its client is outdated
	renewed bool // and a newer version was found
}

// outdated starts a search for a newer version after WhatsApp rejected the client. It
// does not interrupt the running dial, which is the rejected one. The caller holds k.mu.
func (k *keeper) outdated(version string) {
	known, asked := false, false
	if help := k.sup.cfg.Outdated; help != nil {
		known, asked = help(k.id, version)
	}
	if k.curing = known || asked; !k.curing {
		k.settle()
	}
	if k.coding != nil {
		k.coding.refused = true
	}
	if known {
		k.sup.spawn(k.renew)
	}
}

// Outdated returns the instances whose client version WhatsApp rejects.
func (s *Supervisor) Outdated() (ids []int64) {
	s.mu.Lock()
	keepers := maps.Clone(s.keepers)
	s.mu.Unlock()
	for _, rec := range s.reg.List() {
		state := rec.Status
		if k := keepers[rec.ID]; k != nil {
			state = k.now()
		}
		if state == event.ClientOutdated {
			ids = append(ids, rec.ID)
		}
	}
	return ids
}

// Renew reports the end of a search for a newer client version. If one was found and is
// used by new connections, every rejected instance dials again after the usual delay,
// unless only calls may connect it and none did. Otherwise they remain as they are.
func (s *Supervisor) Renew(found bool) {
	for _, id := range s.Outdated() {
		k, err := s.keeper(s.life, id)
		if err != nil {
			continue // deleted, or opened since and informed then
		}
		if !found || !k.sup.spawn(k.renew) {
			k.giveUp()
		}
	}
}

// giveUp ends the wait for a newer version.
func (k *keeper) giveUp() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == event.ClientOutdated {
		k.curing = false
		k.settle()
		k.broadcast()
	}
}

// renew dials again with the newer version.
func (k *keeper) renew() {
	if k.renewCode() || k.take(k.sup.life) != nil {
		return
	}
	defer k.release()
	k.mu.Lock()
	due := k.state == event.ClientOutdated && !k.calm && (k.request != "" || k.sup.cfg.AutoReconnect)
	as, request := event.Connecting, k.request
	k.mu.Unlock()
	if !due {
		k.giveUp()
		return
	}
	if k.session.Paired() {
		as = event.Reconnecting
	}
	k.set(event.Fact{Status: as, RequestID: request})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.curing, k.failure = false, nil
	k.dialAfter(k.delay())
}

// renewCode leaves the dial to the call that pairs by a typed code, which holds the turn.
// It reports whether there is one.
func (k *keeper) renewCode() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.coding == nil {
		return false
	}
	k.curing, k.coding.renewed = false, true
	k.broadcast()
	return true
}

// cured waits for the end of a search for a newer client version and, if one was found,
// for the usual delay. It reports whether to dial again.
func (k *keeper) cured(ctx context.Context) bool {
	var pause time.Duration
	found := false
	err := k.await(ctx, func() bool {
		if k.state == event.ClientOutdated && k.curing {
			return false
		}
		if found = k.coding.renewed; found {
			*k.coding, pause = coding{}, k.delay()
		}
		return true
	})
	if err != nil || !found {
		return false
	}
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}

// beginCode registers a call that pairs by a typed code.
func (k *keeper) beginCode(requestID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.request, k.calm, k.coding = requestID, false, &coding{}
}

// endCode removes it.
func (k *keeper) endCode() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.coding = nil
}

// codeRefused reports whether such a call's client is outdated.
func (k *keeper) codeRefused() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.coding.refused
}

// now returns the state of the connection as last reported.
func (k *keeper) now() event.State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}
