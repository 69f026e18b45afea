package network

import (
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

// Faults disturb what clients send. The zero value is a healthy network.
type Faults struct {
	// AckDelay is the delay of each message's acknowledgement. The message itself is
	// delivered at once.
	AckDelay time.Duration
	// SendError, if not 0, is the error code for every message; none is delivered.
	SendError int
	// DropAfter, if not 0, counts messages down: the one that makes it 0 is neither
	// delivered nor acknowledged, and its connection is closed. Then the network is
	// healthy.
	DropAfter int
	// SwallowPings leaves keep-alive pings without an answer.
	SwallowPings bool
	// LosePairingEnd closes the connection of a pairing without the code 515 that
	// requests a login.
	LosePairingEnd bool
	// StateError, if not 0, is the error code for every request about app state. A
	// device whose first read is refused gets no further help, as from a real phone:
	// neither the key again, nor changes held back until it has read the earlier ones.
	StateError int
	// WithholdReceipts keeps back what phones acknowledge: delivery, reading and playing.
	WithholdReceipts bool
	// MediaError, if not 0, is the HTTP status of every download of a file.
	MediaError int
}

// SetFaults replaces the faults for all later messages of clients.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// mediaRefusal counts a refused download and returns its status, 0 if it is not
// refused.
func (s *Server) mediaRefusal() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults.MediaError != 0 {
		s.mediaRefused++
	}
	return s.faults.MediaError
}

// MediaRefused returns the number of refused downloads.
func (s *Server) MediaRefused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mediaRefused
}

// Healthy reports whether there is no fault, neither of the network nor of single
// accounts, see Heal.
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

// Heal ends every fault, including those of single accounts: refused logins and links,
// ignored pings, refused app state changes, and silence. It accepts clients of all
// versions again.
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

// Deafen ignores the keep-alive pings of the account's devices for a time; zero heals
// at once. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) Deafen(of types.JID, d time.Duration) error {
	return s.with(of, func(a *account) { a.deafUntil = time.Now().Add(d) })
}

// Quieten delivers nothing but answers on the present connections of the account's
// devices: everything else waits for their next login, while their pings are answered.
// Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) Quieten(of types.JID) error {
	return s.with(of, func(a *account) {
		for _, d := range a.devices {
			if d.conn != nil && d.active {
				d.active, d.quiet = false, true
			}
		}
	})
}

// quiet reports whether a connection of the account's devices was quietened.
func (a *account) quiet() bool {
	for _, d := range a.devices {
		if d.quiet {
			return true
		}
	}
	return false
}

// wake ends the silence.
func (s *Server) wake(a *account) {
	for _, d := range a.devices {
		if d.quiet {
			d.quiet = false
			s.activate(d)
		}
	}
}
