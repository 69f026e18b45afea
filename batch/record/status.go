package record

import (
	"encoding/json"

	"postern/event"
)

// InstanceRef is an instance that a batch may send from.
type InstanceRef struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Part is one of the messages that each recipient gets.
type Part struct {
	event.BatchMessage

	Original *event.Original `json:"original,omitempty"` // what is forwarded
}

// Messages are the parts of a batch as the API shows them: one is an object, several are an array.
type Messages []event.BatchMessage

// MarshalJSON implements json.Marshaler.
func (m Messages) MarshalJSON() ([]byte, error) {
	if len(m) == 1 {
		return event.Marshal(m[0])
	}
	return event.Marshal([]event.BatchMessage(m))
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Messages) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		return json.Unmarshal(raw, (*[]event.BatchMessage)(m))
	}
	*m = make(Messages, 1)
	return json.Unmarshal(raw, &(*m)[0])
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
