package rest

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"postern/access"
	"postern/event"
	"postern/httpapi/strict"
)

// The codes of refusals that this package or its reader of bodies makes.
const (
	CodeNotFound         = "NOT_FOUND"
	CodeMethodNotAllowed = "METHOD_NOT_ALLOWED"
	CodeUnauthorized     = "UNAUTHORIZED"
	CodeKeyMismatch      = "API_KEY_MISMATCH"
	CodeTooManyFailures  = "TOO_MANY_FAILURES"
	CodeLimitReached     = "LIMIT_REACHED"
	CodeForbidden        = "FORBIDDEN"
	CodeMalformedJSON    = strict.CodeMalformed
	CodeTooDeep          = strict.CodeTooDeep
	CodeMalformedForm    = "MALFORMED_FORM"
	CodeUnknownField     = strict.CodeUnknownField
	CodeDuplicateField   = strict.CodeDuplicateField
	CodeMissingField     = strict.CodeMissingField
	CodeInvalidType      = strict.CodeInvalidType
	CodeInvalidQuery     = "INVALID_QUERY"
	CodeBodyTooLarge     = "BODY_TOO_LARGE"
	CodeBodyTimeout      = "BODY_TIMEOUT"
	CodeContentType      = "UNSUPPORTED_CONTENT_TYPE"
	CodeUpgradeRequired  = "UPGRADE_REQUIRED"
	CodeInvalidKey       = "INVALID_IDEMPOTENCY_KEY"
	CodeKeyInUse         = "IDEMPOTENCY_KEY_IN_USE"
	CodeKeyReused        = "IDEMPOTENCY_KEY_REUSED"
	CodeRecipient        = "INVALID_BACKUP_RECIPIENT"
	CodeScope            = "SCOPE"
	CodeCSRF             = "CSRF"
	CodeExpiresIn        = "INVALID_EXPIRES_IN"
	CodeRateLimited      = "RATE_LIMITED"
	CodeWrongNetwork     = "WRONG_NETWORK"

	CodeInvalidKeyRule      = "INVALID_KEY"
	CodeRecipientNotAllowed = "RECIPIENT_NOT_ALLOWED"

	codeNoLink   = "PORTAL_NOT_FOUND"
	CodeNoCursor = "INVALID_CURSOR"

	CodeInternal     = "INTERNAL_ERROR"
	CodeShuttingDown = "SHUTTING_DOWN"
)

// Error is an answer other than a success.
type Error struct {
	Status   int
	Code     string
	Messages []string
	Step     FailedStep    // of a dial through a proxy, if one failed
	Wait     time.Duration // for a Retry-After; 0: that of the code
}

// FailedStep is the step at which a dial through a proxy failed.
type FailedStep string

// Error implements error.
func (r *Error) Error() string { return r.Code + ": " + strings.Join(r.Messages, "; ") }

// ErrorOf returns an error answer. status is that of HTTP; messages name the field and its rule.
func ErrorOf(status int, code string, messages ...string) Error {
	return Error{Status: status, Code: code, Messages: messages}
}

// Refuse returns an error that is answered with this status and code.
func Refuse(status int, code string, messages ...string) error {
	r := ErrorOf(status, code, messages...)
	return &r
}

// TryLater returns a refusal with the status 429 and its own Retry-After.
func TryLater(wait time.Duration, code, text string) error {
	r := ErrorOf(http.StatusTooManyRequests, code, text)
	r.Wait = wait
	return &r
}

// retryAfter returns the wait in seconds, rounded up.
func (r Error) retryAfter() int { return max(1, int(math.Ceil(r.Wait.Seconds()))) }

// SecondsToWait returns the Retry-After of a refusal; 0: none.
func (s *Server) SecondsToWait(r Error) int {
	switch {
	case r.Wait != 0:
		return r.retryAfter()
	case s.RetryAfter == nil:
		return 0
	}
	return s.RetryAfter(r.Code)
}

// AnswerTo maps the error of a handler to its answer. known is false for an
// unmapped error.
func (s *Server) AnswerTo(err error) (r Error, known bool) {
	if own, ok := errors.AsType[*Error](err); ok {
		return *own, true
	}
	if body, ok := errors.AsType[*strict.Error](err); ok {
		return bodyRefusal(body), true
	}
	if invalid, ok := errors.AsType[*access.InvalidError](err); ok {
		return ErrorOf(http.StatusUnprocessableEntity, CodeInvalidKeyRule, invalid.Messages...), true
	}
	if s.Errors != nil {
		if r, known = s.Errors(err); known {
			return r, true
		}
	}
	if errors.Is(err, ErrStopping) {
		return stopping(), true
	}
	return ErrorOf(http.StatusInternalServerError, CodeInternal, "internal error"), false
}

// AnswerTo maps an error to its answer.
func (c *Call) AnswerTo(err error) (r Error, known bool) { return c.Server.AnswerTo(err) }

func stopping() Error {
	return ErrorOf(http.StatusServiceUnavailable, CodeShuttingDown, ErrStopping.Error())
}

// bodyRefusal maps an error of reading the body: 413, 408 or 400.
func bodyRefusal(e *strict.Error) Error {
	if most, ok := errors.AsType[*http.MaxBytesError](e); ok {
		return ErrorOf(http.StatusRequestEntityTooLarge, CodeBodyTooLarge, fmt.Sprintf("the body is larger than %d bytes, the limit of this route", most.Limit))
	}
	if isTimeout(e) {
		return ErrorOf(http.StatusRequestTimeout, CodeBodyTimeout, "the body did not arrive in time")
	}
	return ErrorOf(http.StatusBadRequest, e.Code, e.Error())
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// ErrorBody is the body of every refusal. It has the messages twice, because there are clients for
// both spellings.
type ErrorBody struct {
	StatusCode int      `json:"statusCode" doc:"The status of the answer." example:"422" rules:"minimum=400,maximum=599"`
	Error      string   `json:"error" doc:"The text of the status, with hyphens." example:"unprocessable-entity"`
	Code       string   `json:"code"`
	Messages   []string `json:"messages"`
	Message    []string `json:"message"`
	RequestID  string   `json:"requestId" doc:"The id of the request, as in the header x-request-id and in the log." example:"$uuid"`

	Step FailedStep `json:"step,omitempty" doc:"The step that failed; only with the code PROXY_UNREACHABLE." example:"auth"`
}

func (r Error) body(requestID string) ErrorBody {
	text := strings.ReplaceAll(strings.ToLower(http.StatusText(r.Status)), " ", "-")
	return ErrorBody{
		StatusCode: r.Status, Error: text, Code: r.Code, Messages: r.Messages, Message: r.Messages, RequestID: requestID, Step: r.Step,
	}
}

// WriteRefusal answers a request that reaches no server with r. retry is the Retry-After in
// seconds, 0 for none.
func WriteRefusal(w http.ResponseWriter, req *http.Request, r Error, retry int) {
	answer := &Response{ResponseWriter: w, requestID: RequestID(req.Header)}
	w.Header().Set(RequestIDHeader, answer.requestID)
	if retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(retry))
	}
	_ = answer.JSON(r.Status, r.body(answer.requestID)) // the client is gone
}

// MaxMessages bounds the number of faults listed for one request.
const MaxMessages = 100

// InvalidField returns the error of a field that breaks a rule.
func InvalidField(text string) error { return fmt.Errorf("%w: %s", event.ErrArgument, text) }

// Joined lists words for an error: a, b, c.
func Joined[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}

// RetryRestart is the usual length of a restart, in seconds.
const RetryRestart = 10
