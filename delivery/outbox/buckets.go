package outbox

import (
	"postern/delivery/stream"
	"postern/store/schema"
)

// The buckets that package delivery looks into, for checks.
const (
	EntryBucket = entryRows
	StateBucket = stateRows
)

// The outbox's buckets. An entry is written once and never changed. Its state is a small record
// beside it, so that an acknowledgement does not rewrite the event.
const (
	entryRows  = "outbox"
	stateRows  = "outbox_state"
	dueRows    = "outbox_due"
	ownerRows  = "outbox_owner"
	replayRows = "outbox_replay"
	batchRows  = "outbox_batch"
	forgetRows = "outbox_forget"
	gapRows    = "outbox_gap"
)

// Buckets returns the buckets of this package, and that of the stream of all events, which has its entries.
func Buckets() []schema.Bucket {
	return append(stream.Buckets(), []schema.Bucket{
		{Name: entryRows, Owner: "outbox", Key: "sequence", Value: "event kind, owner, batch, owner sequence, time, body", Append: true, Guards: true, When: entryMade, Needs: schema.References(decodeRow, "an event of a batch is lost", toReplay, toBatch, toOwner, toState)},
		{Name: stateRows, Owner: "outbox", Key: "state + sequence", Value: "attempts, last outcome; empty while it is pending", Append: true, Needs: schema.References(schema.Sized(9), noState, stateToEntry)},
		{Name: dueRows, Owner: "outbox", Key: "due time + sequence", Value: "batch; what is pending, of files up to schema version 3", Append: true, Needs: schema.References(schema.Sized(16), "a due row names no event", dueToEntry, dueToState)},
		{Name: ownerRows, Owner: "outbox", Key: "owner", Value: "the owner's newest sequence"},
		{Name: replayRows, Owner: "outbox", Key: "owner + owner sequence", Value: "sequence", Fill: 0.75, Needs: schema.References(schema.Sized(0), "", replayToEntry)},
		{Name: batchRows, Owner: "outbox", Key: "batch + sequence", Value: "nothing", Needs: schema.References(schema.Sized(24), "an event of no batch", batchToEntry)},
		{Name: forgetRows, Owner: "outbox", Key: "s or f + batch", Value: "nothing; a batch that was removed: its finished entries are to be swept, its pending ones go when they are delivered"},
		{Name: gapRows, Owner: "outbox", Key: "owner + last owner sequence of a gap", Value: "its first"},
	}...)
}
