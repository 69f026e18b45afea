package whatsapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"

	"postern/event"
	"postern/whatsapp/translate"
)

// handle handles one event of the library. False means that the message or receipt was
// not stored and must be sent again.
func (s *Session) handle(cli *whatsmeow.Client, evt any) (ok bool) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed || s.conn.client() != cli {
		if won, ok := evt.(*events.PairSuccess); ok {
			s.pair(translate.Account{JID: won.ID, LID: won.LID}) // the device is saved; the next login reports it
		}
		return false
	}
	defer func() {
		if v := recover(); v != nil {
			s.conn.seen.panics.Add(1)
			s.conn.log.Error("event handler panicked; this is a bug, report it with the bundle of postern support", "event", fmt.Sprintf("%T", evt), "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			ok = s.settled() // a redelivery would panic again
		}
	}()
	if isIncoming(evt) && s.conn.isGivenUp() {
		return false // it must not overtake one that is sent again
	}
	switch evt := evt.(type) {
	case *events.Message:
		if share := evt.RawMessage.GetProtocolMessage().GetAppStateSyncKeyShare(); share != nil && evt.Info.IsFromMe && evt.Info.Sender.Device == 0 && !s.keepKeys(cli, share) {
			return false
		}
		if notice := historyNotice(evt); notice != nil {
			s.sawPhone(phoneSign(evt.Info.MessageSource, evt.Info.Timestamp))
			return s.keepNotice(cli, evt.Info.ID, notice) && s.settled()
		}
		s.keepSecret(cli, evt)
		t := s.conn.translator(cli)
		f, is := t.Message(cli, evt)
		f.Timers, f.PhoneSeen = t.Timers(evt), phoneSign(evt.Info.MessageSource, evt.Info.Timestamp)
		return s.deliver(f, is || len(f.Timers) > 0 || !f.PhoneSeen.IsZero()) && s.settled() && s.reportMeta(cli, evt)
	case *events.FBMessage:
		return s.deliver(s.conn.translator(cli).Messenger(evt)) && s.settled()
	case *events.Receipt:
		s.sawPhone(phoneSign(evt.MessageSource, evt.Timestamp))
		return s.deliver(s.conn.translator(cli).Receipt(evt))
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

// isIncoming reports whether evt is a message or a receipt.
func isIncoming(evt any) bool {
	switch evt.(type) {
	case *events.Message, *events.FBMessage, *events.Receipt:
		return true
	}
	return false
}

// keepKeys stores the keys of the app state that the account's phone sends. The library does so
// beside the handler, perhaps after the acknowledgement, and the phone sends them once.
func (s *Session) keepKeys(cli *whatsmeow.Client, share *waE2E.AppStateSyncKeyShare) bool {
	for _, key := range share.GetKeys() {
		fingerprint, err := proto.Marshal(key.GetKeyData().GetFingerprint())
		if err == nil {
			err = cli.Store.AppStateKeys.PutAppStateSyncKey(context.Background(), key.GetKeyID().GetKeyID(), wastore.AppStateSyncKey{
				Data: key.GetKeyData().GetKeyData(), Fingerprint: fingerprint, Timestamp: key.GetKeyData().GetTimestamp(),
			})
		}
		if err != nil {
			s.conn.log.Warn("keys of the app state not stored, requesting them again", "error", err)
			s.abandon(fmt.Errorf("keys of the app state could not be stored: %w", err))
			return false
		}
	}
	return true
}

// phoneSign returns when the account's phone gave the sign that an event of a sender is, and zero for any other
// sender, the account's linked devices among them.
func phoneSign(from types.MessageSource, at time.Time) time.Time {
	if from.IsFromMe && from.Sender.Device == 0 {
		return at
	}
	return time.Time{}
}

// sawPhone reports a sign of the account's phone that comes with nothing else.
func (s *Session) sawPhone(at time.Time) {
	if !at.IsZero() {
		s.facts.change(event.Fact{PhoneSeen: at})
	}
}

// connectionChange handles the events of pairing and connection, in order.
func (s *Session) connectionChange(cli *whatsmeow.Client, evt any) bool {
	s.facts.order.Lock()
	defer s.facts.order.Unlock()
	return s.pairingEvent(evt) || s.linker.passkeyEvent(cli, evt) || s.connectionEvent(cli, evt)
}

// accountEvent handles events of the account. known reports whether evt is one, ok
// whether WhatsApp may be sent an acknowledgement.
func (s *Session) accountEvent(cli *whatsmeow.Client, evt any) (known, ok bool) {
	switch evt := evt.(type) {
	case *events.AppStateSyncComplete:
		s.Account.AppState.wasRead(evt.Name)
		if evt.Recovery {
			s.Account.AppState.recovered(evt.Name)
		}
	case *events.UndecryptableMessage:
		s.conn.seen.unreadable(UnreadableTold)
		if notify := s.conn.cfg.OnUndecryptable; notify != nil {
			notify(s.conn.instance)
		}
	case *events.AppStateSyncError:
		s.Account.AppState.broken(cli, evt)
	case *events.MediaRetry:
		s.sawPhone(evt.Timestamp) // the phone's answer
		s.Account.Files.reuploads.answered(evt)
	case *events.OfflineSyncPreview:
		s.conn.catchingUp.Store(evt.Total > 0)
	case *events.OfflineSyncCompleted:
		s.conn.catchingUp.Store(false)
	case *events.PrivacySettings:
		// The event lacks the new values, which the library has stored.
		evt.NewSettings = cli.GetPrivacySettings(context.Background())
	}
	if comesAgain(evt) && s.conn.isGivenUp() {
		return true, false
	}
	t := s.conn.translator(cli)
	facts, known := t.Facts(evt)
	if state, of := evt.(*events.AppState); of { // it precedes the event of the change itself
		for i := range facts {
			facts[i].RequestID = s.calls.causes.of(stateKey(state.Index))
		}
	}
	if timers := t.Timers(evt); len(timers) > 0 {
		if len(facts) == 0 {
			facts = make([]event.Fact, 1)
		}
		facts[0].Timers = timers
	}
	for _, key := range changed(t, evt) {
		id := s.calls.causes.take(key)
		for i := range facts {
			facts[i].RequestID = cmp.Or(facts[i].RequestID, id)
		}
	}
	if picture, own := evt.(*events.Picture); own && t.IsOwn(picture.JID) {
		s.ownPicture(cli, facts[0], picture.Remove)
		return known, true
	}
	for _, f := range facts {
		if !comesAgain(evt) {
			s.facts.change(f)
		} else if !s.deliver(f, true) {
			return known, false
		}
	}
	return known, true
}

// comesAgain reports whether the library acknowledges the notification of an account
// event only if its handler succeeds, so that WhatsApp sends it again after a failure.
func comesAgain(evt any) bool {
	switch evt.(type) {
	case *events.GroupInfo, *events.JoinedGroup:
		return true
	}
	return false
}

func (s *Session) reportMeta(cli *whatsmeow.Client, evt *events.Message) bool {
	if f, ok := s.conn.translator(cli).NewsletterMeta(evt); ok {
		s.facts.change(f)
	}
	return true
}

// pictureTimeout limits the request for the URL of the own picture.
const pictureTimeout = 20 * time.Second

// ownPicture reports a new picture of the account itself, with the URL that is stored
// first. The URL is requested in the background, since event handlers must not wait for
// the network. If the request fails, an empty URL is stored: the old one shows the
// wrong picture. What another device of the account did is announced without a picture's
// id: the answer says which there is, or that it was removed.
func (s *Session) ownPicture(cli *whatsmeow.Client, f event.Fact, removed bool) {
	f.Picture = new("")
	if removed {
		s.facts.change(f)
		return
	}
	own := s.conn.self().JID.ToNonAD()
	s.conn.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), pictureTimeout)
		defer cancel()
		info, err := cli.GetProfilePictureInfo(ctx, own, nil)
		update, _ := f.Data.(event.PictureUpdate)
		switch {
		case errors.Is(err, whatsmeow.ErrProfilePictureNotSet):
			update.Remove = update.PictureID == "" // else the event of the removal follows
		case err != nil:
			s.conn.log.Warn("URL of the own profile picture not received", "error", err)
		case info != nil:
			f.Picture = &info.URL
			update.PictureID = cmp.Or(update.PictureID, info.ID)
		}
		f.Data = update
		s.facts.change(f)
	})
}

func (s *Session) skip(evt any) {
	kind := fmt.Sprintf("%T", evt)
	if s.conn.seen.skip(kind) {
		s.conn.log.Info("unknown event type ignored", "event", kind)
	}
}

// keepNotice stores a notice of history. False means that it must be sent again.
func (s *Session) keepNotice(cli *whatsmeow.Client, id string, notice *waE2E.HistorySyncNotification) bool {
	err := s.history.keepNotice(cli, id, notice)
	if err != nil {
		s.conn.log.Warn("history notice not stored, requesting it again", "error", err)
		s.abandon(err)
	}
	return err == nil
}

// deliver reports a fact whose cause WhatsApp deletes once it is acknowledged. ok is
// false for events without a fact.
func (s *Session) deliver(f event.Fact, ok bool) bool {
	if !ok {
		return true
	}
	err := s.facts.report(context.Background(), f)
	if err == nil {
		return true
	}
	s.conn.log.Warn("incoming event not stored, requesting it again", "event", string(f.Kind), "error", err)
	s.abandon(fmt.Errorf("an incoming event could not be stored: %w", err))
	return false
}

// abandon drops the connection and reports the loss, once per connection. WhatsApp
// sends an unacknowledged message again only after the next login, and the library does
// not reconnect.
func (s *Session) abandon(cause error) {
	cli, first := s.conn.giveUp()
	if !first {
		return
	}
	// In the background: closing the socket waits for the peer, and this goroutine
	// blocks the client's queue.
	s.conn.background.Go(func() {
		s.conn.online.Store(false)
		cli.Disconnect()
		s.facts.order.Lock()
		defer s.facts.order.Unlock()
		f := translate.ConnectionFact(event.TypeDisconnected, event.ConnectionClose, event.Reconnecting)
		f.Error = cause.Error()
		s.facts.change(f)
	})
}
