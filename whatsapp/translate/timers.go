package translate

import (
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// Timers returns the disappearing timers of chats that an event shows. A message without one shows
// nothing: only an explicit setting ends a timer.
func (t Translator) Timers(evt any) []event.ChatTimer {
	switch evt := evt.(type) {
	case *events.Message:
		return t.messageTimer(evt)
	case *events.GroupInfo:
		if e := evt.Ephemeral; e != nil {
			return groupTimer(evt.JID, e.DisappearingTimer, evt.Timestamp.Unix())
		}
	case *events.JoinedGroup:
		return GroupTimer(&evt.GroupInfo)
	}
	return nil
}

// GroupTimer returns the timer in the current metadata of a group.
func GroupTimer(info *types.GroupInfo) []event.ChatTimer {
	return groupTimer(info.JID, info.DisappearingTimer, 0)
}

func groupTimer(group types.JID, seconds uint32, at int64) []event.ChatTimer {
	return []event.ChatTimer{{Chat: []string{group.String()}, Seconds: seconds, At: at}}
}

func (t Translator) messageTimer(evt *events.Message) []event.ChatTimer {
	if evt.Info.IsIncomingBroadcast() {
		return nil // its chat is not the sender's
	}
	names := t.chatOf(evt.Info.Chat)
	m := evt.Message
	if len(names) == 0 || m == nil {
		return nil
	}
	timer := event.ChatTimer{Chat: names, At: evt.Info.Timestamp.Unix()}
	if p := m.GetProtocolMessage(); p.GetType() == waE2E.ProtocolMessage_EPHEMERAL_SETTING && p != nil && p.EphemeralExpiration != nil {
		timer.Seconds, timer.Set = p.GetEphemeralExpiration(), p.GetEphemeralSettingTimestamp()
		return []event.ChatTimer{timer}
	}
	info := ContextOf(unwrap(m).message)
	if info.GetExpiration() == 0 {
		return nil
	}
	timer.Seconds, timer.Set = info.GetExpiration(), info.GetEphemeralSettingTimestamp()
	return []event.ChatTimer{timer}
}

// HistoryTimer returns the timer of a conversation of the history.
func (t Translator) HistoryTimer(chat types.JID, c *waHistorySync.Conversation) []event.ChatTimer {
	names := t.chatOf(chat)
	if c.EphemeralExpiration == nil || len(names) == 0 {
		return nil
	}
	return []event.ChatTimer{{
		Chat: names, Seconds: c.GetEphemeralExpiration(), Set: c.GetEphemeralSettingTimestamp(), At: max(1, int64(c.GetConversationTimestamp())), //nolint:gosec // seconds
	}}
}

// chatOf returns the addresses of a chat that may have a timer, a person's LID first.
func (t Translator) chatOf(chat types.JID) []string {
	switch chat.Server {
	case types.GroupServer:
		return []string{chat.String()}
	case types.DefaultUserServer, types.HiddenUserServer, types.LegacyUserServer, types.HostedServer:
		phone, lid := PhoneAndLID(chat, types.EmptyJID, t.twin)
		var names []string
		if lid != nil {
			names = append(names, *lid)
		}
		if phone != nil && (lid == nil || *phone != *lid) {
			names = append(names, *phone)
		}
		return names
	}
	return nil
}
