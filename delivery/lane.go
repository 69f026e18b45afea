package delivery

import (
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// Lane names a destination. Each lane has a breaker, an order and a backlog of its own. It is
// comparable.
type Lane struct {
	Flow     Flow
	Instance int64 // 0: the global webhook
	Target   event.Target
	Endpoint string // with event.TargetEndpoint only
	Outbox   bool   // OutboxLane
}

// OutboxLane is the lane in which the events of the outbox wait for their delivery to the
// global webhook. Each due delivery names its batch: only one of each batch is to be in
// flight. The outbox knows their order and which are pending, so this lane has a due index and
// no other.
var OutboxLane = Lane{Flow: FlowBatch, Target: event.TargetGlobal, Outbox: true}

// BatchLane is the lane in which retries and replays of batch events wait. Records of ended
// batch events belong to it too.
var BatchLane = Lane{Flow: FlowBatch, Target: event.TargetGlobal}

// GlobalLane is the lane of instance events for the global webhook.
var GlobalLane = Lane{Flow: FlowInstance, Target: event.TargetGlobal}

// Line names what has to go in sequence in a lane with an order: a chat, or an instance. A
// delivery with the zero Line does not wait for others, and no other waits for it.
type Line uint64

// Status says whether a destination takes deliveries now.
type Status int

// The statuses.
const (
	Gone   Status = iota // it was removed: its pending deliveries are cancelled
	Paused               // it is disabled: its pending deliveries stay until they expire
	Ready
	Absent // it has no URL: its pending deliveries stay until they expire, and none can be sent by hand
)

// Due is a pending delivery that may be sent once its time has come.
type Due struct {
	At     time.Time
	Record uint64
	Line   Line
	Once   bool // it has one attempt, and waits for no breaker

	// In OutboxLane.
	Batch     uuid.UUID
	OutboxSeq uint64
}

// Backlog is the pending deliveries of a lane.
type Backlog struct {
	Lane    Lane
	Pending int
	Bytes   int64 // of bodies
}

// Ended is a delivery that ended, and the one that may be sent next.
type Ended struct {
	Record  Record
	Follows *Due // the next one of its line, nil if there is none
}
