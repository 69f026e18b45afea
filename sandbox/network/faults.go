package network

import (
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

// Faults disturb what clients send. The zero value is a healthy network.
type Faults struct {
	// AckDelay is how long each message's acknowledgement waits. The message itself is
	// delivered at once.
	AckDelay time.Duration
	// SendError, when not 0, is the error code that answers every message; nothing is
	// delivered.
	SendError int
	// DropAfter, when not 0, counts messages down: the one that makes it 0 is lost, neither
	// delivered nor acknowledged, and its connection is cut. Then the network is healthy.
	DropAfter int
	// SwallowPings leaves keep-alive pings without an answer.
	SwallowPings bool
	// LosePairingEnd closes the connection of a pairing without the code 515 that asks the
	// client to log in.
	LosePairingEnd bool
	// StateError, when not 0, is the error code that answers every request about app state.
	// A device whose first read is refused gets no more help with it, as from a real phone:
	// neither the key once more, nor changes held back until it has read what was before.
	StateError int
	// MediaError, when not 0, is the HTTP status that answers every download of a file.
	MediaError int
}

// SetFaults replaces the faults for all later messages of clients.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// mediaRefusal counts a download that is refused and returns the status that answers it, 0 when it
// is not refused.
func (s *Server) mediaRefusal() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults.MediaError != 0 {
		s.mediaRefused++
	}
	return s.faults.MediaError
}

// MediaRefused counts the downloads that were refused.
func (s *Server) MediaRefused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mediaRefused
}

// Healthy reports whether there is no fault, nor anything that acts left to single accounts, see
// Heal.
func (s *Server) Healthy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.byPN {
		if time.Now().Before(a.deafUntil) || a.breakPairing != "" || a.stateConflicts > 0 || a.quiet() {
			return false
		}
	}
	return s.faults == (Faults{}) && len(s.refusals) == 0 && s.least.IsZero() && s.site == SiteCurrent
}

// Heal ends every fault, also those that acts left to single accounts: logins and links to
// refuse, pings to swallow, changes of
// synchronised state to refuse, and silence. It lets
// clients of all versions in.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = Faults{}
	clear(s.refusals)
	s.least, s.site = wastore.WAVersionContainer{}, SiteCurrent
	for _, a := range s.byPN {
		a.deafUntil, a.breakPairing, a.stateConflicts = time.Time{}, "", 0
		s.wake(a)
	}
}

// takeFault counts one message. lost means that it is the one to lose.
func (s *Server) takeFault() (f Faults, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults.DropAfter > 0 {
		s.faults.DropAfter--
		if s.faults.DropAfter == 0 {
			s.faults = Faults{}
			return Faults{}, true
		}
	}
	return s.faults, false
}

// Deafen leaves the keep-alive pings of the account's devices without an answer for a while;
// none at all heals at once. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) Deafen(of types.JID, d time.Duration) error {
	return s.with(of, func(a *account) { a.deafUntil = time.Now().Add(d) })
}

// Quieten leaves the present connections of the account's devices without anything but answers: what
// comes for them waits for their next login, while their pings are answered. Errors: ErrClosed,
// phone.ErrNoAccount.
func (s *Server) Quieten(of types.JID) error {
	return s.with(of, func(a *account) {
		for _, d := range a.devices {
			if d.conn != nil && d.active {
				d.active, d.quiet = false, true
			}
		}
	})
}

// quiet tells whether a connection of the account's devices was quietened.
func (a *account) quiet() bool {
	for _, d := range a.devices {
		if d.quiet {
			return true
		}
	}
	return false
}

// wake ends that.
func (s *Server) wake(a *account) {
	for _, d := range a.devices {
		if d.quiet {
			d.quiet = false
			s.activate(d)
		}
	}
}
