package whatsapp

import (
	"context"
	"encoding/json"

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
	raw := evt.RawMessage
	if raw == nil {
		raw = evt.Message
	}
	name, content, ok := normalise(raw)
	if !ok || betweenOwnDevices(evt) {
		return event.Fact{}, false
	}
	m := &event.Message{
		KeyID:            evt.Info.ID,
		KeyFromMe:        evt.Info.IsFromMe,
		MessageType:      name,
		Content:          content,
		MessageTimestamp: evt.Info.Timestamp.Unix(),
		Metadata:         metadata(evt),
	}
	if evt.Info.PushName != "" {
		m.PushName = &evt.Info.PushName
	}
	s.address(m, evt.Info.MessageSource, addressBook(cli.Store))
	return event.Fact{Kind: event.MessagesUpsert, Data: m}, true
}

// address fills in the JIDs of m: the chat, and in a group who spoke.
func (s *Session) address(m *event.Message, src types.MessageSource, other func(types.JID) types.JID) {
	alt := src.SenderAlt
	if src.IsFromMe {
		alt = src.RecipientAlt
	}
	switch src.Chat.Server {
	case types.DefaultUserServer, types.HiddenUserServer:
		m.KeyRemoteJID, m.KeyLID = phoneAndLID(src.Chat, alt, other)
		return
	case types.GroupServer:
		m.IsGroup = true
	}
	chat := src.Chat.String()
	m.KeyRemoteJID = &chat
	if !src.Sender.IsEmpty() {
		m.KeyParticipant, m.KeyParticipantLID = phoneAndLID(src.Sender, src.SenderAlt, other)
	}
}

// phoneAndLID returns the preferred JID of one person, the phone's when it is
// known, and the LID, or nil. alt is the other form of jid, if WhatsApp told
// it; else other is asked.
func phoneAndLID(jid, alt types.JID, other func(types.JID) types.JID) (preferred, lid *string) {
	jid, alt = jid.ToNonAD(), alt.ToNonAD()
	if alt.User == "" {
		alt = other(jid)
	}
	for _, j := range []types.JID{jid, alt} {
		text := j.String()
		switch {
		case j.User == "":
		case j.Server == types.HiddenUserServer:
			lid = &text
		case preferred == nil:
			preferred = &text
		}
	}
	if preferred == nil {
		preferred = lid
	}
	return preferred, lid
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
func betweenOwnDevices(evt *events.Message) bool {
	if evt.Info.Category == "peer" {
		return true
	}
	p := evt.Message.GetProtocolMessage()
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

// metadata tells which wrappers were taken off, or is null.
func metadata(evt *events.Message) json.RawMessage {
	flags := struct {
		Ephemeral bool `json:"ephemeral,omitempty"`
		ViewOnce  bool `json:"viewOnce,omitempty"`
		Edit      bool `json:"edit,omitempty"`
	}{evt.IsEphemeral, evt.IsViewOnce, evt.IsEdit}
	b, err := event.Marshal(flags)
	if err != nil || string(b) == "{}" {
		return nil
	}
	return b
}
