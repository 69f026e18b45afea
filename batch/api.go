package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// Fleet is the set of instances as a batch sees it. Its methods are called
// from many goroutines.
type Fleet interface {
	// Instance tells the name and the state of an instance from memory; ok is
	// false when it was deleted.
	Instance(id int64) (name string, state event.State, ok bool)
	// Benched tells from memory until when a restriction of the account keeps
	// the instance out of batches. It may send when that is zero or past.
	Benched(id int64) time.Time
	// Send sends one message and returns once its outcome is known. Its error
	// wraps event.ErrNotConnected, ErrBusy, ErrNotOnWhatsApp, ErrSendRefused or
	// ErrOutcomeUnknown; any other error counts as the last one. It calls
	// out.Leaving when the message's turn has come, before a byte of it leaves:
	// one that never did is not in doubt, and its time has not begun.
	Send(ctx context.Context, instance int64, out event.Outgoing) (Receipt, error)
}

// Receipt is what a successful send left behind.
type Receipt struct {
	WhatsAppID   string // the message id that WhatsApp acknowledged
	RecipientJID string // where it went

	// Record stores the sent message in the commit of the item's result and
	// returns its id. Like every store closure it may run twice. When it
	// fails, the item ends UNKNOWN. It may be nil.
	Record func(tx *store.Tx) (messageID int64, err error)
	// Committed is called after that commit. It may be nil.
	Committed func()
}

// Config is what an Engine needs. Store, Fleet and NewMessageID are required.
type Config struct {
	Store  *store.Store
	Fleet  Fleet
	Logger *slog.Logger // nil: silent

	// NewMessageID makes the WhatsApp id of one send.
	NewMessageID func() string

	Enabled       bool          // false: batches are kept but none is claimed
	MaxDelay      time.Duration // bound of options.delay; 0 means 24 h
	MaxRecipients int           // per batch; 0 means 100 000
	MaxOpen       int           // unfinished batches of one user; 0 sets no limit

	// ShutdownTimeout is how long Stop waits for a send in flight before its
	// item ends UNKNOWN; 0 means 15 s.
	ShutdownTimeout time.Duration
	// SendTimeout bounds the preparation of a send, and again the send itself
	// once its turn has come; 0 means 30 s.
	SendTimeout time.Duration
	// TurnTimeout is how long a send may wait for its turn on the instance, on
	// top of its preparation; 0 means 60 s.
	TurnTimeout time.Duration
	// MediaTimeout is added to SendTimeout and to Lease when the message has
	// something to be fetched or uploaded first, so that a slow server of the
	// file is told from a send without an answer; 0 means no more time.
	MediaTimeout time.Duration
	// Lease is how long a send may go unanswered, from its turn on, before its
	// batch is taken from it; 0 means 60 s. It is raised to twice SendTimeout when it is not
	// longer than SendTimeout, so that only a send that ignores its context
	// can lose it.
	Lease time.Duration
	// Retention is how long a final batch is kept, from the moment in which it
	// became so; 0 keeps it until it is deleted.
	Retention time.Duration
	// Location is the zone of schedules that name none; nil means UTC.
	Location *time.Location
}

func (c Config) withDefaults() (Config, error) {
	if c.Store == nil || c.Fleet == nil || c.NewMessageID == nil {
		return c, errors.New("batch: Config needs Store, Fleet and NewMessageID")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = c.Logger.With("component", "batch")
	c.MaxDelay = orDefault(c.MaxDelay, 24*time.Hour)
	c.MaxRecipients = orDefault(c.MaxRecipients, 100_000)
	c.ShutdownTimeout = orDefault(c.ShutdownTimeout, 15*time.Second)
	c.SendTimeout = orDefault(c.SendTimeout, 30*time.Second)
	c.TurnTimeout = orDefault(c.TurnTimeout, time.Minute)
	c.Lease = orDefault(c.Lease, time.Minute)
	if c.Lease <= c.SendTimeout {
		c.Lease = 2 * c.SendTimeout
	}
	if c.Location == nil {
		c.Location = time.UTC
	}
	return c, nil
}

func orDefault[T ~int | ~int64](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// Errors of the Engine's methods.
var (
	// ErrNotFound: no such batch or item, or it belongs to another user.
	ErrNotFound = errors.New("batch not found")
	// ErrInvalidTransition is wrapped by every *TransitionError.
	ErrInvalidTransition = errors.New("the batch does not allow this now")
	// ErrInvalidCursor: a cursor that no list of this kind returned.
	ErrInvalidCursor = errors.New("invalid cursor")
)

// TransitionError says that the table has no row for a trigger in a status.
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

// InvalidError says why a batch was refused: well-formed input that breaks a
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

// InstanceRef is an instance that a batch may send from.
type InstanceRef struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// CreateRequest is a batch to be created. Instances are resolved already; one
// that is named twice counts once.
type CreateRequest struct {
	Name               string
	Instances          []InstanceRef
	Recipients         []string // as the caller wrote them
	Message            event.BatchMessage
	Options            event.BatchOptions
	Quoted             *event.Original // what each message answers; nil: nothing
	AutoStart          *bool           // nil means true; false makes a DRAFT
	AutoResume         *bool           // nil means true
	Schedule           json.RawMessage // null or empty: none
	ExternalAttributes json.RawMessage // an object; null or empty: none

	// InCommit, when set, is called with the new batch in the commit that makes
	// it visible, so that what it writes exists if and only if the batch does.
	// Like every store closure it may run twice; its error refuses the batch.
	InCommit func(tx *store.Tx, created View) error
}

// View is a batch as REST shows it. Times of what did not happen are left out.
type View struct {
	ID                 uuid.UUID             `json:"id"`
	Name               string                `json:"name"`
	Status             event.BatchStatus     `json:"status"`
	Progress           int                   `json:"progress"`
	Counts             event.BatchCounts     `json:"counts"`
	CreatedAt          event.Time            `json:"createdAt"`
	UpdatedAt          event.Time            `json:"updatedAt"`
	StartedAt          *event.Time           `json:"startedAt,omitempty"`
	CompletedAt        *event.Time           `json:"completedAt,omitempty"`
	PausedAt           *event.Time           `json:"pausedAt,omitempty"`
	StoppedAt          *event.Time           `json:"stoppedAt,omitempty"`
	InterruptedAt      *event.Time           `json:"interruptedAt,omitempty"`
	NextRunAt          *event.Time           `json:"nextRunAt"`
	Schedule           json.RawMessage       `json:"schedule"`
	AutoResume         bool                  `json:"autoResume"`
	Options            event.BatchOptions    `json:"options"`
	Message            event.BatchMessage    `json:"message"`
	OwnerUserID        uuid.UUID             `json:"ownerUserId"`
	Instances          []event.BatchInstance `json:"instances"`
	InterruptionReason *string               `json:"interruptionReason"`
	LastInterruptedAt  *event.Time           `json:"lastInterruptedAt"`
	LastRecoveredAt    *event.Time           `json:"lastRecoveredAt"`
	ExternalAttributes event.Attributes      `json:"externalAttributes"`
}

// ItemStatus is the status of one recipient of a batch.
type ItemStatus string

// The statuses of an item.
const (
	ItemPending ItemStatus = "PENDING"
	ItemSending ItemStatus = "SENDING"
	ItemSuccess ItemStatus = "SUCCESS"
	ItemFailed  ItemStatus = "FAILED"
	ItemSkipped ItemStatus = "SKIPPED"
	ItemUnknown ItemStatus = "UNKNOWN"
)

// AttemptStatus is the status of one attempt at an item.
type AttemptStatus string

// The statuses of an attempt.
const (
	AttemptSending     AttemptStatus = "SENDING"
	AttemptSuccess     AttemptStatus = "SUCCESS"
	AttemptFailed      AttemptStatus = "FAILED"
	AttemptUnavailable AttemptStatus = "INSTANCE_UNAVAILABLE"
	AttemptUnknown     AttemptStatus = "UNKNOWN"
)

// Item is one recipient of a batch as REST shows it. A delay and errors are left
// out when there are none.
type Item struct {
	ID                   uuid.UUID   `json:"id"`
	BatchID              uuid.UUID   `json:"batchId"`
	Position             int         `json:"position"` // from 0
	RecipientInput       string      `json:"recipientInput"`
	NormalizedRecipient  string      `json:"normalizedRecipient"`
	RecipientJID         *string     `json:"recipientJid"`
	Status               ItemStatus  `json:"status"`
	SelectedInstanceID   *int64      `json:"selectedInstanceId"`
	SelectedInstanceName *string     `json:"selectedInstanceName"`
	ClientMessageID      *string     `json:"clientMessageId"`
	WhatsAppMessageID    *string     `json:"whatsappMessageId"`
	MessageID            *int64      `json:"messageId"`
	AttemptCount         int         `json:"attemptCount"`
	SelectedDelayMs      *int64      `json:"selectedDelayMs,omitempty"`
	LastErrorCode        *string     `json:"lastErrorCode,omitempty"`
	LastErrorMessage     *string     `json:"lastErrorMessage,omitempty"`
	CreatedAt            event.Time  `json:"createdAt"`
	UpdatedAt            event.Time  `json:"updatedAt"`
	ProcessingStartedAt  *event.Time `json:"processingStartedAt"`
	FinishedAt           *event.Time `json:"finishedAt"`
}

// ItemWithAttempts is an item with its history.
type ItemWithAttempts struct {
	Item
	Attempts []Attempt `json:"attempts"`
}

// Attempt is one try to send an item. Errors are left out when there are none.
type Attempt struct {
	ID              uuid.UUID     `json:"id"`
	BatchID         uuid.UUID     `json:"batchId"`
	BatchItemID     uuid.UUID     `json:"batchItemId"`
	AttemptNumber   int           `json:"attemptNumber"` // from 1
	InstanceID      int64         `json:"instanceId"`
	InstanceName    string        `json:"instanceName"`
	ClientMessageID string        `json:"clientMessageId"`
	Status          AttemptStatus `json:"status"`
	ErrorCode       *string       `json:"errorCode,omitempty"`
	ErrorMessage    *string       `json:"errorMessage,omitempty"`
	CreatedAt       event.Time    `json:"createdAt"` // the same as StartedAt
	StartedAt       event.Time    `json:"startedAt"`
	FinishedAt      *event.Time   `json:"finishedAt"`
}

// Page selects a part of a list: at most Limit records (0 means 50) after
// Next, or before Previous. Setting both is the caller's mistake and gives
// ErrInvalidCursor.
type Page struct {
	Limit          int
	Next, Previous string
}

// List is one page. A cursor is null at its end of the list.
type List[T any] struct {
	NextCursor     *string `json:"nextCursor"`
	PreviousCursor *string `json:"previousCursor"`
	TotalRecords   int     `json:"totalRecords"`
	Records        []T     `json:"records"`
}

// Filter selects batches. Zero fields select all.
type Filter struct {
	Status       []event.BatchStatus
	InstanceName string
	CreatedFrom  time.Time // inclusive
	CreatedTo    time.Time // inclusive
	Name         string    // exact
	Query        string    // part of the name, whatever its case
}

// ItemFilter selects items, or attempts by their item's recipient. Zero fields
// select all.
type ItemFilter struct {
	Status       []string // ItemStatus or AttemptStatus
	Recipient    string   // part of the recipient, as given or normalised
	InstanceName string

	digits string // Recipient normalised
}
