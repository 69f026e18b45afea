package httpapi

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"postern/access"
	"postern/event"
	"postern/httpapi/strict"
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
	codeInvalidKey       = "INVALID_IDEMPOTENCY_KEY"
	codeKeyInUse         = "IDEMPOTENCY_KEY_IN_USE"
	codeKeyReused        = "IDEMPOTENCY_KEY_REUSED"
	codeRecipient        = "INVALID_BACKUP_RECIPIENT"
	codeScope            = "SCOPE"
	codeCSRF             = "CSRF"
	codeExpiresIn        = "INVALID_EXPIRES_IN"
	codeRateLimited      = "RATE_LIMITED"
	codeWrongNetwork     = "WRONG_NETWORK"

	codeInvalidKeyRule      = "INVALID_KEY"
	codeRecipientNotAllowed = "RECIPIENT_NOT_ALLOWED"

	codeNoLink   = "PORTAL_NOT_FOUND"
	codeNoCursor = "INVALID_CURSOR"

	codeInternal     = "INTERNAL_ERROR"
	codeShuttingDown = "SHUTTING_DOWN"
)

// refusal is an answer that is not a success.
type refusal struct {
	status   int
	code     string
	messages []string
	step     failedStep    // of a dial through a proxy, if one failed
	wait     time.Duration // for a Retry-After; 0: that of the code
}

// failedStep is the step of a dial through a proxy that failed.
type failedStep string

// Error implements error.
func (r *refusal) Error() string { return r.code + ": " + strings.Join(r.messages, "; ") }

func refusalOf(status int, code string, messages ...string) refusal {
	return refusal{status: status, code: code, messages: messages}
}

// refuse is the error that is answered with this status and code.
func refuse(status int, code string, messages ...string) error {
	r := refusalOf(status, code, messages...)
	return &r
}

// tryLater is a refusal with the status 429 and its own Retry-After.
func tryLater(wait time.Duration, code, text string) error {
	r := refusalOf(http.StatusTooManyRequests, code, text)
	r.wait = wait
	return &r
}

// retryAfter is the wait in seconds, rounded up.
func (r refusal) retryAfter() int { return max(1, int(math.Ceil(r.wait.Seconds()))) }

// secondsToWait is the Retry-After of a refusal; 0: none.
func (s *server) secondsToWait(r refusal) int {
	switch {
	case r.wait != 0:
		return r.retryAfter()
	case s.RetryAfter == nil:
		return 0
	}
	return s.RetryAfter(r.code)
}

// answerTo maps the error of a handler to its answer. known is false for an
// unmapped error.
func (s *server) answerTo(err error) (r refusal, known bool) {
	if own, ok := errors.AsType[*refusal](err); ok {
		return *own, true
	}
	if body, ok := errors.AsType[*strict.Error](err); ok {
		return bodyRefusal(body), true
	}
	if invalid, ok := errors.AsType[*access.InvalidError](err); ok {
		return refusalOf(http.StatusUnprocessableEntity, codeInvalidKeyRule, invalid.Messages...), true
	}
	if s.Errors != nil {
		if r, known = s.Errors(err); known {
			return r, true
		}
	}
	if errors.Is(err, ErrStopping) {
		return stopping(), true
	}
	return refusalOf(http.StatusInternalServerError, codeInternal, "internal error"), false
}

// answerTo maps an error to the answer that it gets.
func (c *call) answerTo(err error) (r refusal, known bool) { return c.server.answerTo(err) }

func stopping() refusal {
	return refusalOf(http.StatusServiceUnavailable, codeShuttingDown, ErrStopping.Error())
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

	Step failedStep `json:"step,omitempty"` // that failed, when a proxy did
}

func (r refusal) body(requestID string) errorBody {
	text := strings.ReplaceAll(strings.ToLower(http.StatusText(r.status)), " ", "-")
	return errorBody{
		StatusCode: r.status, Error: text, Code: r.code, Messages: r.messages, Message: r.messages, RequestID: requestID, Step: r.step,
	}
}

// maxMessages bounds the list of what is wrong with one request.
const maxMessages = 100

// invalidField is the error of a field that breaks a rule.
func invalidField(text string) error { return fmt.Errorf("%w: %s", event.ErrArgument, text) }
