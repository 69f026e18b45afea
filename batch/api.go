package batch

import (
	"encoding/json"

	"github.com/google/uuid"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// CreateRequest describes a new batch. Instances are already resolved; one
// that is named twice counts once.
type CreateRequest struct {
	Name               string
	Instances          []record.InstanceRef
	Recipients         []string            // numbers as the caller wrote them
	List               *mailing.Recipients // the same instead of Recipients, with what belongs to each
	Message            event.BatchMessage
	Original           *event.Original // what Message forwards
	More               []record.Part   // after Message, up to MaxParts in all
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

	retryOf uuid.UUID // the batch whose items it retries; zero: none
}

// MaxParts is how many messages a batch sends to one recipient at most.
const MaxParts = 5

// View is a batch as the API shows it. Times of phases not reached are omitted.
type View struct {
	ID                 uuid.UUID             `json:"id" doc:"The batch's id." example:"$uuid"`
	Name               string                `json:"name" doc:"Its name." example:"Summer offer"`
	Status             event.BatchStatus     `json:"status" doc:"The status of the batch." example:"COMPLETED"`
	Progress           int                   `json:"progress" doc:"How much of it is processed, in percent." example:"100" rules:"minimum=0,maximum=100"`
	Counts             event.BatchCounts     `json:"counts" doc:"The number of items in each state."`
	CreatedAt          event.Time            `json:"createdAt"`
	UpdatedAt          event.Time            `json:"updatedAt"`
	StartedAt          *event.Time           `json:"startedAt,omitempty" doc:"When it first started to send." example:"$time"`
	CompletedAt        *event.Time           `json:"completedAt,omitempty" doc:"When it was completed." example:"$time"`
	PausedAt           *event.Time           `json:"pausedAt,omitempty" doc:"When it was paused." example:"$time"`
	StoppedAt          *event.Time           `json:"stoppedAt,omitempty" doc:"When it was stopped." example:"$time"`
	InterruptedAt      *event.Time           `json:"interruptedAt,omitempty" doc:"When it was interrupted." example:"$time"`
	NextRunAt          *event.Time           `json:"nextRunAt" doc:"The start of its next window; null when it waits for none." example:"$time"`
	Schedule           json.RawMessage       `json:"schedule"`
	AutoResume         bool                  `json:"autoResume" doc:"Whether it resumes by itself after a restart of the program." example:"true"`
	Options            event.BatchOptions    `json:"options" doc:"The send options."`
	Message            record.Messages       `json:"message" doc:"The message to send, or several in their order."`
	OwnerUserID        uuid.UUID             `json:"ownerUserId"`
	RetryOf            *uuid.UUID            `json:"retryOf,omitempty" doc:"The batch whose items it retries." example:"$uuid"`
	Instances          []event.BatchInstance `json:"instances" doc:"The instances that send, with counts of their items."`
	InterruptionReason *string               `json:"interruptionReason" doc:"Why it was interrupted; null when it is not." example:"LEASE_EXPIRED"`
	LastInterruptedAt  *event.Time           `json:"lastInterruptedAt" doc:"When it was last interrupted; null when it never was." example:"$time"`
	LastRecoveredAt    *event.Time           `json:"lastRecoveredAt" doc:"When it last resumed after an interruption; null when it never did." example:"$time"`
	ExternalAttributes event.Attributes      `json:"externalAttributes"`
}

// Item is one recipient of a batch as the API shows it. A delay and errors are left
// out when there are none.
type Item struct {
	ID                   uuid.UUID         `json:"id" doc:"The item's id." example:"$uuid"`
	BatchID              uuid.UUID         `json:"batchId"`
	Position             int               `json:"position" doc:"Its position in the batch, from 0." example:"0" rules:"minimum=0"`
	RecipientInput       string            `json:"recipientInput" doc:"The recipient as given." example:"+49 151 1234-5678"`
	NormalizedRecipient  string            `json:"normalizedRecipient" doc:"The recipient, normalized." example:"$phone"`
	RecipientJID         *string           `json:"recipientJid" doc:"The recipient's JID; null until it is known." example:"$jid"`
	Status               record.ItemStatus `json:"status" doc:"The status of the item." example:"SUCCESS"`
	SelectedInstanceID   *int64            `json:"selectedInstanceId" doc:"The instance that it was assigned to; null until then." example:"1"`
	SelectedInstanceName *string           `json:"selectedInstanceName" doc:"Its name; null until then." example:"$name"`
	ClientMessageID      *string           `json:"clientMessageId" doc:"The id at WhatsApp that was chosen for the message; null until then." example:"$keyid"`
	WhatsAppMessageID    *string           `json:"whatsappMessageId" doc:"The id at WhatsApp that was acknowledged; null until then." example:"$keyid"`
	MessageID            *int64            `json:"messageId" doc:"The id of the stored message; null until then." example:"42"`
	ExternalID           string            `json:"externalId,omitempty" doc:"The caller's id of the recipient." example:"customer-17"`
	Variables            map[string]string `json:"variables,omitempty" doc:"The values of the recipient's variables." example:"{\"name\":\"Ana\"}"`
	RenderedPreview      string            `json:"renderedPreview,omitempty" doc:"The first 200 characters of what it sends, in a batch whose texts are templates." example:"Hello Ana"`
	AttemptCount         int               `json:"attemptCount" doc:"The number of attempts." example:"1" rules:"minimum=0"`
	SelectedDelayMs      *int64            `json:"selectedDelayMs,omitempty" doc:"The pause after it, in milliseconds." example:"2300" rules:"minimum=0"`
	LastErrorCode        *string           `json:"lastErrorCode,omitempty" doc:"Why the last attempt failed, as a code." example:"SEND_MESSAGE_FAILED"`
	LastErrorMessage     *string           `json:"lastErrorMessage,omitempty" doc:"The same for people." example:"recipient is not on WhatsApp"`
	CreatedAt            event.Time        `json:"createdAt"`
	UpdatedAt            event.Time        `json:"updatedAt"`
	ProcessingStartedAt  *event.Time       `json:"processingStartedAt" doc:"When it was first tried; null until then." example:"$time"`
	FinishedAt           *event.Time       `json:"finishedAt" doc:"When it ended; null until then." example:"$time"`
}

// Row is an item with what was sent of it.
type Row struct {
	Item
	Sent Sent
}

// Sent is what WhatsApp acknowledged of an item: no message, one, or several of its parts.
type Sent struct {
	Instance record.InstanceRef // that sent the first message
	JID      string             // of the recipient
	At       event.Time         // when the item ended; of one that was not sent as a whole, when it was first tried
	Messages []SentMessage
}

// SentMessage is an acknowledged message.
type SentMessage struct {
	Instance   int64
	ID         int64 // of the stored message, 0 if it is not stored
	WhatsAppID string
}

// ItemWithAttempts is an item with its history.
type ItemWithAttempts struct {
	Item
	Attempts []Attempt `json:"attempts" doc:"Its attempts, the oldest first."`
}

// Attempt is one try to send an item. Errors are left out when there are none.
type Attempt struct {
	ID              uuid.UUID            `json:"id" doc:"The attempt's id." example:"$uuid"`
	BatchID         uuid.UUID            `json:"batchId"`
	BatchItemID     uuid.UUID            `json:"batchItemId" doc:"The item." example:"$uuid"`
	AttemptNumber   int                  `json:"attemptNumber" doc:"Its number within the item, from 1." example:"1" rules:"minimum=1"`
	InstanceID      int64                `json:"instanceId"`
	InstanceName    string               `json:"instanceName"`
	ClientMessageID string               `json:"clientMessageId" doc:"The id at WhatsApp that was chosen for it." example:"$keyid"`
	Status          record.AttemptStatus `json:"status" doc:"The status of the attempt." example:"SUCCESS"`
	ErrorCode       *string              `json:"errorCode,omitempty" doc:"Why it failed, as a code." example:"SEND_MESSAGE_FAILED"`
	ErrorMessage    *string              `json:"errorMessage,omitempty" doc:"The same for people." example:"recipient is not on WhatsApp"`
	Parts           []AttemptPart        `json:"parts,omitempty" doc:"The messages that were sent or tried, in a batch with several; those of earlier attempts among them."`
	CreatedAt       event.Time           `json:"createdAt"` // the same as StartedAt
	StartedAt       event.Time           `json:"startedAt"`
	FinishedAt      *event.Time          `json:"finishedAt" doc:"When it ended; null until then." example:"$time"`
}

// AttemptPart is one message of an attempt.
type AttemptPart struct {
	Status            record.AttemptStatus `json:"status" doc:"Its status." example:"SUCCESS"`
	WhatsAppMessageID *string              `json:"whatsappMessageId" doc:"The id at WhatsApp that was acknowledged; null until then." example:"$keyid"`
	ErrorCode         *string              `json:"errorCode" doc:"Why it failed, as a code; null when it did not." example:"SEND_MESSAGE_FAILED"`
}
