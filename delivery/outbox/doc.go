// Package outbox keeps the batch events of a data file: written in the commits that cause
// them, numbered for each user, and kept for replay after their delivery.
//
// [Outbox.Emit] appends an event in the caller's commit. [Outbox.Emitted] wakes a
// reader after a commit that emitted something; the reader then follows the outbox
// by sequence or by due time, so that events of a life before a crash and
// events of this moment take the same way. [Outbox.OnEmit] has package delivery keep a
// record of each entry in the same commit. [Outbox.Forget] has the events of a
// batch removed, and the sequences that they had become gaps that readers know of.
//
// # Buckets
//
// Numbers and times (Unix milliseconds) are eight bytes, big-endian; owners and batches
// are the sixteen bytes of their ids.
//
//	outbox         sequence               the entry, written once and never changed
//	outbox_state   state, sequence        attempts and last outcome; nothing until the first
//	outbox_due     time, sequence         batch; what is pending, when it may be sent
//	outbox_owner   owner                  the number of the owner's newest event
//	outbox_replay  owner, number          sequence
//	outbox_batch   batch, sequence        nothing
//	outbox_forget  s or f, batch          nothing; a batch that was removed
//	outbox_gap     owner, last number     the first number of a gap
package outbox
