package outbox

import "postern/store"

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

// Buckets returns the buckets of this package.
func Buckets() []store.Bucket {
	return []store.Bucket{
		{Name: entryRows, Owner: "outbox", Key: "sequence", Value: "event kind, owner, batch, owner sequence, time, body", Append: true, Guards: true, When: entryMade, Needs: func(l *store.Lookup) store.Needs { return needs{l}.ofEntry }},
		{Name: stateRows, Owner: "outbox", Key: "state + sequence", Value: "attempts, last outcome; empty while it is pending", Append: true, Needs: func(l *store.Lookup) store.Needs { return needs{l}.ofState }},
		{Name: dueRows, Owner: "outbox", Key: "due time + sequence", Value: "batch; what is pending, of files up to schema version 3", Append: true, Needs: func(l *store.Lookup) store.Needs { return needs{l}.ofDue }},
		{Name: ownerRows, Owner: "outbox", Key: "owner", Value: "the owner's newest sequence"},
		{Name: replayRows, Owner: "outbox", Key: "owner + owner sequence", Value: "sequence", Fill: 0.75, Needs: func(l *store.Lookup) store.Needs { return needs{l}.ofReplay }},
		{Name: batchRows, Owner: "outbox", Key: "batch + sequence", Value: "nothing", Needs: func(l *store.Lookup) store.Needs { return needs{l}.ofBatch }},
		{Name: forgetRows, Owner: "outbox", Key: "s or f + batch", Value: "nothing; a batch that was removed: its finished entries are to be swept, its pending ones go when they are delivered"},
		{Name: gapRows, Owner: "outbox", Key: "owner + last owner sequence of a gap", Value: "its first"},
	}
}
