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
}

// SetFaults replaces the faults for all later messages of clients.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}
