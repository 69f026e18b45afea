package sandbox

import "time"

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
}

// SetFaults replaces the faults for all later messages of clients.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// heal ends every fault, also those that acts left to single accounts: logins and links to
// refuse, and pings to swallow.
func (s *Server) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = Faults{}
	clear(s.refusals)
	for _, a := range s.byPN {
		a.deafUntil, a.breakPairing = time.Time{}, ""
	}
}

// Limits of what a request may ask for.
const (
	maxAckDelay  = 3_600_000 // milliseconds
	maxErrorCode = 999
	maxDropAfter = 1_000_000
)

// faultFields are Faults as the control route takes them.
type faultFields struct {
	AckDelayMs     int  `json:"ackDelayMs"`
	SendError      int  `json:"sendError"`
	DropAfter      int  `json:"dropAfter"`
	SwallowPings   bool `json:"swallowPings"`
	LosePairingEnd bool `json:"losePairingEnd"`
	StateError     int  `json:"stateError"`
}

func (f *faultFields) check() error {
	switch {
	case f.AckDelayMs < 0 || f.AckDelayMs > maxAckDelay:
		return invalidField("ackDelayMs", "is not from 0 to 3600000")
	case f.SendError < 0 || f.SendError > maxErrorCode:
		return invalidField("sendError", "is not from 0 to 999")
	case f.DropAfter < 0 || f.DropAfter > maxDropAfter:
		return invalidField("dropAfter", "is not from 0 to 1000000")
	case f.StateError < 0 || f.StateError > maxErrorCode:
		return invalidField("stateError", "is not from 0 to 999")
	default:
		return nil
	}
}

func (f *faultFields) faults() Faults {
	return Faults{
		AckDelay: time.Duration(f.AckDelayMs) * time.Millisecond, SendError: f.SendError, DropAfter: f.DropAfter,
		SwallowPings: f.SwallowPings, LosePairingEnd: f.LosePairingEnd, StateError: f.StateError,
	}
}
