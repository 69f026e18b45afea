// Package delivery is what the file knows about webhook deliveries: the log of
// all of them, and those that wait.
//
// # Two ways out
//
// An event leaves for each of its destinations on its own, as one delivery, and
// each delivery leaves one [Record] with a line for each attempt.
//
// The old way is memory: package dispatch queues the delivery and tries once.
// Its record is written behind, many in one commit ([Ledger.Queued]); a
// delivery never waits for it, and a crash may lose the last second of them.
//
// The durable way is this file: [Ledger.Emit] writes the event, once, and a
// pending record for each destination, in the commit that stores what the event
// tells of. A destination is a [Lane]. What may be sent of a lane is in its due
// index: everything, or, in a lane with an order, the first of each [Line].
// [Ledger.Settle], [Ledger.Expire], [Ledger.CancelLane] and all else that ends
// a delivery let the next one of the line follow in the same commit. Therefore
// the order holds through every crash, and whoever delivers never looks at what
// has to wait.
//
// A [Writer] writes the events of one commit about an instance: the durable ones in that
// commit, the others after it, and it publishes all of them after the commit. What it
// has to know of the instance, it asks an [Origin].
//
// Batch events are in the outbox (package outbox): their bodies, the numbers of each user,
// and what is kept for replay. What of them is pending waits here like all else, in
// [OutboxLane], with a record that is made in the commit of the entry and a place in the due
// index; the commit that ends the record ends the entry. Their order is that of the outbox,
// and of each batch one is in flight, which package dispatch sees to. Retries and replays of
// them wait in [BatchLane]. Files of schema version 3 had a queue in the outbox, which the
// first start takes over (adopt.go).
//
// # The log
//
// Every change of a record goes with what the log knows beside it (note.go): its
// row of the digest, which all filters, totals and replays read; the attempt
// before; the numbers by state and those of its replay. A list goes through the
// digest once, some milliseconds a million records, and shows a record only
// after it held it against the filter: hashes in a row may be shared, and their
// key is the file's own, so that nobody who sends messages can make such.
//
// A record ends with its delivery and stays for Config.Retention from then on,
// the oldest going sooner when there are more than Config.MaxEntries. A replay
// keeps the list of what it repeats and how far it is; the deliveries it makes
// are in the commit that moves it on, its numbers change in the commits that end
// them, so that no kill repeats or loses one.
//
// What the in-memory flow leaves waits in memory (behind.go) for at most a second.
// Whoever delivers holds a lock for some nanoseconds; when the file does not
// follow, records are lost and counted. Pending ones of a process that was killed
// are DROPPED at the next start. With the log off there is nothing of all this but
// the digest of what waits in the file.
//
// # What must hold
//
//   - A record is pending and in the indexes of its lane, or neither. Exactly the
//     first of each line, and whatever has no line, is due.
//   - An entry of the outbox is pending and has a pending record, or neither.
//   - The backlog of a lane is how many records of it are pending, and their bytes.
//   - Each that waits has an alarm in the expiry index: the one of its event, or
//     one of its own when it was made, or made pending again, later.
//   - An event is there as long as it is not over, and as long as a record that
//     has its body is pending, or is kept with its body (Config.Bodies).
//   - Each record has its row in the digest; a start that finds fewer, or other
//     ones, makes them anew.
//   - The numbers of an instance's events have no holes, and none is given twice;
//     neither is the id of a record.
//
// The indexes are made anew from records and events when a start finds damaged
// rows (mend.go). A delivery whose record is damaged is out of them: it is not
// delivered, and what waited behind it is. So is one whose event is damaged, as
// soon as somebody tries to send it.
//
// # Buckets
//
// Numbers and times (Unix milliseconds) are eight bytes, big-endian; lanes are
// as lanekey.go says.
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
//	delivery_replay    replay                        how far a replay is, its numbers
//	                   replay, part (4 bytes)        records that it repeats
//	delivery_forget    instance                      everything of it is to go
//	delivery_log       name                          key of the hashes, numbers by state
package delivery
