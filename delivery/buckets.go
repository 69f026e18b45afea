package delivery

import (
	"bytes"
	"time"

	"postern/delivery/outbox"
	"postern/store/schema"
)

// The buckets. Numbers are big-endian, times are Unix milliseconds, see
// lanekey.go for lanes.
const (
	records   = "delivery"
	attempts  = "delivery_attempt"
	digests   = "delivery_digest"
	requests  = "delivery_request"
	bodies    = "delivery_body"
	events    = "delivery_event"
	positions = "delivery_position"
	newest    = "delivery_newest"
	holds     = "delivery_hold"
	dues      = "delivery_due"
	heads     = "delivery_lane"
	lines     = "delivery_line"
	expiries  = "delivery_expiry"
	backlogs  = "delivery_backlog"
	forgets   = "delivery_forget"
	logs      = "delivery_log"
)

// Buckets returns the buckets of this package and those of the outbox, whose events it
// delivers.
func Buckets() []schema.Bucket {
	return append(queuedBuckets(), []schema.Bucket{
		{Name: records, Owner: "delivery", Key: "record", Value: "a delivery: its lane, state, last attempt and whose body it has", Append: true, Guards: true, When: recordMade, Needs: ask(needs.ofRecord), Of: recordOwner},
		{Name: attempts, Owner: "delivery", Key: "record + number", Value: "1 when error and answer are those of the next one, else 0; an attempt before the last", Fill: 0.75, Needs: schema.References(schema.Sized(16), noDelivery, toRecord(0))},
		{Name: digests, Owner: "delivery", Key: "block of records", Value: "a row for each record of the block, with what filters ask for", Append: true, Needs: schema.References(schema.Sized(8), wrongBlock, blockToRecords)},
		{Name: requests, Owner: "delivery", Key: "hash of a request id + record", Value: "nothing; of attempts after the first", Needs: schema.References(schema.Sized(16), noDelivery, toRecord(8))},
		{Name: bodies, Owner: "delivery", Key: "record", Value: "owner JID and body of an event that is stored nowhere else", Append: true, Needs: schema.References(schema.Sized(8), noDelivery, toRecord(0))},
		{Name: events, Owner: "delivery", Key: "sequence", Value: "an instance event: what its headers need, whom it went to, body; written once", Append: true, Guards: true, When: eventMade, Needs: ask(needs.ofEvent), Of: eventOwner},
		{Name: positions, Owner: "delivery", Key: "instance + the event's number among those of the instance, or 2^63 + sequence of one without", Value: "sequence", Append: true, Series: 8, Needs: schema.References(schema.Sized(0), "", positionToEvent), Of: keyOwner},
		{Name: newest, Owner: "delivery", Key: "instance", Value: "the number of its newest event and its end", Of: keyOwner},
		{Name: holds, Owner: "delivery", Key: "event sequence + record", Value: "nothing; a record made later that has the event's body", Needs: schema.References(schema.Sized(16), noDelivery, toRecord(8), holdToEvent)},
		{Name: dues, Owner: "delivery", Key: "lane + due time + record", Value: "line; what may be sent when its time has come", Fill: 0.75, Dense: queued, Needs: ask(needs.ofDue)},
		{Name: heads, Owner: "delivery", Key: "lane + record", Value: "line; of each line of a lane the first that is pending, all where there is no order", Fill: 0.75, Needs: ask(needs.ofHead)},
		{Name: lines, Owner: "delivery", Key: "lane + line + record", Value: "when it is due and its bytes; all pending of the lines", Fill: 0.75, Needs: lineNeeds},
		{Name: expiries, Owner: "delivery", Key: "time + e or r + event sequence or record", Value: "nothing; whose time is over then", Append: true, Needs: schema.References(decodeExpiry, "it is the end of no event and no delivery")},
		{Name: backlogs, Owner: "delivery", Key: "lane, with the instance for the global one; nothing for all together", Value: "how many are pending, and their bytes", Needs: schema.References(schema.Sized(0), "", backlogToPending)},
		{Name: forgets, Owner: "delivery", Key: "instance", Value: "nothing; an instance that was deleted, of which everything is to be removed", Needs: schema.References(schema.Sized(8), "it marks no instance as deleted"), Gone: markedGone},
		{Name: logs, Owner: "delivery", Key: "name; gone + instance; erased + instance", Value: "key of the hashes, numbers by state; where the removal of a deleted instance's records goes on; the highest number of an erased event", Needs: schema.References(schema.Sized(0), "", logReadable), Gone: goneFromLog},
	}...)
}

// queued reports whether a key is that of a pending entry of the outbox. Such keys ascend, except those of retries.
func queued(key []byte) bool { return len(key) > 8 && key[8] == tagOutbox }

// queuedBuckets are the buckets of the outbox whose pending entries need records of this package.
func queuedBuckets() []schema.Bucket {
	all := outbox.Buckets()
	for i, b := range all {
		if b.Name != outbox.StateBucket {
			continue
		}
		all[i].Needs = func(look *schema.Lookup) schema.Needs {
			own, here := b.Needs(look), schema.References(schema.Sized(0), "", entryToRecord)(look)
			return func(key, value []byte) []schema.Need { return append(own(key, value), here(key, value)...) }
		}
	}
	return all
}

// markedGone and goneFromLog return the instances that are marked as deleted.
func markedGone(key []byte) []byte { return key }

func goneFromLog(key []byte) []byte {
	if instance, is := bytes.CutPrefix(key, gonePrefix); is {
		return instance
	}
	return nil
}

// recordMade and eventMade return when a record and an event were made.
func recordMade(_, value []byte) time.Time {
	r, _ := decodeRecord(0, value)
	return r.CreatedAt
}

func eventMade(_, value []byte) time.Time {
	e, _ := decodeEvent(0, value)
	return e.CreatedAt
}
