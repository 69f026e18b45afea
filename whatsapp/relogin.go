package whatsapp

import (
	"context"
	"time"

	"postern/event"
)

// reloginAfter is how long WhatsApp gets to ask for the login that follows a
// pairing. It asks within a second.
const reloginAfter = 3 * time.Second

// reloginState follows the step from paired to logged in. WhatsApp ends the
// pairing stream with code 515, which the library turns into
// ManualLoginReconnect, unless the connection closes first: then the node may
// be lost. Either way exactly one manual.reconnect is reported.
type reloginState int

const (
	reloginNone      reloginState = iota
	reloginEarly                  // code 515 was handled before the pairing that it follows
	reloginExpected               // paired; waiting for code 515
	reloginAnnounced              // manual.reconnect was reported; waiting for Connect and its login
)

// expectRelogin starts the watchdog after a pairing. It reports whether the
// request to log in has come already.
func (s *Session) expectRelogin() (early bool) {
	ctx, stop := context.WithCancel(context.Background())
	s.mu.Lock()
	s.stopWatch()
	early = s.relogin == reloginEarly
	s.relogin = reloginExpected
	s.watch = stop
	s.mu.Unlock()
	s.background.Go(func() {
		timer := time.NewTimer(reloginAfter)
		defer timer.Stop()
		select {
		case <-timer.C:
			s.order.Lock()
			defer s.order.Unlock()
			if s.announceRelogin() {
				s.log.Info("whatsapp did not ask for the login after pairing")
			}
		case <-ctx.Done():
		}
	})
	return early
}

// announceRelogin reports manual.reconnect, once per pairing or request of
// WhatsApp, and tells whether it did. The library handles a pairing and the
// code 515 after it in two goroutines; when the code comes first it is kept
// for the pairing. The caller holds s.order.
func (s *Session) announceRelogin() bool {
	s.mu.Lock()
	due := s.relogin == reloginExpected || s.relogin == reloginNone && s.paired
	if s.relogin == reloginNone && !s.paired {
		s.relogin = reloginEarly
	}
	if due {
		s.relogin = reloginAnnounced
		s.stopWatch()
	}
	s.mu.Unlock()
	if due {
		s.tell(connectionFact(event.TypeManualReconnect, event.ConnectionConnecting, event.Connecting))
	}
	return due
}

// betweenLogins reports whether a closed stream belongs to the pairing. A code
// 515 alone does not make it so: no pairing may follow.
func (s *Session) betweenLogins() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.relogin == reloginExpected || s.relogin == reloginAnnounced
}

func (s *Session) loggedIn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.relogin = reloginNone
	s.stopWatch()
}

// stopWatch ends the watchdog. The caller holds s.mu.
func (s *Session) stopWatch() {
	if s.watch != nil {
		s.watch()
		s.watch = nil
	}
}
