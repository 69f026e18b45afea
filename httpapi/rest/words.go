package rest

import (
	"reflect"
	"slices"

	"postern/event"
	"postern/httpapi/openapi"
)

// TypeOf returns the type of T, for tables of routes.
func TypeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// Codes are names of [Codes].
type Codes []string

// And returns the codes with more of them.
func (c Codes) And(more ...string) Codes { return slices.Concat(c, Codes(more)) }

// Asking holds the codes of a request to WhatsApp.
func Asking(more ...string) Codes {
	return Codes{"INSTANCE_NOT_CONNECTED", "WHATSAPP_TIMEOUT", "REFUSED_BY_WHATSAPP", "INVALID_ARGUMENT"}.And(more...)
}

// Sharing holds the codes of a request that changes what an account's devices share.
func Sharing(more ...string) Codes { return Asking("APP_STATE_CONFLICT").And(more...) }

// AboutPeople holds the codes of a request that names people, chats or groups.
func AboutPeople(more ...string) Codes { return Asking("INVALID_RECIPIENT").And(more...) }

// AboutGroup holds the codes of a request that names a group in its query or body.
func AboutGroup(more ...string) Codes { return AboutPeople(CodeMissingField).And(more...) }

// Sending holds the codes of a send.
func Sending(more ...string) Codes {
	return Codes{
		"INSTANCE_NOT_CONNECTED", "INSTANCE_BUSY", codeSendLimit, "INVALID_MESSAGE", "INVALID_RECIPIENT", "RECIPIENT_NOT_ON_WHATSAPP", "NOT_A_MEMBER", "NOT_NEWSLETTER_ADMIN", "SEND_MESSAGE_FAILED",
		"REACHOUT_TIMELOCKED", "SEND_RESULT_UNKNOWN", "SENT_BUT_NOT_STORED", "DISK_FULL",
	}.And(more...)
}

// SendingTo holds the codes of a send whose body names a recipient and options.
func SendingTo(more ...string) Codes {
	return Sending("ONE_RECIPIENT", "QUOTED_MESSAGE_NOT_FOUND", "MESSAGE_PROCESSING_QUEUE_FULL", CodeLimitReached).And(more...)
}

// SendingFile holds the codes of a send with a file.
func SendingFile(more ...string) Codes {
	return SendingTo("INVALID_MEDIA", "MEDIA_TYPE_UNSUPPORTED", "UPLOAD_NOT_FOUND").And(more...)
}

// Cursors returns the query parameters of a list with cursors, and more.
func Cursors(more ...string) []string {
	return append(more, "limit", "nextCursor", "previousCursor")
}

// codeSendLimit is the code of a send that an instance's limits do not allow now.
const codeSendLimit = "INSTANCE_LIMIT"

// EventKinds returns the events of a family.
func EventKinds(f event.Family) (all []event.Kind) {
	for _, d := range event.Catalogue() {
		if d.Family == f {
			all = append(all, d.Kind)
		}
	}
	return all
}

// Ref returns the schema of a type as another schema refers to it.
type Ref = func(reflect.Type) openapi.Object
