package whatsapp

import (
	"context"

	"postern/event"
	"postern/whatsapp/device"
)

// standing is what is known of the network of a session's device.
type standing struct {
	network event.Network // of the device in the file; empty: not known, or there is none
	aside   bool          // that device was logged out, and the session does without it
	trial   bool          // it was, and is tried once more
}

// hold takes over a device from the file. One that was logged out is left there, unless
// it is to be tried.
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
	s.conn.pair(account{jid: *d.ID, lid: d.LID})
	return true
}

// WrongNetwork returns an [event.NetworkError] when the device of the instance, logged
// out or not, belongs to another network than the connector's; else nil. Such a session
// does not dial.
func (s *Session) WrongNetwork() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := event.Between(s.device.network, s.connector.network); err != nil {
		return err
	}
	return nil
}

// LoggedOut reports whether the instance has a device that its network logged out and
// that is kept. The session is not paired then.
func (s *Session) LoggedOut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.device.aside
}

// Recall takes back a device that was refused and is still kept, so that Connect tries
// it once more. It reports false when there is none.
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

// loggedOut unpairs the session after a log-out by the network. While it is not known
// which network paired the device, this one may never have, and the owner of the
// instance stays. The device is the library's matter, which deletes it: see package
// device.
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

// accepted notes a login where the file does not say yet that the network knows the
// device. When that fails, the next login does it.
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
