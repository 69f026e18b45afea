package event

import "encoding/json"

// BatchStatus is the status of a message batch.
type BatchStatus string

// The statuses of a batch. Draft is seen over REST only, never in an event.
const (
	BatchDraft              BatchStatus = "DRAFT"
	BatchQueued             BatchStatus = "QUEUED"
	BatchIsScheduled        BatchStatus = "SCHEDULED"
	BatchProcessing         BatchStatus = "PROCESSING"
	BatchWaitingForWindow   BatchStatus = "WAITING_FOR_WINDOW"
	BatchPauseAsked         BatchStatus = "PAUSE_REQUESTED"
	BatchIsPaused           BatchStatus = "PAUSED"
	BatchWaitingForInstance BatchStatus = "WAITING_FOR_INSTANCE"
	BatchStopAsked          BatchStatus = "STOP_REQUESTED"
	BatchIsStopped          BatchStatus = "STOPPED"
	BatchIsInterrupted      BatchStatus = "INTERRUPTED"
	BatchIsCompleted        BatchStatus = "COMPLETED"
	BatchIsWithErrors       BatchStatus = "COMPLETED_WITH_ERRORS"
)

// BatchData is the data of every batch event that is not about one item.
type BatchData struct {
	// *BatchView, or a reduced shape
	Batch any `json:"batch" doc:"The batch after the event."`
}

// BatchCounts is the "counts" of a batch. Received and DuplicatesIgnored are
// in REST answers only.
type BatchCounts struct {
	Failed            int  `json:"failed" doc:"How many were definitely not sent." example:"0" rules:"minimum=0"`
	Pending           int  `json:"pending" doc:"How many wait." example:"0" rules:"minimum=0"`
	Processed         int  `json:"processed" doc:"success, failed, skipped and unknown together." example:"2" rules:"minimum=0"`
	Sending           int  `json:"sending" doc:"How many are being sent." example:"0" rules:"minimum=0"`
	Skipped           int  `json:"skipped" doc:"How many were skipped." example:"0" rules:"minimum=0"`
	Success           int  `json:"success" doc:"How many were sent." example:"2" rules:"minimum=0"`
	Total             int  `json:"total" doc:"How many items there are." example:"2" rules:"minimum=0"`
	Unknown           int  `json:"unknown" doc:"How many have an unknown outcome." example:"0" rules:"minimum=0"`
	Received          *int `json:"received,omitempty" doc:"How many recipients the request had." example:"3" rules:"minimum=0"`
	DuplicatesIgnored *int `json:"duplicatesIgnored,omitempty" doc:"How many of them were duplicates." example:"1" rules:"minimum=0"`
}

// BatchDelay bounds the random pause after each item, in milliseconds.
type BatchDelay struct {
	MinMs int64 `json:"minMs" doc:"The shortest pause, in milliseconds." example:"1000" rules:"minimum=0"`
	MaxMs int64 `json:"maxMs" doc:"The longest pause, in milliseconds; not less than minMs, at most message.batch.max_delay_ms." example:"5000" rules:"minimum=0"`
}

// WhenRestricted is what a batch does while an account may not write to
// strangers.
type WhenRestricted string

// A batch sends only to people whom the account knows, or waits.
const (
	RestrictedKnown WhenRestricted = "known"
	RestrictedWait  WhenRestricted = "wait"
)

func (WhenRestricted) values() []string { return list(RestrictedKnown, RestrictedWait) }

// BatchOptions is the "options" of a batch.
type BatchOptions struct {
	Delay            BatchDelay `json:"delay" doc:"The pause after each item."`
	Presence         string     `json:"presence,omitempty"`
	SkipUnregistered bool       `json:"skipUnregistered,omitempty" doc:"Whether numbers without an account count as skipped instead of failed." example:"false"`
	// WhenRestricted is what to do while the account of an instance may not write to
	// strangers; empty means RestrictedKnown.
	WhenRestricted WhenRestricted `json:"whenRestricted,omitempty"`
	Spin           bool           `json:"spin,omitempty" doc:"Whether one of several alternatives is chosen for each recipient, as in {Hello|Hi}." example:"false"`

	// OptOutWords are the texts by which a recipient opts out of the batches of this user.
	OptOutWords []string `json:"optOutWords,omitempty" doc:"A recipient who answers with one of these words gets no more batches of this user." example:"stop,sair" rules:"maxItems=20"`

	QuotedMessageID    int64      `json:"quotedMessageId,omitempty" doc:"The stored message that each message of the batch quotes: its id here." example:"42"`
	ExternalAttributes Attributes `json:"externalAttributes,omitempty"` // of each message
}

// BatchMessage is what a batch sends.
type BatchMessage struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload" schema:"object"`
}

// BatchInstance is one instance of a batch and its share of the items.
type BatchInstance struct {
	ID               int64  `json:"id" doc:"The instance's id." example:"1"`
	Name             string `json:"name" doc:"The instance's name." example:"$name"`
	ConnectionStatus State  `json:"connectionStatus"`
	SelectedCount    int    `json:"selectedCount" doc:"How many items were assigned to it." example:"2" rules:"minimum=0"`
	FailedCount      int    `json:"failedCount" doc:"How many of them failed." example:"0" rules:"minimum=0"`
	SuccessCount     int    `json:"successCount" doc:"How many of them were sent." example:"2" rules:"minimum=0"`
}

// BatchItemRef is the current item in a progress event.
type BatchItemRef struct {
	ID           string `json:"id" schema:"uuid" doc:"The item's id." example:"$uuid"`
	InstanceName string `json:"instanceName"`
	Position     int    `json:"position" doc:"Its position in the batch, from 0." example:"0" rules:"minimum=0"`
	Recipient    string `json:"recipient" doc:"Its recipient." example:"$phone"`
}

// BatchView is "data.batch" in its full shape. The five phase times are
// present only in the events that announce their phase (StartedAt also in
// progress and resumed); nullable fields are always there.
type BatchView struct {
	ID                 string          `json:"id" schema:"uuid"`
	Name               string          `json:"name"`
	Status             BatchStatus     `json:"status"`
	Progress           int             `json:"progress" schema:"percent"` // percent, 0 to 100
	Counts             BatchCounts     `json:"counts"`
	CreatedAt          Time            `json:"createdAt"`
	UpdatedAt          Time            `json:"updatedAt"`
	StartedAt          Time            `json:"startedAt,omitzero"`
	CompletedAt        Time            `json:"completedAt,omitzero"`
	PausedAt           Time            `json:"pausedAt,omitzero"`
	StoppedAt          Time            `json:"stoppedAt,omitzero"`
	InterruptedAt      Time            `json:"interruptedAt,omitzero"`
	NextRunAt          *Time           `json:"nextRunAt"`
	Schedule           json.RawMessage `json:"schedule" schema:"object,null"` // as it was given
	AutoResume         bool            `json:"autoResume"`
	Options            BatchOptions    `json:"options"`
	Message            BatchMessage    `json:"message"`
	OwnerUserID        string          `json:"ownerUserId" schema:"uuid"`
	Instances          []BatchInstance `json:"instances"`
	InterruptionReason *string         `json:"interruptionReason"`
	LastInterruptedAt  *Time           `json:"lastInterruptedAt"`
	LastRecoveredAt    *Time           `json:"lastRecoveredAt"`
	// progress only
	CurrentItem *BatchItemRef `json:"currentItem,omitempty" doc:"The item that the event is about."`
}

// BatchInstanceReduced is an instance in the reduced progress shape.
type BatchInstanceReduced struct {
	ID               int64  `json:"id"`
	Name             string `json:"name"`
	ConnectionStatus State  `json:"connectionStatus"`
	SelectedCount    int    `json:"selectedCount"`
}

// BatchProgressReduced is "data.batch" of message.batch.progress when the
// message of the batch is too large to repeat.
type BatchProgressReduced struct {
	Counts      BatchCounts            `json:"counts"`
	CreatedAt   Time                   `json:"createdAt"`
	CurrentItem *BatchItemRef          `json:"currentItem" doc:"The item that the event is about."`
	ID          string                 `json:"id" schema:"uuid"`
	Instances   []BatchInstanceReduced `json:"instances"`
	Name        string                 `json:"name"`
	Progress    int                    `json:"progress" schema:"percent"`
	StartedAt   Time                   `json:"startedAt"`
	Status      BatchStatus            `json:"status"`
	UpdatedAt   Time                   `json:"updatedAt"`
}

// BatchCompletedReduced is "data.batch" of message.batch.completed-with-errors
// when the message of the batch is too large to repeat.
type BatchCompletedReduced struct {
	CompletedAt Time        `json:"completedAt"`
	Counts      BatchCounts `json:"counts"`
	ID          string      `json:"id" schema:"uuid"`
	Name        string      `json:"name"`
	Progress    int         `json:"progress" schema:"percent"`
	Status      BatchStatus `json:"status"`
	UpdatedAt   Time        `json:"updatedAt"`
}

// BatchItemData is the data of message.batch.item.failed and
// message.batch.item.unknown.
type BatchItemData struct {
	BatchID   string          `json:"batchId" schema:"uuid"`
	ItemID    string          `json:"itemId" schema:"uuid" doc:"The item." example:"$uuid"`
	Recipient string          `json:"recipient" doc:"Its recipient." example:"$phone"`
	Instance  BatchItemSender `json:"instance" doc:"The instance that it was assigned to."`
	Error     BatchItemError  `json:"error" doc:"Why it failed."`
}

// BatchItemSender names the instance that an item was given to.
type BatchItemSender struct {
	ID   int64  `json:"id" doc:"The instance's id." example:"1"`
	Name string `json:"name" doc:"The instance's name." example:"$name"`
}

// BatchItemError is why an item failed or has an unknown result.
type BatchItemError struct {
	// SEND_MESSAGE_FAILED or SEND_RESULT_UNKNOWN
	Code    string `json:"code" doc:"What happened, for programs." example:"SEND_MESSAGE_FAILED"`
	Message string `json:"message" doc:"The same for people." example:"recipient is not on WhatsApp"`
}

// The error codes of batch items.
const (
	SendMessageFailed = "SEND_MESSAGE_FAILED"
	SendResultUnknown = "SEND_RESULT_UNKNOWN"
)
