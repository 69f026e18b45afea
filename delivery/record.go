package delivery

import (
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// Flow tells where an event came from.
type Flow string

// The flows.
const (
	FlowInstance Flow = "instance"
	FlowBatch    Flow = "batch"
)

// State is the state of a delivery.
type State string

// The states of a delivery. A suppressed event, which no flag requested, makes no record.
const (
	Pending   State = "PENDING"
	Delivered State = "DELIVERED" // a receiver answered 2xx
	Failed    State = "FAILED"    // its one attempt was not accepted
	Dropped   State = "DROPPED"   // never attempted: the queue was full, or the program stopped
	Expired   State = "EXPIRED"   // not accepted before it expired
	Cancelled State = "CANCELLED" // given up for the reason in LastError
)

// States returns all states of a delivery.
func States() []State { return []State{Pending, Delivered, Failed, Dropped, Expired, Cancelled} }

// Reasons of a cancelled delivery.
const (
	ReasonRemoved  = "REMOVED"          // its endpoint was removed
	ReasonCapacity = "CAPACITY"         // the backlog exceeded its limit
	ReasonChanged  = "CHANGED"          // it is a credential, and its destination has changed
	ReasonReplay   = "REPLAY_CANCELLED" // its replay was stopped
)

// Record is one delivery of the log: one event on its way to one destination.
type Record struct {
	ID        uint64 // ascending in the order in which deliveries were made
	EventID   uuid.UUID
	Event     event.Kind
	Lane      Lane   // the destination; its Instance is 0 for the global webhook
	Instance  int64  // the instance whose event it is, 0 for a batch event
	Name      string // of that instance
	Batch     uuid.UUID
	Chat      string // JID by phone of the chat that the event is about, empty if none
	ChatLID   string // the same by LID
	URL       string // scheme, host, port and path
	RequestID string // of the first attempt until one was made, then of the last
	State     State
	Once      bool // one attempt: it waits only for its turn
	Bytes     int  // of the body

	CreatedAt     time.Time
	ExpiresAt     time.Time // in steady time; zero: never
	NextAttemptAt time.Time // zero if there is none to come

	// The last attempt. Earlier ones are read with Attempts.
	Attempts      int
	LastAttemptAt time.Time
	Duration      time.Duration
	LastStatus    int    // 0 when there was no answer
	LastError     string // why it was not accepted, empty when it was
	Answer        string // the beginning of an answer that was not 2xx

	ReplayOf uint64 // the record whose event this one repeats, 0 when none
	Replay   uint64 // the replay that made it, 0 when none
	Replayed bool   // a replay of it was delivered
	Former   State  // of a record that is retried after its end: its state if the retry fails

	Line      Line   // the line in which it waits while it is pending
	EventSeq  uint64 // of the stored event whose body it has, 0 when none
	OutboxSeq uint64 // of the outbox entry whose body it has, 0 when none
	OwnBody   bool   // its body is stored beside it

	// Access is that of the destination for which a credential was made, see
	// event.Kind.IsCredential: it is sent to no other destination. 0 for all other events.
	Access uint64
}

// Attempt is one try of a delivery.
type Attempt struct {
	Number    int // from 1
	StartedAt time.Time
	Duration  time.Duration
	Status    int    // of the answer, 0 when there was none
	Error     string // why it was not accepted, empty when it was
	RequestID string
	Answer    string // at most MaxAnswer bytes of an answer that was not 2xx, as text

	// URL is where the attempt went, as the log shows it. It becomes the record's URL and is kept
	// only there. Empty: unchanged.
	URL string
}

// MaxAnswer is how much of an answer the log keeps.
const MaxAnswer = 2 << 10

// ofVersion3 reports whether the record follows an entry of the outbox in a file of schema
// version 3, in which the outbox itself was the queue: see adopt.go.
func (r *Record) ofVersion3() bool {
	return r.State == Pending && r.OutboxSeq != 0 && r.ReplayOf == 0 && r.Former == "" && r.Lane == BatchLane
}

// InMemory reports whether the record follows a delivery of the in-memory flow.
func (r *Record) InMemory() bool {
	return r.State == Pending && r.OutboxSeq == 0 && r.EventSeq == 0 && r.ReplayOf == 0 && r.Former == ""
}

// Waits reports whether the record is in the indexes of its lane.
func (r Record) Waits() bool { return r.State == Pending && !r.ofVersion3() && !r.InMemory() }

// DueAt returns the time of a pending record in the due index. A record that was never
// attempted is due since it was made.
func (r Record) DueAt() time.Time {
	if r.NextAttemptAt.IsZero() {
		return r.CreatedAt
	}
	return r.NextAttemptAt
}
