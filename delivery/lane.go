package delivery

import (
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// Lane names a destination. Each has a breaker, an order and a backlog of its
// own. It is comparable.
type Lane struct {
	Flow     Flow
	Instance int64 // 0: the global webhook
	Target   event.Target
	Endpoint string // with event.TargetEndpoint only
	Outbox   bool   // OutboxLane
}

// OutboxLane is where the events of the outbox wait for their delivery to the global
// webhook. What is due in it has a batch: of each only one is to be in flight. Their order
// is that of the outbox, which knows what is pending, so that this lane has a due index
// and no other one.
var OutboxLane = Lane{Flow: FlowBatch, Target: event.TargetGlobal, Outbox: true}

// BatchLane is where retries and replays of batch events wait, and where records of batch
// events belong that have ended.
var BatchLane = Lane{Flow: FlowBatch, Target: event.TargetGlobal}

// GlobalLane is where instance events go beside their own instance's webhook.
var GlobalLane = Lane{Flow: FlowInstance, Target: event.TargetGlobal}

// Line is what has to go one after the other in a lane with an order: a chat,
// or an instance. Zero is none: nobody waits for it and it waits for nobody.
type Line uint64

// Status is whether a destination takes deliveries now.
type Status int

// The statuses.
const (
	Gone   Status = iota // it was removed: what waits for it is cancelled
	Paused               // it is disabled: what waits stays until it expires
	Ready
	Absent // it has no URL: what waits stays until it expires, and nothing is sent by hand
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

// Backlog is what waits for a lane.
type Backlog struct {
	Lane    Lane
	Pending int
	Bytes   int64 // of bodies
}

// Ended is a delivery that came to its end, and what may leave instead.
type Ended struct {
	Record  Record
	Follows *Due // the next one of its line, nil when there is none
}
