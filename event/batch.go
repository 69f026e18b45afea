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
	Batch any `json:"batch"` // *BatchView, or a reduced shape
}

// BatchCounts is the "counts" of a batch. Received and DuplicatesIgnored are
// in REST answers only.
type BatchCounts struct {
	Failed            int  `json:"failed"`
	Pending           int  `json:"pending"`
	Processed         int  `json:"processed"` // success + failed + skipped + unknown
	Sending           int  `json:"sending"`
	Skipped           int  `json:"skipped"`
	Success           int  `json:"success"`
	Total             int  `json:"total"`
	Unknown           int  `json:"unknown"`
	Received          *int `json:"received,omitempty"`
	DuplicatesIgnored *int `json:"duplicatesIgnored,omitempty"`
}

// BatchDelay bounds the random pause after each item, in milliseconds.
type BatchDelay struct {
	MinMs int64 `json:"minMs"`
	MaxMs int64 `json:"maxMs"`
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
	Delay            BatchDelay `json:"delay"`
	Presence         string     `json:"presence,omitempty"`
	SkipUnregistered bool       `json:"skipUnregistered,omitempty"`
	// WhenRestricted is what to do while the account of an instance may not write to
	// strangers; empty means RestrictedKnown.
	WhenRestricted WhenRestricted `json:"whenRestricted,omitempty"`

	QuotedMessageID    int64      `json:"quotedMessageId,omitempty"`    // the stored message that each message answers
	ExternalAttributes Attributes `json:"externalAttributes,omitempty"` // of each message
}

// BatchMessage is what a batch sends.
type BatchMessage struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload" schema:"object"`
}

// BatchInstance is one instance of a batch and its share of the items.
type BatchInstance struct {
	ID               int64  `json:"id"`
	Name             string `json:"name"`
	ConnectionStatus State  `json:"connectionStatus"`
	SelectedCount    int    `json:"selectedCount"`
	FailedCount      int    `json:"failedCount"`
	SuccessCount     int    `json:"successCount"`
}

// BatchItemRef is the current item in a progress event.
type BatchItemRef struct {
	ID           string `json:"id" schema:"uuid"`
	InstanceName string `json:"instanceName"`
	Position     int    `json:"position"`
	Recipient    string `json:"recipient"`
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
	CurrentItem        *BatchItemRef   `json:"currentItem,omitempty"` // progress only
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
	CurrentItem *BatchItemRef          `json:"currentItem"`
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
	ItemID    string          `json:"itemId" schema:"uuid"`
	Recipient string          `json:"recipient"`
	Instance  BatchItemSender `json:"instance"`
	Error     BatchItemError  `json:"error"`
}

// BatchItemSender names the instance that an item was given to.
type BatchItemSender struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// BatchItemError is why an item failed or has an unknown result.
type BatchItemError struct {
	Code    string `json:"code"` // SEND_MESSAGE_FAILED or SEND_RESULT_UNKNOWN
	Message string `json:"message"`
}

// The error codes of batch items.
const (
	SendMessageFailed = "SEND_MESSAGE_FAILED"
	SendResultUnknown = "SEND_RESULT_UNKNOWN"
)
