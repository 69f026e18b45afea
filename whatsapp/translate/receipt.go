package translate

import (
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// Receipt translates a receipt. ok is false for receipts between the account's own
// devices, which concern no chat message.
func (t Translator) Receipt(evt *events.Receipt) (f event.Fact, ok bool) {
	status, ok := receiptStatus(evt.Type)
	if !ok || len(evt.MessageIDs) == 0 {
		return event.Fact{}, false
	}
	var where event.Message // addressed like its messages
	t.address(&where, evt.MessageSource)
	about := event.AboutOf(&where)
	return event.Fact{
		Kind: event.MessagesUpdate,
		Data: event.Receipt{KeyIDs: evt.MessageIDs, Status: status, At: evt.Timestamp, Chat: about.Chat, LID: about.LID},
	}, true
}

func receiptStatus(t types.ReceiptType) (event.UpdateStatus, bool) {
	switch t {
	case types.ReceiptTypeDelivered, types.ReceiptTypeInactive:
		return event.StatusDelivered, true
	case types.ReceiptTypeSender:
		return event.StatusSent, true
	case types.ReceiptTypeRead, types.ReceiptTypeReadSelf:
		return event.StatusRead, true
	case types.ReceiptTypePlayed, types.ReceiptTypePlayedSelf:
		return event.StatusPlayed, true
	case types.ReceiptTypeRetry:
		return event.StatusRetry, true
	case types.ReceiptTypeServerError:
		return event.StatusServerError, true
	case types.ReceiptTypePeerMsg, types.ReceiptTypeHistorySync:
		return "", false
	default:
		return event.StatusUnknown, true
	}
}
