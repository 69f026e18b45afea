package httpapi

import (
	"errors"
	"net/http"
	"time"

	"postern/access"
	"postern/batch"
	"postern/delivery"
	"postern/delivery/logbook"
	"postern/delivery/pull"
	"postern/delivery/receivers"
	"postern/dispatch"
	"postern/event"
	"postern/httpapi/batches"
	"postern/httpapi/deliveries"
	"postern/httpapi/idempotency"
	"postern/httpapi/instances"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
	"postern/httpapi/sockets"
	"postern/instance"
	"postern/instance/erasure"
	"postern/instance/later"
	"postern/instance/pace"
	"postern/instance/webhooks"
	"postern/internal/nesting"
	"postern/internal/sheet"
	"postern/media"
	"postern/media/cache"
	"postern/messages"
	"postern/store"
	"postern/whatsapp/proxy"
)

// mapping is one row of the error table: errors that wrap err are answered with status and code. The text is that of
// the row or, if it has none, of the error.
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
		{instance.ErrForget, http.StatusConflict, rest.CodeWrongNetwork, ""},
		{event.ErrWrongNetwork, http.StatusServiceUnavailable, rest.CodeWrongNetwork, ""},
		{event.ErrNotConnected, http.StatusServiceUnavailable, "INSTANCE_NOT_CONNECTED", ""},
		{nesting.ErrTooDeep, http.StatusBadRequest, rest.CodeTooDeep, ""},
		{store.ErrDamaged, http.StatusInternalServerError, "RECORD_DAMAGED", "a record that the request needs is damaged and set aside"},
		{event.ErrTimelocked, http.StatusUnprocessableEntity, event.ReachoutTimelocked, ""},
		{pace.ErrLimit, http.StatusTooManyRequests, pace.Code, ""},
		{event.ErrBusy, http.StatusServiceUnavailable, "INSTANCE_BUSY", ""},
		{store.ErrDiskFull, http.StatusServiceUnavailable, "DISK_FULL", "the disk is full or nearly full; nothing was changed"},
		{store.ErrClosed, http.StatusServiceUnavailable, rest.CodeShuttingDown, "the program is stopping"},
		{access.ErrUnknown, http.StatusUnauthorized, rest.CodeUnauthorized, "the key was deleted during the request; nothing was changed"},
		{access.ErrNotFound, http.StatusNotFound, "KEY_NOT_FOUND", ""},
		{access.ErrTooMany, http.StatusTooManyRequests, rest.CodeLimitReached, ""},
		{access.ErrTooManyLinks, http.StatusTooManyRequests, rest.CodeLimitReached, ""},
		{rest.ErrNoInstance, http.StatusNotFound, "INSTANCE_NOT_FOUND", "there is no such instance"},
		{instance.ErrTag, http.StatusUnprocessableEntity, "INVALID_TAG", ""},
		{instance.ErrNotFound, http.StatusNotFound, "INSTANCE_NOT_FOUND", "there is no such instance"},
		{instance.ErrExists, http.StatusConflict, "INSTANCE_EXISTS", ""},
		{instance.ErrAccountExists, http.StatusConflict, "INSTANCE_EXISTS", ""},
		{instance.ErrNotMoved, http.StatusConflict, "INSTANCE_NOT_MOVED", ""},
		{instances.ErrTransferring, http.StatusConflict, "TRANSFER_RUNNING", ""},
		{instances.ErrArchive, http.StatusUnprocessableEntity, "INVALID_ARCHIVE", ""},
		{instances.ErrArchiveSize, http.StatusRequestEntityTooLarge, rest.CodeBodyTooLarge, ""},
		{instance.ErrHasData, http.StatusConflict, instances.CodeInstanceInUse, "the instance has stored messages; delete with force=true to remove them too"},
		{instance.ErrInvalid, http.StatusUnprocessableEntity, "INVALID_INSTANCE", ""},
		{messages.ErrInvalid, http.StatusUnprocessableEntity, "INVALID_INSTANCE", ""},
		{pace.ErrInvalid, http.StatusUnprocessableEntity, "INVALID_LIMITS", ""},
		{webhooks.ErrNoWebhook, http.StatusNotFound, "WEBHOOK_NOT_FOUND", "the instance has no webhook"},
		{instance.ErrNoProxy, http.StatusNotFound, "PROXY_NOT_FOUND", ""},
		{instance.ErrInvalidProxy, http.StatusUnprocessableEntity, "INVALID_PROXY", ""},
		{instance.ErrProxyUnreachable, http.StatusUnprocessableEntity, instances.CodeProxyUnreachable, ""},
		{webhooks.ErrInvalid, http.StatusBadRequest, "INVALID_WEBHOOK", ""},
		{webhooks.ErrNoEndpoint, http.StatusNotFound, "ENDPOINT_NOT_FOUND", ""},
		{webhooks.ErrNotSigned, http.StatusConflict, "SIGNING_OFF", ""},
		{instance.ErrNoCode, http.StatusRequestTimeout, "CONNECT_TIMEOUT", ""},
		{instance.ErrAlreadyPaired, http.StatusConflict, "ALREADY_CONNECTED", ""},
		{event.ErrNoPasskey, http.StatusConflict, "PASSKEY_NOT_EXPECTED", ""},
		{event.ErrPasskeyRefused, http.StatusUnprocessableEntity, "PASSKEY_REFUSED", "WhatsApp refused the passkey"},
		{operator.ErrNoSupport, http.StatusNotFound, rest.CodeNotFound, ""},
		{sockets.ErrOrigin, http.StatusForbidden, "ORIGIN_REFUSED", ""},
		{sockets.ErrNotDurable, http.StatusConflict, "NOT_DURABLE", ""},
		{deliveries.ErrNotDurable, http.StatusConflict, "NOT_DURABLE", ""},
		{pull.ErrName, http.StatusUnprocessableEntity, "INVALID_CONSUMER", ""},
		{receivers.ErrNotFound, http.StatusNotFound, "RECEIVER_NOT_FOUND", ""},
		{receivers.ErrNoAddress, http.StatusConflict, "NO_ADDRESS", ""},
		{receivers.ErrNotDurable, http.StatusConflict, "NOT_DURABLE", ""},
		{pull.ErrNotFound, http.StatusNotFound, "CONSUMER_NOT_FOUND", ""},
		{pull.ErrTooMany, http.StatusConflict, "TOO_MANY_CONSUMERS", ""},
		{pull.ErrManyWaiting, http.StatusTooManyRequests, rest.CodeLimitReached, ""},
		{pull.ErrAhead, http.StatusBadRequest, "INVALID_SEQUENCE", ""},
		{sockets.ErrAhead, http.StatusBadRequest, sockets.CodeInvalidSubscription, ""},
		{sockets.ErrGone, http.StatusGone, "EVENTS_GONE", ""},
		{rest.ErrStopping, http.StatusServiceUnavailable, rest.CodeShuttingDown, ""},
		{idempotency.ErrInUse, http.StatusConflict, rest.CodeKeyInUse, ""},
		{idempotency.ErrReused, http.StatusConflict, rest.CodeKeyReused, ""},
		{batch.ErrNotFound, http.StatusNotFound, "BATCH_NOT_FOUND", "there is no such batch or item"},
		{batch.ErrInvalidTransition, http.StatusConflict, "INVALID_BATCH_TRANSITION", ""},
		{batch.ErrInvalidCursor, http.StatusBadRequest, rest.CodeNoCursor, ""},
		{dispatch.ErrNoEntry, http.StatusNotFound, "OUTBOX_ENTRY_NOT_FOUND", "there is no such event in the outbox"},
		{dispatch.ErrNotPending, http.StatusConflict, "OUTBOX_ENTRY_NOT_PENDING", ""},
		{delivery.ErrNotFound, http.StatusNotFound, "DELIVERY_NOT_FOUND", "there is no such delivery"},
		{logbook.ErrCursor, http.StatusBadRequest, rest.CodeNoCursor, ""},
		{delivery.ErrBodyGone, http.StatusConflict, "BODY_GONE", "the body of the delivery is no longer kept"},
		{delivery.ErrEndpointGone, http.StatusConflict, "ENDPOINT_GONE", ""},
		{delivery.ErrLogOff, http.StatusConflict, "LOG_OFF", "the delivery log is off: only pending durable deliveries are known"},
		{logbook.ErrReplayRuns, http.StatusConflict, "REPLAY_RUNNING", "a replay is already running; wait for its end or delete it"},
		{messages.ErrNoAnchor, http.StatusConflict, "NO_ANCHOR", ""},
		{messages.ErrNoMessage, http.StatusNotFound, "MESSAGE_NOT_FOUND", ""},
		{later.ErrQueueFull, http.StatusServiceUnavailable, "MESSAGE_PROCESSING_QUEUE_FULL", ""},
		{media.ErrNotFound, http.StatusNotFound, "UPLOAD_NOT_FOUND", "there is no such upload, or it expired"},
		{event.ErrNoMedia, http.StatusUnprocessableEntity, "MESSAGE_WITHOUT_MEDIA", ""},
		{event.ErrMediaGone, http.StatusGone, "MEDIA_GONE", ""},
		{cache.ErrPending, http.StatusServiceUnavailable, "MEDIA_PENDING", ""},
		{event.ErrMediaType, http.StatusUnsupportedMediaType, "MEDIA_TYPE_UNSUPPORTED", ""},
		{event.ErrMedia, http.StatusUnprocessableEntity, "INVALID_MEDIA", ""},
		{sheet.ErrInvalid, http.StatusUnprocessableEntity, batches.CodeInvalidCSV, ""},
		{erasure.ErrNotFound, http.StatusNotFound, "ERASURE_NOT_FOUND", ""},
		{erasure.ErrFull, http.StatusTooManyRequests, rest.CodeLimitReached, ""},
		{erasure.ErrOwn, http.StatusUnprocessableEntity, "OWN_ACCOUNT", ""},
		{later.ErrNotFound, http.StatusNotFound, "SCHEDULED_NOT_FOUND", ""},
		{later.ErrBegun, http.StatusConflict, "SCHEDULED_BEGUN", ""},
		{later.ErrTooMany, http.StatusTooManyRequests, rest.CodeLimitReached, ""},
		{batch.ErrCreating, http.StatusServiceUnavailable, "BATCHES_BEING_CREATED", ""},
		{batch.ErrTooManyOpen, http.StatusTooManyRequests, rest.CodeLimitReached, ""},
		{media.ErrTooMany, http.StatusTooManyRequests, rest.CodeLimitReached, ""},
		{sockets.ErrTooManySockets, http.StatusTooManyRequests, rest.CodeLimitReached, ""},
		{event.ErrNoLabel, http.StatusNotFound, "LABEL_NOT_FOUND", ""},
		{event.ErrArgument, http.StatusUnprocessableEntity, "INVALID_ARGUMENT", ""},
		{event.ErrStateConflict, http.StatusConflict, "APP_STATE_CONFLICT", ""},
		{event.ErrRefused, http.StatusUnprocessableEntity, "REFUSED_BY_WHATSAPP", ""},
		{event.ErrRecipient, http.StatusUnprocessableEntity, "INVALID_RECIPIENT", ""},
		{event.ErrContent, http.StatusUnprocessableEntity, "INVALID_MESSAGE", ""},
		{messages.ErrNoPoll, http.StatusNotFound, "POLL_NOT_FOUND", ""},
		{event.ErrPollNotReadable, http.StatusUnprocessableEntity, "POLL_NOT_READABLE", ""},
		{event.ErrAudienceEmpty, http.StatusUnprocessableEntity, "AUDIENCE_EMPTY", ""},
		{event.ErrAudienceNotPossible, http.StatusUnprocessableEntity, "AUDIENCE_NOT_POSSIBLE", ""},
		{event.ErrNotChannelAdmin, http.StatusUnprocessableEntity, "NOT_NEWSLETTER_ADMIN", ""},
		{event.ErrNotAMember, http.StatusUnprocessableEntity, "NOT_A_MEMBER", ""},
		{event.ErrNotOnWhatsApp, http.StatusUnprocessableEntity, "RECIPIENT_NOT_ON_WHATSAPP", ""},
		{event.ErrSendRefused, http.StatusUnprocessableEntity, event.SendMessageFailed, ""},
		{event.ErrNoAnswer, http.StatusRequestTimeout, "WHATSAPP_TIMEOUT", ""},
		{event.ErrOutcomeUnknown, http.StatusRequestTimeout, event.SendResultUnknown, ""},
	}
}

// answerTo maps an error of the packages below to its answer. known is false for an
// unmapped error.
func answerTo(err error) (r rest.Error, known bool) {
	if invalid, ok := errors.AsType[*batch.InvalidError](err); ok {
		return rest.ErrorOf(http.StatusUnprocessableEntity, invalid.Code, invalid.Messages...), true
	}
	for _, m := range errorTable() {
		if !errors.Is(err, m.err) {
			continue
		}
		text := m.text
		if text == "" {
			text = err.Error()
		}
		r := rest.ErrorOf(m.status, m.code, text)
		if failed, ok := errors.AsType[*proxy.Error](err); ok && m.code == instances.CodeProxyUnreachable {
			r.Step = rest.FailedStep(failed.Step)
		}
		if limit, ok := errors.AsType[*event.NotNowError](err); ok && m.code == pace.Code {
			r.Wait = max(time.Until(limit.Until), 1)
		}
		return r, true
	}
	if _, gone := errors.AsType[*pull.GoneError](err); gone {
		return rest.ErrorOf(http.StatusGone, "EVENTS_GONE", err.Error()), true
	}
	return rest.Error{}, false
}
