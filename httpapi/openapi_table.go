package httpapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"postern/httpapi/openapi"
)

// description is what the documents say about a route beyond its method, path
// and credential.
type description struct {
	id      string // as a person would name it
	summary string // one sentence
	about   string // more, or empty

	in      reflect.Type // of a JSON body, nil when there is none
	example string       // of that body
	form    []string     // fields of a multipart body, beside the file; nil when the body is none
	query   []string
	once    bool // takes an Idempotency-Key

	status int          // of the success; 0: 200
	out    reflect.Type // of the answer, nil when it is no JSON
	media  string       // of an answer that is no JSON, or may be other than JSON
	also   []openapi.Answer

	codes codes // of refusals, besides those that commonCodes knows
}

func body[T any]() reflect.Type { return reflect.TypeFor[T]() }

// descriptions has a row for each route, by method and path. A test holds it
// complete.
func descriptions() map[string]description {
	all := map[string]description{}
	for _, theme := range []map[string]description{
		operationDescriptions(), outboxDescriptions(), instanceDescriptions(), connectionDescriptions(), webhookDescriptions(),
		sendDescriptions(), fileDescriptions(), chatDescriptions(), storedDescriptions(),
		groupDescriptions(), channelDescriptions(), labelDescriptions(), batchDescriptions(),
	} {
		for key, d := range theme {
			if d.status == 0 {
				d.status = http.StatusOK
			}
			all[key] = d
		}
	}
	return all
}

// codes are names of [Codes].
type codes []string

func (c codes) and(more ...string) codes { return slices.Concat(c, codes(more)) }

// commonCodes are the refusals that follow from what every route of a kind
// does before its own work.
func commonCodes(r Route, d description) codes {
	all := codes{codeInternal}
	if r.Auth != AuthNone || d.in != nil {
		all = all.and(codeShuttingDown)
	}
	switch r.Auth {
	case AuthKey:
		all = all.and(codeUnauthorized, codeKeyMismatch, codeTooManyFailures)
	case AuthInstance:
		all = all.and(codeUnauthorized, codeForbidden, "INSTANCE_NOT_FOUND", codeTooManyFailures)
	case AuthUser:
		all = all.and(codeUnauthorized, codeTooManyFailures)
	case AuthHandshake:
		all = all.and(codeUnauthorized, codeForbidden, "ORIGIN_REFUSED", codeUpgradeRequired, codeInvalidSubscription, codeTooManyFailures)
	case AuthNone:
	}
	if len(d.query) > 0 {
		all = all.and(codeInvalidQuery)
	}
	if r.Method != http.MethodGet && (d.in != nil || d.form == nil) {
		all = all.and(codeMalformedJSON, codeTooDeep, codeUnknownField, codeDuplicateField, codeInvalidType, codeBodyTooLarge, codeBodyTimeout, codeContentType)
	}
	if d.in != nil {
		all = all.and(codeMissingField)
	}
	if d.form != nil {
		all = all.and(codeMalformedForm, codeTooDeep, codeUnknownField, codeDuplicateField, codeMissingField, codeInvalidType, codeBodyTooLarge, codeBodyTimeout, codeContentType)
	}
	if d.once {
		all = all.and(codeInvalidKey, codeKeyInUse, codeKeyReused, "DISK_FULL")
	}
	return all
}

// asking are the codes of a request to WhatsApp.
func asking(more ...string) codes {
	return codes{"INSTANCE_NOT_CONNECTED", "WHATSAPP_TIMEOUT", "REFUSED_BY_WHATSAPP", "INVALID_ARGUMENT"}.and(more...)
}

// aboutPeople are those of a request that names people, chats or groups.
func aboutPeople(more ...string) codes { return asking("INVALID_RECIPIENT").and(more...) }

// aboutGroup are those of a request that names a group in its query or its body.
func aboutGroup(more ...string) codes { return aboutPeople(codeMissingField).and(more...) }

// sending are those of a send.
func sending(more ...string) codes {
	return codes{
		"INSTANCE_NOT_CONNECTED", "INSTANCE_BUSY", "INVALID_MESSAGE", "INVALID_RECIPIENT", "RECIPIENT_NOT_ON_WHATSAPP", "SEND_MESSAGE_FAILED",
		"SEND_RESULT_UNKNOWN", "SENT_BUT_NOT_STORED", "DISK_FULL",
	}.and(more...)
}

// sendingTo are those of a send whose body names a recipient and options.
func sendingTo(more ...string) codes {
	return sending("ONE_RECIPIENT", codeNoQuoted, "MESSAGE_PROCESSING_QUEUE_FULL").and(more...)
}

// sendingFile are those of a send with a file.
func sendingFile(more ...string) codes {
	return sendingTo("INVALID_MEDIA", "MEDIA_TYPE_UNSUPPORTED", "UPLOAD_NOT_FOUND").and(more...)
}

// tagOf groups routes by what they are about.
func tagOf(path string) string {
	for _, t := range []struct{ part, tag string }{
		{"/batches", tagBatches},
		{"/admin/batches", tagBatches},
		{"/outbox", tagOutbox},
		{"/ws/", tagSockets},
		{"/connect", tagConnection},
		{"/logout", tagConnection},
		{"/restart", tagConnection},
		{".png", tagConnection},
		{"/webhook", tagWebhook},
		{"/send/", tagSending},
		{"/media/", tagMedia},
		{"/upload/", tagMedia},
		{"/group", tagGroups},
		{"/newsletter", tagNewsletters},
		{"/label", tagLabels},
		{"/db/", tagStored},
		{"/contacts", tagStored},
		{"/chats", tagStored},
		{"/chat/", tagChats},
		{"/instance", tagInstances},
	} {
		if strings.Contains(path, t.part) {
			return t.tag
		}
	}
	return tagOperation
}

// The groups of routes.
const (
	tagInstances   = "Instances"
	tagConnection  = "Connection"
	tagWebhook     = "Webhook"
	tagSending     = "Sending"
	tagMedia       = "Media"
	tagChats       = "Chats"
	tagStored      = "Stored messages"
	tagGroups      = "Groups"
	tagNewsletters = "Newsletters"
	tagLabels      = "Labels"
	tagBatches     = "Batches"
	tagOutbox      = "Outbox"
	tagSockets     = "WebSockets"
	tagOperation   = "Operation"
)

func tags() []openapi.Tag {
	return []openapi.Tag{
		{Name: tagInstances, About: "WhatsApp accounts of this program, and their tokens."},
		{Name: tagConnection, About: "Linking an instance with a phone, and the state of its connection."},
		{Name: tagWebhook, About: "Where the events of an instance go."},
		{Name: tagSending, About: "Sending one message. Answers come when WhatsApp has acknowledged it and it is stored."},
		{Name: tagMedia, About: "Files: brought to WhatsApp before they are needed, and fetched from messages."},
		{Name: tagChats, About: "What a person does in the list of chats and inside a chat."},
		{Name: tagStored, About: "What this program keeps of messages, contacts and chats."},
		{Name: tagGroups, About: "Groups, their members and how people come in."},
		{Name: tagNewsletters, About: "Newsletters, which WhatsApp shows as channels."},
		{Name: tagLabels, About: "Labels of business accounts."},
		{Name: tagBatches, About: "One message for many recipients, sent at a human pace, that survives restarts."},
		{Name: tagOutbox, About: "Events of batches on their way to the global webhook."},
		{Name: tagSockets, About: "Events as they happen. What is sent on them is described by /asyncapi.json."},
		{Name: tagOperation, About: "For whoever runs the program."},
	}
}
