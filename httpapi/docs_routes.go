package httpapi

import (
	"net/http"
	"reflect"
	"slices"

	"postern/access"
	"postern/httpapi/openapi"
	"postern/instance/pace"
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

	codes  codes             // of refusals, besides those that commonCodes knows
	advice map[string]string // by code, where the route has a limit of its own
}

func body[T any]() reflect.Type { return reflect.TypeFor[T]() }

// descriptions has a row for each route, by method and path. A test holds it
// complete.
func descriptions() map[string]description {
	all := map[string]description{}
	for _, theme := range []map[string]description{
		operationDescriptions(), consoleDescriptions(), outboxDescriptions(), instanceDescriptions(), connectionDescriptions(), proxyDescriptions(), webhookDescriptions(), optionsDescriptions(), deliveryDescriptions(), settingsDescriptions(), limitsDescriptions(),
		sendDescriptions(), notifyDescriptions(), fileDescriptions(), chatDescriptions(), storedDescriptions(),
		groupDescriptions(), channelDescriptions(), labelDescriptions(), batchDescriptions(), accessDescriptions(), portalDescriptions(),
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
	if r.Auth != AuthNone && r.Auth != AuthLink && (r.Auth != AuthCredential || len(r.Scopes) > 0) {
		all = all.and(codeScope, codeRateLimited, codeKeyMismatch)
	}
	if r.Auth != AuthNone && r.Auth != AuthLink && r.Auth != AuthHandshake && (r.Method != http.MethodGet || slices.Equal(r.Scopes, []access.Scope{access.Pair})) {
		all = all.and(codeCSRF)
	}
	if slices.Contains(r.Scopes, access.Send) || slices.Contains(r.Scopes, access.Batch) && r.Method == http.MethodPost {
		all = all.and(codeRecipientNotAllowed)
	}
	switch r.Auth {
	case AuthKey, AuthCredential:
		all = all.and(codeUnauthorized, codeTooManyFailures)
	case AuthInstance:
		all = all.and(codeUnauthorized, codeForbidden, "INSTANCE_NOT_FOUND", codeTooManyFailures)
	case AuthUser:
		all = all.and(codeMissingField, codeUnauthorized, codeTooManyFailures)
	case AuthHandshake:
		all = all.and(codeUnauthorized, codeForbidden, "ORIGIN_REFUSED", codeUpgradeRequired, codeInvalidSubscription, codeTooManyFailures)
	case AuthLink:
		all = all.and("PORTAL_NOT_FOUND")
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
	if slices.Contains(d.codes, "INSTANCE_NOT_CONNECTED") {
		all = all.and("INSTANCE_MOVED", codeWrongNetwork)
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

// sharing are those of a request that changes what an account's devices have in common.
func sharing(more ...string) codes { return asking("APP_STATE_CONFLICT").and(more...) }

// aboutPeople are those of a request that names people, chats or groups.
func aboutPeople(more ...string) codes { return asking("INVALID_RECIPIENT").and(more...) }

// aboutGroup are those of a request that names a group in its query or its body.
func aboutGroup(more ...string) codes { return aboutPeople(codeMissingField).and(more...) }

// sending are those of a send.
func sending(more ...string) codes {
	return codes{
		"INSTANCE_NOT_CONNECTED", "INSTANCE_BUSY", pace.Code, "INVALID_MESSAGE", "INVALID_RECIPIENT", "RECIPIENT_NOT_ON_WHATSAPP", "SEND_MESSAGE_FAILED",
		"REACHOUT_TIMELOCKED", "SEND_RESULT_UNKNOWN", "SENT_BUT_NOT_STORED", "DISK_FULL",
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

// The query of a list with cursors.
func cursors(more ...string) []string {
	return append(more, "limit", "nextCursor", "previousCursor")
}
