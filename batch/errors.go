package batch

import (
	"postern/batch/paging"
	"postern/batch/record"
	"postern/batch/table"
)

// Errors of the Engine's methods.
var (
	// ErrNotFound: no such batch or item, or it belongs to another user.
	ErrNotFound = record.ErrNotFound
	// ErrInvalidTransition is wrapped by every *table.TransitionError.
	ErrInvalidTransition = table.ErrInvalidTransition
	// ErrInvalidCursor: a cursor that no list of this kind returned.
	ErrInvalidCursor = paging.ErrInvalidCursor
)

// InvalidError is the reason for a refused batch: well-formed input that breaks a
// rule. Code is a machine code such as INVALID_RECIPIENT.
type InvalidError struct {
	Code     string
	Messages []string // at most 100, each names its field
}

func (e *InvalidError) Error() string {
	if len(e.Messages) == 0 {
		return e.Code
	}
	return e.Code + ": " + e.Messages[0]
}

// The codes of an InvalidError.
const (
	InvalidName       = "INVALID_NAME"
	InvalidInstances  = "INVALID_INSTANCES"
	InvalidRecipient  = "INVALID_RECIPIENT"
	TooManyRecipients = "TOO_MANY_RECIPIENTS"
	InvalidMessage    = "INVALID_MESSAGE"
	MissingVariable   = "MISSING_VARIABLE"
	InvalidOptions    = "INVALID_OPTIONS"
	InvalidSchedule   = "INVALID_SCHEDULE"
	InvalidAttributes = "INVALID_EXTERNAL_ATTRIBUTES"
	InvalidRetry      = "INVALID_RETRY"
	NothingToRetry    = "NOTHING_TO_RETRY"
)
