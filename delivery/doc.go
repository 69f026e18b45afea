// Package delivery keeps webhook deliveries in the data file: a record of each, and the
// durable queue of those that are pending.
//
// # Two flows
//
// An event goes to each of its destinations separately, as one delivery. Each
// delivery makes one [Record] with a line for each attempt.
//
// The in-memory flow: package dispatch queues the delivery in memory and makes one
// attempt. The record is written behind, many in one commit ([Ledger.PutFlow], called by
// package logbook). A delivery never waits for its record, and a crash may lose the
// records of the last second.
//
// The durable flow: [Ledger.Emit] writes the event, once, and a pending record for
// each destination, in the commit that stores the cause of the event. A destination
// is a [Lane]. The due index of a lane holds what may be sent: all deliveries or, in
// a lane with an order, the first of each [Line]. [Ledger.Settle], [Ledger.Expire],
// [Ledger.CancelLane] and all other functions that end a delivery release the next
// one of the line in the same commit. Therefore the order holds through every crash,
// and package dispatch never reads deliveries that have to wait.
//
// Package publish writes the events of an instance and calls [Ledger.Emit].
//
// Package outbox stores the batch events: their bodies, the numbers of each user, and
// what is kept for replay. Pending batch events wait here, in [OutboxLane]: the commit of
// the entry also makes its record and its place in the due index, and the commit that ends
// the record ends the entry. Their order is that of the outbox. Package dispatch ensures
// that one event of each batch is in flight. Retries and replays of batch events wait in
// [BatchLane]. Files of schema version 3 had a queue in the outbox; the first start takes
// it over (adopt.go).
//
// # Records
//
// Each commit that changes a record also changes what is kept beside it (note.go): its row
// of the digest, which all filters, totals and replays read (package digest); the attempt
// before; the numbers by state and, by way of [Hooks], those of its replay. Package logbook
// lists records, removes old ones and replays them.
//
// Pending records of the in-memory flow of a killed process become DROPPED at the next
// start. With the log off, only the records of the deliveries that are pending in the file
// exist.
//
// # What must hold
//
//   - A record is pending and in the indexes of its lane, or neither. Exactly the
//     first of each line, and every delivery without a line, is due.
//   - An entry of the outbox is pending and has a pending record, or neither.
//   - The backlog of a lane is the number of its pending records, and their bytes.
//   - Each pending delivery has an alarm in the expiry index: that of its event or,
//     if it was made or became pending again later, one of its own.
//   - An event exists until it expires, and as long as a record with its body is
//     pending, or is kept with its body (Config.Bodies).
//   - Each record has its row in the digest. A start that finds missing or
//     superfluous rows rebuilds them.
//   - The numbers of an instance's events have no holes, and none is given twice.
//     No record id is given twice.
//
// A start that finds damaged rows rebuilds the indexes from records and events
// (mend.go). A delivery whose record is damaged is removed from the indexes: it is not
// delivered, but those behind it are. A delivery whose event is damaged is removed when
// it is about to be sent.
//
// # Buckets
//
// Numbers and times (Unix milliseconds) are eight bytes, big-endian; lanekey.go
// describes lanes.
//
//	delivery           record                        the Record
//	delivery_attempt   record, number                an attempt before the last
//	delivery_digest    block of records              what filters ask for of each
//	delivery_request   hash of a request id, record  of attempts after the first
//	delivery_body      record                        a body that is nowhere else
//	delivery_event     sequence                      the Event, never changed
//	delivery_position  instance, number              sequence of the event
//	delivery_newest    instance                      the number given last, until when that event is kept
//	delivery_hold      sequence, record              a later record with the event's body
//	delivery_due       lane, time, record            line, or batch and entry; what may be sent then
//	delivery_lane      lane, record                  line; the same by age
//	delivery_line      lane, line, record            due time; all that is in a line
//	delivery_expiry    time, e or r, id              whose time is over then
//	delivery_backlog   lane                          how many are pending, their bytes
//	delivery_forget    instance                      everything of it is to go
//	delivery_log       name                          key of the hashes, numbers by state, the highest number of an erased event
package delivery
