package translate

import (
	"time"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// chatFacts handles changes of chats on another device of the account.
func (t Translator) chatFacts(evt any) ([]event.Fact, bool) {
	switch evt := evt.(type) {
	case *events.Archive:
		return t.chat(event.ChatArchive, evt.JID, evt.Timestamp, evt.FromFullSync, action(evt.Action))
	case *events.Pin:
		return t.chat(event.ChatPin, evt.JID, evt.Timestamp, evt.FromFullSync, action(evt.Action))
	case *events.Mute:
		return t.chat(event.ChatMute, evt.JID, evt.Timestamp, evt.FromFullSync, action(evt.Action))
	case *events.MarkChatAsRead:
		return t.chat(event.ChatMarkRead, evt.JID, evt.Timestamp, evt.FromFullSync, action(evt.Action))
	case *events.ClearChat:
		extra := event.Extra{"deleteMedia": evt.DeleteMedia}
		return t.chat(event.ChatClear, evt.JID, evt.Timestamp, evt.FromFullSync, merge(extra, action(evt.Action)))
	case *events.UnarchiveChatsSetting:
		return t.chat(event.ChatUnarchiveSetting, types.EmptyJID, evt.Timestamp, evt.FromFullSync, action(evt.Action))
	case *events.DeleteChat:
		return one(event.ChatsDelete, event.ChatDelete{
			ChatJID: t.jid(evt.JID), DateTime: t.at(evt.Timestamp), DeleteMedia: &evt.DeleteMedia,
			Extra: merge(event.Extra{"fromFullSync": evt.FromFullSync}, action(evt.Action)),
		})
	case *events.Blocklist:
		return t.blocklist(evt), true
	default:
		return nil, false
	}
}

func (t Translator) chat(kind event.ChatUpdateType, jid types.JID, when time.Time, full bool, extra event.Extra) ([]event.Fact, bool) {
	return one(event.ChatsUpdated, event.ChatUpdate{
		Type: kind, DateTime: t.at(when), ChatJID: t.jid(jid), FromFullSync: &full, Extra: extra,
	})
}

// blocklist reports the change of the list, then each contact whose state changed. The
// action "modify" has no changes: the complete list must be read again.
func (t Translator) blocklist(evt *events.Blocklist) []event.Fact {
	extra := event.Extra{"changes": len(evt.Changes)}
	for key, value := range map[string]string{
		"action": string(evt.Action), "dhash": evt.DHash, "prevDhash": evt.PrevDHash,
	} {
		if value != "" {
			extra[key] = value
		}
	}
	update := func(u event.ChatUpdate) event.Fact { return event.Fact{Kind: event.ChatsUpdated, Data: u} }
	facts := []event.Fact{update(event.ChatUpdate{Type: event.ChatBlocklist, DateTime: t.at(t.Now), Extra: extra})}
	for _, c := range evt.Changes {
		facts = append(facts, update(event.ChatUpdate{
			Type: event.ChatBlocklistChange, DateTime: t.at(t.Now), ChatJID: t.jid(c.JID),
			Extra: event.Extra{"action": string(c.Action), "blocked": c.Action == events.BlocklistChangeActionBlock},
		}))
	}
	return facts
}

// merge adds the keys of more that extra does not have.
func merge(extra, more event.Extra) event.Extra {
	for key, value := range more {
		if _, taken := extra[key]; !taken {
			extra[key] = value
		}
	}
	return extra
}
