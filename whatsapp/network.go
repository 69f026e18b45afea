package whatsapp

import (
	"context"

	"postern/event"
	"postern/whatsapp/device"
	"postern/whatsapp/translate"
)

// standing is the state of a session's device on its network.
type standing struct {
	network event.Network // of the device in the file; empty: unknown, or no device
	aside   bool          // the device was logged out and is not used
	trial   bool          // it was logged out and is tried once more
}

// hold takes over a device from the file. A device that was logged out is not used,
// unless try is set.
func (s *Session) hold(saved device.Saved, try bool) (held bool) {
	d := saved.Device
	if d == nil || d.ID == nil {
		return false
	}
	aside := saved.Aside && !try
	s.setStanding(standing{network: saved.Network, aside: aside, trial: saved.Aside && try})
	if aside {
		return false
	}
	s.conn.setClient(s.newClient(d))
	s.conn.pair(translate.Account{JID: *d.ID, LID: d.LID})
	return true
}

// WrongNetwork returns an [event.NetworkError] if the device of the instance, logged
// out or not, belongs to another network than the connector's, else nil. Such a session
// does not dial.
func (s *Session) WrongNetwork() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := event.Between(s.device.network, s.connector.network); err != nil {
		return err
	}
	return nil
}

// LoggedOut reports whether the instance has a retained device that its network logged
// out. The session is not paired then.
func (s *Session) LoggedOut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.device.aside
}

// Recall restores a retained device that was logged out, so that Connect tries it once
// more. It returns false if there is none.
func (s *Session) Recall(ctx context.Context) (bool, error) {
	s.dial.Lock()
	defer s.dial.Unlock()
	if s.conn.isPaired() {
		return true, nil
	}
	s.drop()
	saved, err := s.conn.cfg.Devices.Recall(ctx, s.conn.instance)
	if err != nil {
		return false, err
	}
	return s.hold(saved, true), nil
}

// loggedOut unpairs the session after a logout by the network. If it is unknown which
// network paired the device, this one possibly never knew it, and the instance keeps
// its owner. The library deletes the device: see package device.
func (s *Session) loggedOut(f event.Fact) event.Fact {
	s.mu.Lock()
	known := s.device.network != ""
	s.device.aside, s.device.trial = known, false
	s.mu.Unlock()
	if !known {
		f.Unlink = false
		f.Error += "; nothing was removed, and the next start tries it again"
	}
	s.unpair()
	return f
}

// accepted records a login if the file does not have the device's network yet. If that
// fails, the next login repeats it.
func (s *Session) accepted() {
	s.mu.Lock()
	noted := s.device.network != "" && !s.device.trial
	s.mu.Unlock()
	if noted {
		return
	}
	if err := s.conn.cfg.Devices.Accepted(context.Background(), s.conn.instance); err != nil {
		s.conn.log.Warn("network of the device not stored", "error", err)
		return
	}
	s.setStanding(standing{network: s.connector.network})
}

func (s *Session) setStanding(now standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.device = now
}
