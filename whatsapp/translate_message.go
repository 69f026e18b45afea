package whatsapp

import (
	"context"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// messageFact translates an incoming message, or one that the account's own
// phone sent. ok is false for what is not a chat message.
func (s *Session) messageFact(cli *whatsmeow.Client, evt *events.Message) (event.Fact, bool) {
	return s.conn.translator(cli).message(cli, evt)
}

// message translates with cli's secrets, or without any when cli is nil.
func (t translator) message(cli *whatsmeow.Client, evt *events.Message) (event.Fact, bool) {
	raw := evt.RawMessage
	if raw == nil {
		raw = evt.Message
	}
	u := unwrap(raw)
	if evt.Info.Category == "peer" || betweenOwnDevices(u.message) {
		return event.Fact{}, false
	}
	var md metadata
	u = reveal(cli, evt, u, &md)
	kind, content, ok := contentOf(u.message)
	if !ok {
		return event.Fact{}, false
	}
	md.describe(evt, u)
	info := evt.Info
	if id := evt.SourceWebMsg.GetKey().GetID(); id != "" {
		info.ID = id // the library puts the id of the edited message in its place
	}
	return t.messageOf(&info, kind, content, md), true
}

// messageOf adds to a content where it came from.
func (t translator) messageOf(info *types.MessageInfo, kind string, content jsonWriter, md metadata) event.Fact {
	m := &event.Message{
		KeyID:            info.ID,
		KeyFromMe:        info.IsFromMe,
		MessageType:      kind,
		Content:          content.buf,
		MessageTimestamp: t.at(info.Timestamp).Unix(),
		Device:           deviceName(info.ID),
	}
	if name := info.PushName; name != "" && name != "-" { // a dash stands for none
		m.PushName = &name
	}
	t.address(m, info.MessageSource)
	if info.IsIncomingBroadcast() && !info.IsFromMe {
		md.Broadcast = info.Chat.String()
	}
	md.Truncated = content.cut
	md.Source = t.source
	m.Metadata = md.json()
	return event.Fact{Kind: event.MessagesUpsert, Data: m}
}

// address fills in the JIDs of m: the chat, and who spoke where several can.
// What somebody sent to a broadcast list is shown in the direct chat with that
// person, and that is its chat here.
func (t translator) address(m *event.Message, src types.MessageSource) {
	switch {
	case src.Chat.User == "":
	case src.IsIncomingBroadcast() && !src.IsFromMe:
		m.KeyRemoteJID, m.KeyLID = phoneAndLID(src.Sender, src.SenderAlt, t.twin)
	case src.Chat.Server == types.GroupServer, src.Chat.Server == types.BroadcastServer:
		m.IsGroup = src.Chat.Server == types.GroupServer
		m.KeyRemoteJID = new(src.Chat.String())
		m.KeyParticipant, m.KeyParticipantLID = phoneAndLID(src.Sender, src.SenderAlt, t.twin)
	case src.Chat.Server == types.NewsletterServer:
		m.KeyRemoteJID = new(src.Chat.String())
	default:
		t.addressDirect(m, src)
	}
}

// addressDirect is address for a chat with one person, who may be oneself. A
// bot can speak in the chat with somebody else, and is its participant then.
func (t translator) addressDirect(m *event.Message, src types.MessageSource) {
	alt := src.SenderAlt
	guest := !src.IsFromMe && src.Sender.IsBot() && src.Sender.User != src.Chat.User
	switch {
	case src.IsFromMe:
		alt = src.RecipientAlt
	case guest:
		alt = types.EmptyJID
		m.KeyParticipant, m.KeyParticipantLID = phoneAndLID(src.Sender, src.SenderAlt, t.twin)
	}
	m.KeyRemoteJID, m.KeyLID = phoneAndLID(src.Chat, alt, t.twin)
}

// twin is the other address of a person, empty when it is unknown.
func (t translator) twin(jid types.JID) types.JID {
	switch {
	case jid.User == "":
		return types.EmptyJID
	case jid == t.own.jid.ToNonAD():
		return t.own.lid.ToNonAD()
	case jid == t.own.lid.ToNonAD():
		return t.own.jid.ToNonAD()
	default:
		return t.other(jid)
	}
}

// phoneAndLID returns the preferred JID of one person, the phone's when it is
// known, and the LID, or nil. alt is the other form of jid, if WhatsApp told
// it; else other is asked.
func phoneAndLID(jid, alt types.JID, other func(types.JID) types.JID) (preferred, lid *string) {
	jid, alt = person(jid), person(alt)
	if !isPerson(alt) || alt.Server == jid.Server {
		alt = other(jid)
	}
	for _, j := range []types.JID{jid, alt} {
		switch {
		case j.User == "":
		case j.Server == types.HiddenUserServer:
			lid = new(j.String())
		case preferred == nil:
			preferred = new(j.String())
		}
	}
	if preferred == nil {
		preferred = lid
	}
	return preferred, lid
}

// person is the address of an account, whichever of its devices is meant and
// whoever hosts them.
func person(j types.JID) types.JID {
	j = j.ToNonAD()
	switch j.Server {
	case types.HostedServer, types.LegacyUserServer:
		j.Server = types.DefaultUserServer
	case types.HostedLIDServer:
		j.Server = types.HiddenUserServer
	}
	return j
}

// isPerson tells whether an address is one of the two that a person has.
func isPerson(j types.JID) bool {
	return j.User != "" && (j.Server == types.DefaultUserServer || j.Server == types.HiddenUserServer)
}

// addressBook returns the look-up from a phone JID to its LID and back. An
// unknown one gives the empty JID.
func addressBook(device *wastore.Device) func(types.JID) types.JID {
	return func(jid types.JID) (found types.JID) {
		if device.LIDs == nil {
			return types.EmptyJID
		}
		switch jid.Server {
		case types.DefaultUserServer:
			found, _ = device.LIDs.GetLIDForPN(context.Background(), jid)
		case types.HiddenUserServer:
			found, _ = device.LIDs.GetPNForLID(context.Background(), jid)
		}
		return found.ToNonAD()
	}
}

// betweenOwnDevices tells whether a message is housekeeping of the account's
// own devices, such as keys and history notices.
func betweenOwnDevices(m *waE2E.Message) bool {
	p := m.GetProtocolMessage()
	if p == nil {
		return false
	}
	switch p.GetType() {
	case waE2E.ProtocolMessage_HISTORY_SYNC_NOTIFICATION,
		waE2E.ProtocolMessage_APP_STATE_SYNC_KEY_SHARE,
		waE2E.ProtocolMessage_APP_STATE_SYNC_KEY_REQUEST,
		waE2E.ProtocolMessage_APP_STATE_FATAL_EXCEPTION_NOTIFICATION,
		waE2E.ProtocolMessage_MSG_FANOUT_BACKFILL_REQUEST,
		waE2E.ProtocolMessage_INITIAL_SECURITY_NOTIFICATION_SETTING_SYNC,
		waE2E.ProtocolMessage_PEER_DATA_OPERATION_REQUEST_MESSAGE,
		waE2E.ProtocolMessage_PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE,
		waE2E.ProtocolMessage_EPHEMERAL_SYNC_RESPONSE,
		waE2E.ProtocolMessage_LID_MIGRATION_MAPPING_SYNC,
		waE2E.ProtocolMessage_COEX_STATE_SYNC:
		return true
	default:
		return false
	}
}
