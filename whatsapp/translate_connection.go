package whatsapp

import (
	"errors"
	"strconv"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

func connectionFact(t event.ConnectionType, c event.Connection, state event.State) event.Fact {
	return event.Fact{
		Kind:   event.ConnectionUpdated,
		Data:   event.ConnectionUpdate{Type: t, Connection: c},
		Status: state,
	}
}

// because adds WhatsApp's code and message to a connection fact.
func because(f event.Fact, code int, message string) event.Fact {
	data := f.Data.(event.ConnectionUpdate)
	data.StatusReason, data.Message = code, message
	f.Data, f.Reason = data, code
	if f.Error = message; message == "" && code != 0 {
		f.Error = "WhatsApp answered with code " + strconv.Itoa(code)
	}
	return f
}

// pairingEvent handles the events of an unpaired connection. It reports whether evt was
// one.
func (s *Session) pairingEvent(evt any) bool {
	switch evt := evt.(type) {
	case *events.QR:
		s.linker.offer(evt.Codes)
	case *events.PairSuccess:
		ended := s.linker.end(nil)
		s.linked(account{jid: evt.ID, lid: evt.LID})
		s.linker.reportPasskeyEnd(ended, event.ConnectionConnecting)
	case *events.PairError:
		ended := s.linker.end(nil)
		s.facts.change(because(connectionFact(event.PairError, event.ConnectionClose, event.ConnectionError), 0, errorText(evt.Error)))
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
func (s *Session) linked(own account) {
	f := connectionFact(event.PairSuccess, event.ConnectionConnecting, event.Pairing)
	f.Link = s.pair(own)
	s.facts.change(f)
	if s.relogin.expect() {
		s.relogin.announce()
	}
}

func (s *Session) pair(own account) *event.Link {
	s.conn.pair(own)
	s.setStanding(standing{network: s.connector.network}) // as in the commit of the pairing
	return own.link()
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
			s.facts.change(connectionFact(event.TypeKeepAliveBack, event.ConnectionOpen, event.Online))
		}
	default:
		f, ok := refusalFact(evt)
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
	link := s.conn.self().link()
	f := connectionFact(event.TypeConnected, event.ConnectionOpen, event.Online)
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
	s.facts.change(connectionFact(event.TypeDisconnected, event.ConnectionClose, state))
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
	s.facts.change(connectionFact(event.TypeKeepAliveLost, event.ConnectionTimedOut, event.KeepAliveTimeout))
	if time.Since(evt.LastSuccess) > whatsmeow.KeepAliveMaxFailTime {
		s.abandon(errors.New("WhatsApp does not answer pings"))
	}
}

// refusalFact translates the events after which WhatsApp closes the stream and a new
// dial alone may not help. ok is false for other events.
func refusalFact(evt any) (f event.Fact, ok bool) {
	switch evt := evt.(type) {
	case *events.LoggedOut:
		f = connectionFact(event.TypeLoggedOut, event.ConnectionClose, event.LoggedOut)
		f = because(f, int(evt.Reason), "")
		f.Unlink = true
	case *events.StreamReplaced:
		f = connectionFact(event.TypeStreamReplaced, event.ConnectionReplaced, event.StreamReplaced)
		f.Error = "another client logged in with the same device"
	case *events.ConnectFailure:
		f = connectionFact(event.TypeConnectFailure, event.ConnectionClose, event.ConnectionError)
		f = because(f, int(evt.Reason), evt.Message)
	case *events.StreamError:
		code, _ := strconv.Atoi(evt.Code) // an unknown word leaves it zero
		f = because(connectionFact(event.TypeStreamError, event.ConnectionClose, event.ConnectionError), code, "")
	case *events.CATRefreshError:
		f = connectionFact(event.TypeCATRefreshError, event.ConnectionClose, event.ConnectionError)
		f = because(f, 0, errorText(evt.Error))
	case *events.ClientOutdated:
		f = refusedAccount(event.ClientOutdated, event.InstanceStatus{
			Type: event.StatusClientOutdated, Message: "WhatsApp rejected our client version as outdated",
		})
		f.Reason = int(events.ConnectFailureClientOutdated)
	case *events.TemporaryBan:
		now := time.Now()
		f = refusedAccount(event.TemporaryBan, ban(evt, now))
		f.Reason = int(evt.Code)
		f.Restriction = &event.Restriction{Type: event.StatusTemporaryBan, Reason: strconv.Itoa(int(evt.Code))}
		if evt.Expire > 0 {
			f.Restriction.Until = now.Add(evt.Expire)
		}
	default:
		return event.Fact{}, false
	}
	return f, true
}

// refusedAccount is a refusal that status.instance reports instead of
// connection.update.
func refusedAccount(state event.State, s event.InstanceStatus) event.Fact {
	s.Status = string(state)
	return event.Fact{Kind: event.StatusInstance, Data: s, Status: state, Error: s.Message}
}

func ban(evt *events.TemporaryBan, now time.Time) event.InstanceStatus {
	s := event.InstanceStatus{
		Type: event.StatusTemporaryBan, Message: evt.String(), Data: event.Extra{"code": int(evt.Code)},
	}
	if evt.Expire > 0 {
		s.Data["expireSeconds"] = int64(evt.Expire / time.Second)
		s.Data["until"] = event.At(now.Add(evt.Expire))
	}
	return s
}
