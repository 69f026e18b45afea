package batch

import (
	"encoding/json"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// InstanceRef is an instance that a batch may send from.
type InstanceRef struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// CreateRequest describes a new batch. Instances are already resolved; one
// that is named twice counts once.
type CreateRequest struct {
	Name               string
	Instances          []InstanceRef
	Recipients         []string // as the caller wrote them
	Packed             Packed   // the same instead of Recipients
	Message            event.BatchMessage
	Options            event.BatchOptions
	Quoted             *event.Original // what each message answers; nil: nothing
	AutoStart          *bool           // nil means true; false makes a DRAFT
	AutoResume         *bool           // nil means true
	Schedule           json.RawMessage // null or empty: none
	ExternalAttributes json.RawMessage // an object; null or empty: none

	// Key is the scoped key of the request; zero: another credential.
	Key uuid.UUID

	// InCommit, when set, is called with the new batch in the commit that makes
	// it visible, so that what it writes exists if and only if the batch does.
	// Like every store closure it may run twice; its error refuses the batch.
	InCommit func(tx *store.Tx, created View) error
}

// View is a batch as the API shows it. Times of phases not reached are omitted.
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

// Item is one recipient of a batch as the API shows it. A delay and errors are left
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
