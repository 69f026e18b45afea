package whatsapp

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// handle takes one event of the library. False means that the message or
// receipt was not stored and must come again.
func (s *Session) handle(cli *whatsmeow.Client, evt any) (ok bool) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed || s.conn.client() != cli {
		if won, ok := evt.(*events.PairSuccess); ok {
			s.pair(account{jid: won.ID, lid: won.LID}) // the device is saved; told at the next login
		}
		return false
	}
	defer func() {
		if v := recover(); v != nil {
			s.conn.seen.panicked()
			s.conn.log.Error("event handler panicked; this is a fault of the program, report it with what postern support gathers", "event", fmt.Sprintf("%T", evt), "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			ok = s.settled() // it would panic again at every delivery
		}
	}()
	switch evt := evt.(type) {
	case *events.Message:
		if notice := historyNotice(evt); notice != nil {
			return s.keepNotice(cli, evt.Info.ID, notice) && s.settled()
		}
		s.keepSecret(cli, evt)
		return s.deliver(s.messageFact(cli, evt)) && s.settled() && s.tellMeta(cli, evt)
	case *events.FBMessage:
		return s.deliver(s.fbMessageFact(cli, evt)) && s.settled()
	case *events.Receipt:
		return s.deliver(s.conn.translator(cli).receipt(evt))
	}
	if s.connectionChange(cli, evt) {
		return true
	}
	known, ok := s.accountEvent(cli, evt)
	if !known {
		s.skip(evt)
	}
	return ok
}

// connectionChange takes the events of pairing and connection, in order.
func (s *Session) connectionChange(cli *whatsmeow.Client, evt any) bool {
	s.facts.order.Lock()
	defer s.facts.order.Unlock()
	return s.pairingEvent(evt) || s.linker.passkeyEvent(cli, evt) || s.connectionEvent(cli, evt)
}

// accountEvent takes what happens on the account. known reports whether evt was
// such an event, ok whether WhatsApp may forget it.
func (s *Session) accountEvent(cli *whatsmeow.Client, evt any) (known, ok bool) {
	switch evt := evt.(type) {
	case *events.AppStateSyncComplete:
		s.Account.AppState.wasRead(evt.Name)
		if evt.Recovery {
			s.Account.AppState.recovered(evt.Name)
		}
	case *events.UndecryptableMessage:
		s.conn.seen.unreadable(UnreadableTold)
		if told := s.conn.cfg.OnUndecryptable; told != nil {
			told(s.conn.instance)
		}
	case *events.AppStateSyncError:
		s.Account.AppState.broken(cli, evt)
	case *events.MediaRetry:
		s.Account.Files.reuploads.answered(evt)
	case *events.OfflineSyncPreview:
		s.conn.catchingUp.Store(evt.Total > 0)
	case *events.OfflineSyncCompleted:
		s.conn.catchingUp.Store(false)
	case *events.PrivacySettings:
		// The library has stored the new values, but leaves them out here.
		evt.NewSettings = cli.GetPrivacySettings(context.Background())
	}
	if comesAgain(evt) && s.conn.isGivenUp() {
		return true, false // not before what comes again
	}
	t := s.conn.translator(cli)
	facts, known := t.facts(evt)
	if state, of := evt.(*events.AppState); of { // it comes first, and what it changes is told too
		for i := range facts {
			facts[i].RequestID = s.calls.causes.of(stateKey(state.Index))
		}
	}
	for _, key := range t.changed(evt) {
		id := s.calls.causes.take(key)
		for i := range facts {
			facts[i].RequestID = cmp.Or(facts[i].RequestID, id)
		}
	}
	if picture, own := evt.(*events.Picture); own && t.isOwn(picture.JID) {
		s.ownPicture(cli, facts[0], picture.Remove)
		return known, true
	}
	for _, f := range facts {
		if !comesAgain(evt) {
			s.facts.tell(f)
		} else if !s.deliver(f, true) {
			return known, false
		}
	}
	return known, true
}

// comesAgain reports whether the library leaves the notification of an account
// event unacknowledged when the event is refused, so that WhatsApp sends it again.
func comesAgain(evt any) bool {
	switch evt.(type) {
	case *events.GroupInfo, *events.JoinedGroup:
		return true
	}
	return false
}

func (s *Session) tellMeta(cli *whatsmeow.Client, evt *events.Message) bool {
	if f, ok := s.conn.translator(cli).newsletterMeta(evt); ok {
		s.facts.tell(f)
	}
	return true
}

// pictureTimeout bounds the question for the address of the own picture.
const pictureTimeout = 20 * time.Second

// ownPicture tells of a new picture of the account's own with the address that
// is stored first. The address has to be asked for, and no event may wait for
// an answer of the network meanwhile. When it cannot be had, none is stored:
// the old one shows the wrong picture.
func (s *Session) ownPicture(cli *whatsmeow.Client, f event.Fact, removed bool) {
	f.Picture = new("")
	if removed {
		s.facts.tell(f)
		return
	}
	own := s.conn.self().jid.ToNonAD()
	s.conn.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), pictureTimeout)
		defer cancel()
		info, err := cli.GetProfilePictureInfo(ctx, own, nil)
		switch {
		case err != nil:
			s.conn.log.Warn("address of the own profile picture not received", "error", err)
		case info != nil:
			f.Picture = &info.URL
		}
		s.facts.tell(f)
	})
}

func (s *Session) skip(evt any) {
	kind := fmt.Sprintf("%T", evt)
	if s.conn.seen.skip(kind) {
		s.conn.log.Info("event type not used", "event", kind)
	}
}

// keepNotice stores a notice of history. False means that it must come again.
func (s *Session) keepNotice(cli *whatsmeow.Client, id string, notice *waE2E.HistorySyncNotification) bool {
	err := s.history.keepNotice(cli, id, notice)
	if err != nil {
		s.conn.log.Warn("notice of history not stored, asking for it again", "error", err)
		s.abandon(err)
	}
	return err == nil
}

// deliver reports what WhatsApp may forget once it is acknowledged. ok is
// false for events that mean nothing to a consumer.
func (s *Session) deliver(f event.Fact, ok bool) bool {
	if !ok {
		return true
	}
	err := s.facts.report(context.Background(), f)
	if err == nil {
		return true
	}
	s.conn.log.Warn("incoming event not stored, asking for it again", "event", string(f.Kind), "error", err)
	s.abandon(fmt.Errorf("an incoming event could not be stored: %w", err))
	return false
}

// abandon drops the connection and reports the loss, once per connection.
// WhatsApp sends an unacknowledged message again at the next login only, and
// the library does not dial by itself.
func (s *Session) abandon(cause error) {
	cli, first := s.conn.giveUp()
	if !first {
		return
	}
	// Not in this goroutine: closing the socket waits for the peer, and this
	// one holds up the client's queue.
	s.conn.background.Go(func() {
		s.conn.online.Store(false)
		cli.Disconnect()
		s.facts.order.Lock()
		defer s.facts.order.Unlock()
		f := connectionFact(event.TypeDisconnected, event.ConnectionClose, event.Reconnecting)
		f.Error = cause.Error()
		s.facts.tell(f)
	})
}
