package delivery

import (
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// Event is a stored instance event. It is written once and changed only by an [Eraser].
type Event struct {
	Seq       uint64 // in commit order, over all instances
	ID        uuid.UUID
	Kind      event.Kind
	Instance  int64
	Name      string // of the instance
	OwnerJID  string // empty when it was not connected
	RequestID string // of the call that caused it, empty when none did
	About     event.About
	Sequence  uint64 // among the numbered events of the instance, from 1 without holes; 0: not numbered
	CreatedAt time.Time
	ExpiresAt time.Time // in steady time: until then the event is kept and can be read by its number
	Body      []byte    // the final envelope; empty once it was erased
	To        []Addressee
}

// Addressee is a destination that an event was written for, as it was configured in that
// commit.
type Addressee struct {
	Lane Lane
	Due  Due
	Head bool // it may be sent at once; otherwise it waits for others of its line
}

// First returns the id of the event's first record, 0 if it has none. The records of one event
// have consecutive ids.
func (e Event) First() uint64 {
	if len(e.To) == 0 {
		return 0
	}
	return e.To[0].Due.Record
}

// Erased reports whether the body was removed because it named a person: readers pass over the event.
func (e Event) Erased() bool { return len(e.Body) == 0 }
