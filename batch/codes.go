package batch

import (
	"postern/batch/record"
	"postern/event"
)

// ItemCode describes one value of an item's lastErrorCode. A new one is a row of
// [ItemCodes]; docs/errors.md is generated from them.
type ItemCode struct {
	Code    string
	Event   string // error.code in the item's event; empty: no event is emitted
	Meaning string
	Next    string // what the caller can do
}

// The codes that only items have.
const (
	codeNotOnWhatsApp = "RECIPIENT_NOT_ON_WHATSAPP"
	codeOptedOut      = "OPTED_OUT"
	codeDuplicate     = "DUPLICATE_RECIPIENT"
)

// ItemCodes returns the codes of items. An attempt that a limit or a restriction put off
// has the code that a request would get instead, see [event.NotNowError].
func ItemCodes() []ItemCode {
	return []ItemCode{
		{event.SendMessageFailed, event.SendMessageFailed, "The message was certainly not sent.", "Put the recipient into another batch."},
		{event.SendResultUnknown, event.SendResultUnknown, "The message may have been sent; it is never sent again by itself.", "Look at the phone before sending again."},
		{codeNotOnWhatsApp, "", "The number has no WhatsApp account; with `skipUnregistered` the item is `SKIPPED`.", "Do not try this number again."},
		{codeOptedOut, "", "The recipient opted out; the item is `SKIPPED`, and nothing was sent from then on.", "Send no batches to this number. See `GET /optouts`."},
		{codeDuplicate, "", "WhatsApp answers for the number with the account of another recipient of the batch, who has the message or may have it; the item is `SKIPPED`.", "Nothing: the person is written to once."},
		{record.CodeDamaged, event.SendMessageFailed, "The item's record is damaged in the data file. Nothing was sent if the item is `FAILED`; an item that is `UNKNOWN` may have been sent.", "Report it to the operator. Put the recipient into another batch."},
	}
}
