package batch

import (
	"errors"
	"fmt"

	"postern/event"
)

// Errors of the Engine's methods.
var (
	// ErrNotFound: no such batch or item, or it belongs to another user.
	ErrNotFound = errors.New("batch not found")
	// ErrInvalidTransition is wrapped by every *TransitionError.
	ErrInvalidTransition = errors.New("the batch does not allow this now")
	// ErrInvalidCursor: a cursor that no list of this kind returned.
	ErrInvalidCursor = errors.New("invalid cursor")
)

// TransitionError means that the table has no row for a trigger in a status.
type TransitionError struct {
	Status  event.BatchStatus
	Trigger Trigger
}

func (e *TransitionError) Error() string {
	if e.Trigger == OnDelete {
		return fmt.Sprintf("a batch that is %s cannot be deleted; stop it first, and wait until it is STOPPED", e.Status)
	}
	return fmt.Sprintf("a batch that is %s cannot take %q", e.Status, e.Trigger)
}

// Unwrap returns ErrInvalidTransition.
func (e *TransitionError) Unwrap() error { return ErrInvalidTransition }

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
	InvalidOptions    = "INVALID_OPTIONS"
	InvalidSchedule   = "INVALID_SCHEDULE"
	InvalidAttributes = "INVALID_EXTERNAL_ATTRIBUTES"
)
