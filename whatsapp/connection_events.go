package whatsapp

import (
	"errors"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
	"postern/whatsapp/translate"
)

// pairingEvent handles the events of an unpaired connection. It reports whether evt was
// one.
func (s *Session) pairingEvent(evt any) bool {
	switch evt := evt.(type) {
	case *events.QR:
		s.linker.offer(evt.Codes)
	case *events.PairSuccess:
		ended := s.linker.end(nil)
		s.linked(translate.Account{JID: evt.ID, LID: evt.LID})
		s.linker.reportPasskeyEnd(ended, event.ConnectionConnecting)
	case *events.PairError:
		ended := s.linker.end(nil)
		s.facts.change(translate.Because(translate.ConnectionFact(event.PairError, event.ConnectionClose, event.ConnectionError), 0, translate.ErrorText(evt.Error)))
		s.linker.reportPasskeyEnd(ended, event.ConnectionClose)
	case *events.QRScannedWithoutMultidevice:
		s.scannedInVain()
	default:
		return false
	}
	return true
}

// scannedInVain ends the pairing after a scan by a phone that cannot link devices. It
// causes no event, only a new state with a reason. The caller holds facts.order.
func (s *Session) scannedInVain() {
	ended := s.linker.end(nil)
	if ended == nil {
		return
	}
	s.facts.change(event.Fact{Status: event.ConnectionError, Error: "the phone that scanned the code has no multi-device support"})
	s.linker.reportPasskeyEnd(ended, event.ConnectionClose)
	s.conn.background.Go(s.conn.client().Disconnect) // closing the socket waits for the peer
}

// linked reports a pairing. The caller holds facts.order.
func (s *Session) linked(own translate.Account) {
	f := translate.ConnectionFact(event.PairSuccess, event.ConnectionConnecting, event.Pairing)
	f.Link, f.PhoneSeen = s.pair(own), time.Now()
	s.facts.change(f)
	if s.relogin.expect() {
		s.relogin.announce()
	}
}

func (s *Session) pair(own translate.Account) *event.Link {
	s.conn.pair(own)
	s.setStanding(standing{network: s.connector.network}) // as in the commit of the pairing
	return own.Link()
}

// connectionEvent handles the events that change the connection. It reports whether evt
// was one.
func (s *Session) connectionEvent(cli *whatsmeow.Client, evt any) bool {
	switch evt := evt.(type) {
	case *events.Connected:
		s.connected(cli)
	case *events.Disconnected:
		s.disconnected()
	case *events.ManualLoginReconnect:
		s.relogin.announce()
	case *events.KeepAliveTimeout:
		s.keepAliveLost(cli, evt)
	case *events.KeepAliveRestored:
		s.pingLost.Store(false)
		if s.Online() {
			s.facts.change(translate.ConnectionFact(event.TypeKeepAliveBack, event.ConnectionOpen, event.Online))
		}
	default:
		f, ok := translate.Refusal(evt)
		if !ok {
			return false
		}
		s.conn.online.Store(false)
		if f.Unlink {
			f = s.loggedOut(f)
		}
		if f.Status == event.ClientOutdated {
			f.ClientVersion = s.introducedAs()
		}
		ended := s.linker.end(nil)
		s.facts.change(f)
		s.linker.reportPasskeyEnd(ended, event.ConnectionClose)
	}
	return true
}

// connected reports a login. If the connection is lost during the login, the library
// announces it more than once, or after the socket is closed.
func (s *Session) connected(cli *whatsmeow.Client) {
	if s.conn.online.Load() || !cli.IsConnected() {
		return
	}
	s.relogin.loggedIn()
	s.accepted()
	s.conn.online.Store(true)
	s.pingLost.Store(false)
	s.watchSilence(cli)
	link := s.conn.self().Link()
	f := translate.ConnectionFact(event.TypeConnected, event.ConnectionOpen, event.Online)
	f.Data = event.ConnectionUpdate{
		Type: event.TypeConnected, Connection: event.ConnectionOpen, LastConnection: event.At(time.Now()),
	}
	f.Link, f.ClientVersion = link, s.introducedAs()
	s.facts.change(f)
	s.Account.AppState.catchUp(cli)
	s.history.takeHistories(cli)
}

// disconnected reports a lost connection. The supervisor decides whether to dial again,
// except while pairing, which ends: no phone can answer any more.
func (s *Session) disconnected() {
	s.conn.online.Store(false)
	if s.relogin.between() {
		s.relogin.announce()
		return
	}
	state := event.Reconnecting
	ended := s.linker.end(nil)
	if ended != nil {
		state = event.ConnectionTimeout
	}
	s.facts.change(translate.ConnectionFact(event.TypeDisconnected, event.ConnectionClose, state))
	s.linker.reportPasskeyEnd(ended, event.ConnectionClose)
}

func (s *Session) keepAliveLost(cli *whatsmeow.Client, evt *events.KeepAliveTimeout) {
	if !cli.IsConnected() {
		return // Disconnected reports the loss
	}
	if s.flood.lately(s.conn.cfg.KeepAliveInterval + s.conn.cfg.KeepAliveTimeout) {
		return // the answer is behind stanzas that are read more slowly
	}
	s.pingLost.Store(true)
	s.facts.change(translate.ConnectionFact(event.TypeKeepAliveLost, event.ConnectionTimedOut, event.KeepAliveTimeout))
	if time.Since(evt.LastSuccess) > whatsmeow.KeepAliveMaxFailTime {
		s.abandon(errors.New("WhatsApp does not answer pings"))
	}
}
