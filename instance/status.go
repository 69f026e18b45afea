package instance

import (
	"time"

	"postern/event"
)

// Status is what is known of a connection now.
type Status struct {
	Record         Record
	Connected      bool // socket open and logged in
	LoggedIn       bool // linked to a phone
	LastReceivedAt time.Time
	LastSentAt     time.Time
	Passkey        event.PasskeyState // of the pairing that is under way
}

// Status tells the truth about an instance's socket. A state that says online
// while the socket is gone is answered as what will be told next.
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
