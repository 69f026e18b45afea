// Package outbox keeps the batch events of a data file: written in the commits that cause
// them, numbered for each user, and kept for replay after their delivery.
//
// [Outbox.Emit] appends an event in the caller's commit. [Outbox.Emitted] wakes a reader after a
// commit that emitted something; the reader then follows the outbox by sequence. [Outbox.OnEmit]
// registers a function by which package delivery queues each entry in the same commit: the record
// of the delivery holds the attempts and the time of the next one, and [Outbox.Ended] is called in
// the commit that ends it. [Outbox.Forget] removes the events of a batch; their sequences become
// gaps that readers can ask for.
//
// # Buckets
//
// Numbers and times (Unix milliseconds) are eight bytes, big-endian; owners and batches
// are the sixteen bytes of their ids.
//
//	outbox         sequence               the entry, written once and never changed
//	outbox_state   state, sequence        attempts and last outcome; nothing while it is pending
//	outbox_due     time, sequence         batch; the queue of schema version 3
//	outbox_owner   owner                  the number of the owner's newest event
//	outbox_replay  owner, number          sequence
//	outbox_batch   batch, sequence        nothing
//	outbox_forget  s or f, batch          nothing; a batch that was removed
//	outbox_gap     owner, last number     the first number of a gap
package outbox
