package translate

import (
	"context"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// Message translates with the secrets of cli, or without any if cli is nil.
func (t Translator) Message(cli *whatsmeow.Client, evt *events.Message) (event.Fact, bool) {
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
		info.ID = id // the library replaces it by the id of the edited message
	}
	return t.messageOf(&info, kind, content, md), true
}

// messageOf adds the sender, chat and time to a content.
func (t Translator) messageOf(info *types.MessageInfo, kind string, content jsonWriter, md metadata) event.Fact {
	m := &event.Message{
		KeyID:            info.ID,
		KeyFromMe:        info.IsFromMe,
		MessageType:      kind,
		Content:          content.buf,
		MessageTimestamp: t.at(info.Timestamp).Unix(),
		Device:           deviceName(info.ID),
	}
	if name := info.PushName; name != "" && name != "-" { // a dash means none
		m.PushName = &name
	}
	t.address(m, info.MessageSource)
	if info.IsIncomingBroadcast() && !info.IsFromMe {
		md.Broadcast = info.Chat.String()
	}
	md.Truncated = content.cut
	md.Source = t.Source
	m.Metadata = md.json()
	return event.Fact{Kind: event.MessagesUpsert, Data: m}
}

// address sets the JIDs of m: the chat, and the sender in chats with several. WhatsApp
// shows a message to a broadcast list in the direct chat with the sender, so that is
// its chat here.
func (t Translator) address(m *event.Message, src types.MessageSource) {
	switch {
	case src.Chat.User == "":
	case src.IsIncomingBroadcast() && !src.IsFromMe:
		m.KeyRemoteJID, m.KeyLID = PhoneAndLID(src.Sender, src.SenderAlt, t.twin)
	case src.Chat.Server == types.GroupServer, src.Chat.Server == types.BroadcastServer:
		m.IsGroup = src.Chat.Server == types.GroupServer
		m.KeyRemoteJID = new(src.Chat.String())
		m.KeyParticipant, m.KeyParticipantLID = PhoneAndLID(src.Sender, src.SenderAlt, t.twin)
	case src.Chat.Server == types.NewsletterServer:
		m.KeyRemoteJID = new(src.Chat.String())
	default:
		t.addressDirect(m, src)
	}
}

// addressDirect is address for a chat with one person, possibly oneself. A bot can
// write in the chat with another person, and is then its participant.
func (t Translator) addressDirect(m *event.Message, src types.MessageSource) {
	alt := src.SenderAlt
	guest := !src.IsFromMe && src.Sender.IsBot() && src.Sender.User != src.Chat.User
	switch {
	case src.IsFromMe:
		alt = src.RecipientAlt
	case guest:
		alt = types.EmptyJID
		m.KeyParticipant, m.KeyParticipantLID = PhoneAndLID(src.Sender, src.SenderAlt, t.twin)
	}
	m.KeyRemoteJID, m.KeyLID = PhoneAndLID(src.Chat, alt, t.twin)
}

// twin returns the other address of a person, empty if it is unknown.
func (t Translator) twin(jid types.JID) types.JID {
	switch {
	case jid.User == "":
		return types.EmptyJID
	case jid == t.Own.JID.ToNonAD():
		return t.Own.LID.ToNonAD()
	case jid == t.Own.LID.ToNonAD():
		return t.Own.JID.ToNonAD()
	default:
		return t.Other(jid)
	}
}

// PhoneAndLID returns the preferred JID of one person, the phone's if it is known, and
// the LID, or nil. alt is the other address of jid, if WhatsApp sent it; else it is
// looked up by other.
func PhoneAndLID(jid, alt types.JID, other func(types.JID) types.JID) (preferred, lid *string) {
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

// person returns the address of an account, without a device and its host.
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

// isPerson reports whether an address is a phone number or a LID.
func isPerson(j types.JID) bool {
	return j.User != "" && (j.Server == types.DefaultUserServer || j.Server == types.HiddenUserServer)
}

// AddressBook returns the look-up from a phone JID to its LID and back. It returns the
// empty JID if it is unknown.
func AddressBook(device *wastore.Device) func(types.JID) types.JID {
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

// betweenOwnDevices reports whether a message is internal to the account's devices,
// such as keys and history notices.
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
