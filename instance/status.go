package instance

import (
	"time"

	"postern/event"
)

// Status is the current state of a connection.
type Status struct {
	Record         Record
	Connected      bool // socket open and logged in
	LoggedIn       bool // linked to a phone
	LastReceivedAt time.Time
	LastSentAt     time.Time
	Passkey        event.PasskeyState // of the pairing in progress
}

// Status returns the actual state of an instance's socket. If the state is online but the
// socket is gone, it returns the state that will be reported next.
func (s *Supervisor) Status(id int64) (Status, error) {
	rec, err := s.reg.ByID(id)
	if err != nil {
		return Status{}, err
	}
	s.mu.Lock()
	k := s.keepers[id]
	s.mu.Unlock()
	if k == nil {
		return Status{Record: rec, LoggedIn: rec.OwnerJID != ""}, nil
	}
	st := Status{Record: rec, Connected: k.session.Online(), LoggedIn: k.session.Paired(), Passkey: k.session.Passkey().State()}
	k.mu.Lock()
	defer k.mu.Unlock()
	st.LastReceivedAt, st.LastSentAt = k.lastReceived, k.lastSent
	if k.unsaved != "" {
		st.Record.Status = k.unsaved
	}
	if st.Record.Status == event.Online && !st.Connected {
		st.Record.Status = event.Disconnected
		if k.mayRetry() {
			st.Record.Status = event.Reconnecting
		}
	}
	return st, nil
}

// Dials reports whether an instance that is not connected connects by itself.
func (s *Supervisor) Dials(id int64) bool {
	s.mu.Lock()
	k, queued := s.keepers[id], s.queued[id]
	s.mu.Unlock()
	if k == nil || queued {
		return queued
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mayRetry() && (k.dialing || k.underWay() || k.session.Online())
}
