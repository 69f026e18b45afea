package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"postern/access"
	"postern/batch"
	"postern/delivery"
	"postern/dispatch"
	"postern/event"
	"postern/httpapi/idempotency"
	"postern/httpapi/strict"
	"postern/instance"
	"postern/instance/pace"
	"postern/instance/webhooks"
	"postern/internal/nesting"
	"postern/media"
	"postern/messages"
	"postern/store"
	"postern/whatsapp/proxy"
)

// The codes of refusals that this package makes itself, and the reader of bodies for it.
const (
	codeNotFound         = "NOT_FOUND"
	codeMethodNotAllowed = "METHOD_NOT_ALLOWED"
	codeUnauthorized     = "UNAUTHORIZED"
	codeKeyMismatch      = "API_KEY_MISMATCH"
	codeTooManyFailures  = "TOO_MANY_FAILURES"
	codeLimitReached     = "LIMIT_REACHED"
	codeForbidden        = "FORBIDDEN"
	codeNotOffered       = "NOT_OFFERED"
	codeMalformedJSON    = strict.CodeMalformed
	codeTooDeep          = strict.CodeTooDeep
	codeMalformedForm    = "MALFORMED_FORM"
	codeUnknownField     = strict.CodeUnknownField
	codeDuplicateField   = strict.CodeDuplicateField
	codeMissingField     = strict.CodeMissingField
	codeInvalidType      = strict.CodeInvalidType
	codeInvalidQuery     = "INVALID_QUERY"
	codeBodyTooLarge     = "BODY_TOO_LARGE"
	codeBodyTimeout      = "BODY_TIMEOUT"
	codeContentType      = "UNSUPPORTED_CONTENT_TYPE"
	codeUpgradeRequired  = "UPGRADE_REQUIRED"
	codeInstanceInUse    = "INSTANCE_IN_USE"
	codeUnknownEvent     = "UNKNOWN_EVENT"
	codeNoQRCode         = "NO_QR_CODE"
	codeInvalidAssertion = "INVALID_ASSERTION"
	codeInvalidKey       = "INVALID_IDEMPOTENCY_KEY"
	codeKeyInUse         = "IDEMPOTENCY_KEY_IN_USE"
	codeKeyReused        = "IDEMPOTENCY_KEY_REUSED"
	codeNoQuoted         = "QUOTED_MESSAGE_NOT_FOUND"
	codeProxyUnreachable = "PROXY_UNREACHABLE"
	codeInvalidReplay    = "INVALID_REPLAY"
	codeNoReplay         = "REPLAY_NOT_FOUND"
	codeProfiling        = "PROFILE_RUNNING"
	codeLogLevel         = "INVALID_LOG_LEVEL"
	codeBackup           = "BACKUP_RUNNING"
	codeSupport          = "SUPPORT_RUNNING"
	codeRecipient        = "INVALID_BACKUP_RECIPIENT"
	codeScope            = "SCOPE"
	codeCSRF             = "CSRF"
	codeExpiresIn        = "INVALID_EXPIRES_IN"
	codeRateLimited      = "RATE_LIMITED"
	codeWrongNetwork     = "WRONG_NETWORK"

	codeInvalidKeyRule      = "INVALID_KEY"
	codeRecipientNotAllowed = "RECIPIENT_NOT_ALLOWED"

	// wrongNetworkConflict is codeWrongNetwork in the answers of requests that would
	// connect, for openapi.Operation.Codes.
	wrongNetworkConflict = codeWrongNetwork + "/409"

	codeInternal     = "INTERNAL_ERROR"
	codeShuttingDown = "SHUTTING_DOWN"
)

// refusal is an answer that is not a success.
type refusal struct {
	status   int
	code     string
	messages []string
	step     proxy.Step // that failed, of codeProxyUnreachable
}

// Error implements error.
func (r *refusal) Error() string { return r.code + ": " + strings.Join(r.messages, "; ") }

func refusalOf(status int, code string, messages ...string) refusal {
	return refusal{status: status, code: code, messages: messages}
}

func refuse(status int, code string, messages ...string) error {
	r := refusalOf(status, code, messages...)
	return &r
}

// mapping is one row of the error table: errors that wrap err are answered
// with status and code. The text is the error's own, unless the row has one.
type mapping struct {
	err    error
	status int
	code   string
	text   string
}

// errorTable maps the errors of the packages below to answers. The first match
// counts. An unmapped error is an internal fault: 500, with the error in the log
// and not in the answer.
func errorTable() []mapping {
	return []mapping{
		// These may wrap a second error of the table, and take precedence.
		{instance.ErrNotStored, http.StatusNotAcceptable, "SENT_BUT_NOT_STORED", "the message was sent, but could not be stored"},
		{instance.ErrOutdated, http.StatusServiceUnavailable, "CLIENT_OUTDATED", ""},
		{instance.ErrMoved, http.StatusConflict, "INSTANCE_MOVED", "the instance has moved to another Postern and does not connect here"},
		{instance.ErrForget, http.StatusConflict, codeWrongNetwork, ""},
		{event.ErrWrongNetwork, http.StatusServiceUnavailable, codeWrongNetwork, ""},
		{event.ErrNotConnected, http.StatusServiceUnavailable, "INSTANCE_NOT_CONNECTED", ""},
		{nesting.ErrTooDeep, http.StatusBadRequest, codeTooDeep, ""},
		{store.ErrDamaged, http.StatusInternalServerError, "RECORD_DAMAGED", "a record that the request needs is damaged and set aside"},
		{event.ErrTimelocked, http.StatusUnprocessableEntity, event.ReachoutTimelocked, ""},
		{pace.ErrLimit, http.StatusTooManyRequests, pace.Code, ""},
		{event.ErrBusy, http.StatusServiceUnavailable, "INSTANCE_BUSY", ""},
		{store.ErrDiskFull, http.StatusServiceUnavailable, "DISK_FULL", "the disk is full or nearly full; nothing was changed"},
		{store.ErrClosed, http.StatusServiceUnavailable, codeShuttingDown, "the program is stopping"},
		{access.ErrUnknown, http.StatusUnauthorized, codeUnauthorized, "the key was deleted during the request; nothing was changed"},
		{access.ErrNotFound, http.StatusNotFound, "KEY_NOT_FOUND", ""},
		{access.ErrTooMany, http.StatusTooManyRequests, codeLimitReached, ""},
		{access.ErrTooManyLinks, http.StatusTooManyRequests, codeLimitReached, ""},
		{instance.ErrNotFound, http.StatusNotFound, "INSTANCE_NOT_FOUND", "there is no such instance"},
		{instance.ErrExists, http.StatusConflict, "INSTANCE_EXISTS", ""},
		{instance.ErrAccountExists, http.StatusConflict, "INSTANCE_EXISTS", ""},
		{instance.ErrNotMoved, http.StatusConflict, "INSTANCE_NOT_MOVED", ""},
		{ErrTransferring, http.StatusConflict, "TRANSFER_RUNNING", ""},
		{ErrArchive, http.StatusUnprocessableEntity, "INVALID_ARCHIVE", ""},
		{ErrArchiveSize, http.StatusRequestEntityTooLarge, codeBodyTooLarge, ""},
		{instance.ErrHasData, http.StatusConflict, codeInstanceInUse, "the instance has stored messages; delete with force=true to remove them too"},
		{instance.ErrInvalid, http.StatusUnprocessableEntity, "INVALID_INSTANCE", ""},
		{messages.ErrInvalid, http.StatusUnprocessableEntity, "INVALID_INSTANCE", ""},
		{pace.ErrInvalid, http.StatusUnprocessableEntity, "INVALID_LIMITS", ""},
		{webhooks.ErrNoWebhook, http.StatusNotFound, "WEBHOOK_NOT_FOUND", "the instance has no webhook"},
		{instance.ErrNoProxy, http.StatusNotFound, "PROXY_NOT_FOUND", ""},
		{instance.ErrInvalidProxy, http.StatusUnprocessableEntity, "INVALID_PROXY", ""},
		{instance.ErrProxyUnreachable, http.StatusUnprocessableEntity, codeProxyUnreachable, ""},
		{webhooks.ErrInvalid, http.StatusBadRequest, "INVALID_WEBHOOK", ""},
		{webhooks.ErrNoEndpoint, http.StatusNotFound, "ENDPOINT_NOT_FOUND", ""},
		{webhooks.ErrNotSigned, http.StatusConflict, "SIGNING_OFF", ""},
		{instance.ErrNoCode, http.StatusRequestTimeout, "CONNECT_TIMEOUT", ""},
		{instance.ErrAlreadyPaired, http.StatusConflict, "ALREADY_CONNECTED", ""},
		{event.ErrNoPasskey, http.StatusConflict, "PASSKEY_NOT_EXPECTED", ""},
		{event.ErrPasskeyRefused, http.StatusUnprocessableEntity, "PASSKEY_REFUSED", "WhatsApp refused the passkey"},
		{ErrNoSupport, http.StatusNotFound, codeNotFound, ""},
		{ErrOrigin, http.StatusForbidden, "ORIGIN_REFUSED", ""},
		{ErrNotDurable, http.StatusConflict, "NOT_DURABLE", ""},
		{ErrAhead, http.StatusBadRequest, codeInvalidSubscription, ""},
		{ErrGone, http.StatusGone, "EVENTS_GONE", ""},
		{ErrStopping, http.StatusServiceUnavailable, codeShuttingDown, ""},
		{idempotency.ErrInUse, http.StatusConflict, codeKeyInUse, ""},
		{idempotency.ErrReused, http.StatusConflict, codeKeyReused, ""},
		{batch.ErrNotFound, http.StatusNotFound, "BATCH_NOT_FOUND", "there is no such batch or item"},
		{batch.ErrInvalidTransition, http.StatusConflict, "INVALID_BATCH_TRANSITION", ""},
		{batch.ErrInvalidCursor, http.StatusBadRequest, codeNoCursor, ""},
		{dispatch.ErrNoEntry, http.StatusNotFound, "OUTBOX_ENTRY_NOT_FOUND", "there is no such event in the outbox"},
		{dispatch.ErrNotPending, http.StatusConflict, "OUTBOX_ENTRY_NOT_PENDING", ""},
		{delivery.ErrNotFound, http.StatusNotFound, "DELIVERY_NOT_FOUND", "there is no such delivery"},
		{delivery.ErrCursor, http.StatusBadRequest, codeNoCursor, ""},
		{delivery.ErrBodyGone, http.StatusConflict, "BODY_GONE", "the body of the delivery is no longer kept"},
		{delivery.ErrEndpointGone, http.StatusConflict, "ENDPOINT_GONE", ""},
		{delivery.ErrLogOff, http.StatusConflict, "LOG_OFF", "the delivery log is off: only pending durable deliveries are known"},
		{delivery.ErrReplayRuns, http.StatusConflict, "REPLAY_RUNNING", "a replay is already running; wait for its end or delete it"},
		{messages.ErrNoAnchor, http.StatusConflict, "NO_ANCHOR", ""},
		{messages.ErrNoMessage, http.StatusNotFound, "MESSAGE_NOT_FOUND", ""},
		{instance.ErrQueueFull, http.StatusServiceUnavailable, "MESSAGE_PROCESSING_QUEUE_FULL", ""},
		{media.ErrNotFound, http.StatusNotFound, "UPLOAD_NOT_FOUND", "there is no such upload, or it expired"},
		{event.ErrNoMedia, http.StatusUnprocessableEntity, "MESSAGE_WITHOUT_MEDIA", ""},
		{event.ErrMediaGone, http.StatusGone, "MEDIA_GONE", ""},
		{event.ErrMediaType, http.StatusUnsupportedMediaType, "MEDIA_TYPE_UNSUPPORTED", ""},
		{event.ErrMedia, http.StatusUnprocessableEntity, "INVALID_MEDIA", ""},
		{batch.ErrCreating, http.StatusServiceUnavailable, "BATCHES_BEING_CREATED", ""},
		{batch.ErrTooManyOpen, http.StatusTooManyRequests, codeLimitReached, ""},
		{media.ErrTooMany, http.StatusTooManyRequests, codeLimitReached, ""},
		{ErrTooManySockets, http.StatusTooManyRequests, codeLimitReached, ""},
		{event.ErrNoLabel, http.StatusNotFound, "LABEL_NOT_FOUND", ""},
		{event.ErrArgument, http.StatusUnprocessableEntity, "INVALID_ARGUMENT", ""},
		{event.ErrStateConflict, http.StatusConflict, "APP_STATE_CONFLICT", ""},
		{event.ErrRefused, http.StatusUnprocessableEntity, "REFUSED_BY_WHATSAPP", ""},
		{event.ErrRecipient, http.StatusUnprocessableEntity, "INVALID_RECIPIENT", ""},
		{event.ErrContent, http.StatusUnprocessableEntity, "INVALID_MESSAGE", ""},
		{event.ErrNotOnWhatsApp, http.StatusUnprocessableEntity, "RECIPIENT_NOT_ON_WHATSAPP", ""},
		{event.ErrSendRefused, http.StatusUnprocessableEntity, event.SendMessageFailed, ""},
		{event.ErrNoAnswer, http.StatusRequestTimeout, "WHATSAPP_TIMEOUT", ""},
		{event.ErrOutcomeUnknown, http.StatusRequestTimeout, event.SendResultUnknown, ""},
	}
}

// answerTo maps the error of a handler to its answer. known is false for an
// unmapped error.
func answerTo(err error) (r refusal, known bool) {
	if own, ok := errors.AsType[*refusal](err); ok {
		return *own, true
	}
	if body, ok := errors.AsType[*strict.Error](err); ok {
		return bodyRefusal(body), true
	}
	if invalid, ok := errors.AsType[*access.InvalidError](err); ok {
		return refusalOf(http.StatusUnprocessableEntity, codeInvalidKeyRule, invalid.Messages...), true
	}
	if invalid, ok := errors.AsType[*batch.InvalidError](err); ok {
		return refusalOf(http.StatusUnprocessableEntity, invalid.Code, invalid.Messages...), true
	}
	for _, m := range errorTable() {
		if !errors.Is(err, m.err) {
			continue
		}
		text := m.text
		if text == "" {
			text = err.Error()
		}
		r := refusalOf(m.status, m.code, text)
		if failed, ok := errors.AsType[*proxy.Error](err); ok && m.code == codeProxyUnreachable {
			r.step = failed.Step
		}
		return r, true
	}
	return refusalOf(http.StatusInternalServerError, codeInternal, "internal error"), false
}

// bodyRefusal maps an error of reading the body: 413, 408 or 400.
func bodyRefusal(e *strict.Error) refusal {
	if most, ok := errors.AsType[*http.MaxBytesError](e); ok {
		return refusalOf(http.StatusRequestEntityTooLarge, codeBodyTooLarge, fmt.Sprintf("the body is larger than %d bytes, the limit of this route", most.Limit))
	}
	if isTimeout(e) {
		return refusalOf(http.StatusRequestTimeout, codeBodyTimeout, "the body did not arrive in time")
	}
	return refusalOf(http.StatusBadRequest, e.Code, e.Error())
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// errorBody is the body of every refusal. The messages appear twice because
// clients of both spellings exist.
type errorBody struct {
	StatusCode int      `json:"statusCode"`
	Error      string   `json:"error"` // the status text in kebab case
	Code       string   `json:"code"`
	Messages   []string `json:"messages"`
	Message    []string `json:"message"`
	RequestID  string   `json:"requestId"`

	Step proxy.Step `json:"step,omitempty"` // that failed, when a proxy did
}

func (r refusal) body(requestID string) errorBody {
	text := strings.ReplaceAll(strings.ToLower(http.StatusText(r.status)), " ", "-")
	return errorBody{
		StatusCode: r.status, Error: text, Code: r.code, Messages: r.messages, Message: r.messages, RequestID: requestID, Step: r.step,
	}
}

// maxMessages bounds the list of what is wrong with one request.
const maxMessages = 100

func invalidField(text string) error { return fmt.Errorf("%w: %s", event.ErrArgument, text) }
