package translate

import (
	"time"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// storedMessageFacts handles changes of stored messages, and messages that could not be
// decrypted.
func (t Translator) storedMessageFacts(evt any) ([]event.Fact, bool) {
	switch evt := evt.(type) {
	case *events.DeleteForMe:
		return one(event.MessagesDelete, event.MessageDelete{
			ChatJID: t.jid(evt.ChatJID), SenderJID: t.jid(evt.SenderJID), KeyFromMe: evt.IsFromMe, MessageID: evt.MessageID,
			DeleteMedia: evt.Action.GetDeleteMedia(), FromFullSync: evt.FromFullSync,
			DateTime: t.at(evt.Timestamp), MessageTime: messageTime(evt.Action.GetMessageTimestamp()),
		})
	case *events.Star:
		return one(event.MessagesStar, event.MessageStar{
			ChatJID: t.jid(evt.ChatJID), SenderJID: t.jid(evt.SenderJID), KeyFromMe: evt.IsFromMe, MessageID: evt.MessageID,
			Starred: evt.Action.GetStarred(), FromFullSync: evt.FromFullSync, DateTime: t.at(evt.Timestamp),
		})
	case *events.UndecryptableMessage:
		return one(event.MessagesUndecryptable, t.undecryptable(evt))
	case *events.MediaRetry:
		answer := event.MediaAnswer{
			MessageID: evt.MessageID, ChatJID: t.jid(evt.ChatID), SenderJID: t.jid(evt.SenderID), KeyFromMe: evt.FromMe,
			HasCiphertext: len(evt.Ciphertext) > 0, DateTime: t.at(evt.Timestamp),
		}
		if evt.Error != nil {
			answer.ErrorCode = evt.Error.Code
		}
		return one(event.MediaRetry, answer)
	default:
		return nil, false
	}
}

func (t Translator) undecryptable(evt *events.UndecryptableMessage) event.MessageUndecryptable {
	src := evt.Info.MessageSource
	u := event.MessageUndecryptable{
		KeyID: evt.Info.ID, KeyFromMe: src.IsFromMe, IsUnavailable: evt.IsUnavailable, DateTime: t.at(evt.Info.Timestamp),
	}
	u.ChatJID, _ = t.Both(src.Chat, chatAlt(src))
	u.SenderJID, _ = t.Both(src.Sender, src.SenderAlt)
	if evt.UnavailableType == events.UnavailableTypeViewOnce {
		u.UnavailableType = event.UnavailableViewOnce
	}
	if evt.DecryptFailMode == events.DecryptFailHide {
		u.DecryptFailMode = event.DecryptFailHide
	}
	return u
}

// chatAlt returns the other address of a direct chat, if WhatsApp sent it.
func chatAlt(src types.MessageSource) types.JID {
	switch {
	case src.IsGroup:
		return types.EmptyJID
	case src.IsFromMe:
		return src.RecipientAlt
	default:
		return src.SenderAlt
	}
}

// messageTime converts a time that WhatsApp sends in seconds or, from some clients, in
// milliseconds. Zero and negative values are no time.
func messageTime(n int64) event.Time {
	const firstMillisecond = 1e11 // in seconds that is the year 5138
	switch {
	case n <= 0:
		return event.Time{}
	case n >= firstMillisecond:
		return event.At(time.UnixMilli(n))
	default:
		return event.At(unixTime(n))
	}
}

func unixTime(seconds int64) time.Time { return time.Unix(seconds, 0) }
