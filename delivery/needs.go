package delivery

import (
	"bytes"
	"encoding/binary"

	"postern/delivery/digest"
	"postern/delivery/layout"
	"postern/delivery/outbox"
	"postern/store"
	"postern/store/schema"
)

// The rules between the buckets (see doc.go), for `postern check`. A start rebuilds missing
// rows of the digest, but does not notice rows that do not match their records.

const noDelivery = "it is of a delivery that is not there"

type needs struct{ look *schema.Lookup }

func ask(of func(n needs, key, value []byte) []schema.Need) func(*schema.Lookup) schema.Needs {
	return func(look *schema.Lookup) schema.Needs {
		n := needs{look}
		return func(key, value []byte) []schema.Need {
			if key == nil {
				return nil
			}
			return of(n, key, value)
		}
	}
}

// recordIs returns the rule that a record exists for which ok returns true.
func recordIs(id []byte, ok func(Record) bool) func([]byte) bool {
	id = bytes.Clone(id)
	return func(raw []byte) bool {
		r, err := decodeRecord(binary.BigEndian.Uint64(id), raw)
		return err == nil && ok(r)
	}
}

// first reports whether p is the first of its line, or has none.
func (n needs) first(p place) bool {
	k := n.look.First(lines, store.Key(p.share().key(), uint64(p.line)), nil)
	return p.line == 0 || k == nil || bytes.Compare(k, p.lineKey()) >= 0
}

// ofRecord: a pending record is in the indexes of its lane, and has an alarm and its event.
func (n needs) ofRecord(key, value []byte) (all []schema.Need) {
	if len(key) != 8 {
		return []schema.Need{{Why: "a delivery is lost"}}
	}
	r, err := decodeRecord(binary.BigEndian.Uint64(key), value)
	if err != nil {
		return []schema.Need{{Why: "a delivery is lost"}}
	}
	if !r.Waits() {
		return nil
	}
	if r.EventSeq != 0 {
		all = append(all, schema.Need{Bucket: events, Key: store.Key(r.EventSeq), Why: "the event to deliver is lost"})
	}
	p := placeOf(r)
	if p.lane == OutboxLane {
		entry := store.Key(r.OutboxSeq)
		return append(
			all,
			schema.Need{Bucket: outbox.EntryBucket, Key: entry, Why: "the event to deliver is lost"},
			schema.Need{Bucket: dues, Key: p.dueKey(r.DueAt()), Value: p.value(), Why: "a delivery is never sent"},
		)
	}
	if p.line != 0 {
		all = append(all, schema.Need{
			Bucket: lines, Key: p.lineKey(), Value: p.lineValue(r.DueAt()), Why: "a delivery does not wait for its turn",
			Is: func(raw []byte) bool { return len(raw) == 12 },
		})
	}
	if n.first(p) {
		all = append(
			all,
			schema.Need{Bucket: dues, Key: p.dueKey(r.DueAt()), Value: p.value(), Why: "a delivery is never sent"},
			schema.Need{Bucket: heads, Key: p.headKey(), Value: p.value(), Why: "a delivery is not among what waits"},
		)
		if p.instance != p.lane.Instance {
			all = append(all, schema.Need{Bucket: heads, Key: p.shareKey(), Value: []byte{}, Why: "a delivery is not among what waits of its instance"})
		}
	}
	alarm := expiry{r.ExpiresAt, expiryRecord, r.ID}
	if !n.look.Has(expiries, expiry{r.ExpiresAt, expiryEvent, r.EventSeq}.key()) {
		all = append(all, schema.Need{Bucket: expiries, Key: alarm.key(), Value: []byte{}, Why: "a delivery is never given up"})
	}
	return all
}

// ofDue, ofHead and ofLine: each row of an index is about a pending record.
func (n needs) ofDue(key, _ []byte) []schema.Need {
	return n.waiting(key, 16, func(p place, r Record) bool { return bytes.Equal(p.dueKey(r.DueAt()), key) && n.first(p) })
}

func (n needs) ofHead(key, _ []byte) []schema.Need {
	return n.waiting(key, 8, func(p place, _ Record) bool {
		return (bytes.Equal(p.headKey(), key) || bytes.Equal(p.shareKey(), key)) && n.first(p)
	})
}

func (n needs) ofLine(key, _ []byte) []schema.Need {
	return n.waiting(key, 16, func(p place, _ Record) bool { return bytes.Equal(p.lineKey(), key) })
}

func (n needs) waiting(key []byte, size int, right func(place, Record) bool) []schema.Need {
	const why = "what is not there, or does not wait for that, counts as waiting"
	_, rest, ok := parseLane(key)
	if !ok || len(rest) != size {
		return []schema.Need{{Why: why}}
	}
	id := rest[size-8:]
	return []schema.Need{{
		Bucket: records, Key: bytes.Clone(id), Why: why,
		Is: recordIs(id, func(r Record) bool { return r.Waits() && right(placeOf(r), r) }),
	}}
}

// entryToRecord: a pending entry of the outbox has a pending record, or waits in the queue of
// schema version 3.
func entryToRecord(look *schema.Lookup, key, _ []byte) (n schema.Need) {
	seq, pending := outbox.PendingSeq(key)
	if !pending {
		return n
	}
	raw, _ := look.Get(outbox.EntryBucket, store.Key(seq))
	e, err := outbox.DecodeEntry(seq, raw)
	if raw == nil || err != nil || outbox.WaitsInFormer(look, e, key) {
		return n
	}
	const why = "an event that waits is never sent"
	if e.Record == 0 {
		return schema.Need{Why: why + "; the next start makes its record if it finds damage"}
	}
	r := batchRecord(e, "")
	r.ID = e.Record
	return schema.Need{
		Bucket: records, Key: store.Key(e.Record), Value: encodeRecord(r), Why: why,
		Is: recordIs(store.Key(e.Record), func(r Record) bool { return r.Waits() && r.Lane == OutboxLane && r.OutboxSeq == seq }),
	}
}

// toRecord refers from a row with a record's id in its key, at an offset, to the record.
func toRecord(at int) schema.Ref[[]byte] {
	return func(_ *schema.Lookup, key, _ []byte) schema.Need {
		return schema.Need{Bucket: records, Key: key[at : at+8], Why: noDelivery}
	}
}

func holdToEvent(_ *schema.Lookup, key, _ []byte) schema.Need {
	return schema.Need{Bucket: events, Key: key[:8], Why: "it holds an event that is not there"}
}

// ofEvent: an event that has not expired is found by its number and has an alarm; an expired one has neither.
func (n needs) ofEvent(key, value []byte) (all []schema.Need) {
	if len(key) != 8 {
		return []schema.Need{{Why: "an event is lost"}}
	}
	e, err := decodeEvent(binary.BigEndian.Uint64(key), value)
	if err != nil {
		return []schema.Need{{Why: "an event is lost"}}
	}
	alarm := expiry{e.ExpiresAt, expiryEvent, e.Seq}
	over := e.Sequence != 0 && !n.look.Has(expiries, alarm.key()) && !n.look.Has(positions, e.positionKey())
	if !over {
		all = append(all, schema.Need{Bucket: positions, Key: e.positionKey(), Value: bytes.Clone(key), Why: "an event is not found by its number, and never removed with its instance"})
	}
	if e.Sequence != 0 && !over {
		all = append(all, schema.Need{Bucket: expiries, Key: alarm.key(), Value: []byte{}, Why: "an event is never removed"})
	}
	return all
}

// positionToEvent refers from a number to the event that has it.
func positionToEvent(_ *schema.Lookup, key, value []byte) schema.Need {
	n := schema.Need{Why: "a number is of no event"}
	if seq, ok := digest.IDOf(value); ok {
		n.Bucket, n.Key = events, value
		n.Is = func(raw []byte) bool {
			e, err := decodeEvent(seq, raw)
			return err == nil && bytes.Equal(e.positionKey(), key)
		}
	}
	return n
}

// decodeExpiry accepts an alarm. What it is about may have been removed before it.
func decodeExpiry(key, _ []byte) (none struct{}, err error) {
	if len(key) != 17 || key[8] != expiryEvent && key[8] != expiryRecord {
		err = layout.ErrValue
	}
	return none, err
}

// logReadable: what is kept beside the records can be read.
func logReadable(_ *schema.Lookup, key, value []byte) (n schema.Need) {
	sizes := map[string]int{digest.KeyName: digest.KeySize, string(countsKey): 8 * len(Counts{}), string(globalAccessKey): 8}
	switch size, known := sizes[string(key)]; {
	case known && len(value) != size:
		n.Why = "the next start makes it anew"
	case !known && (len(value) != 8 || !logOf(gonePrefix, key) && !logOf(erasedPrefix, key)):
		n.Why = "the log does not know what it is"
	}
	return n
}

// logOf reports whether a key of the log is a prefix and an instance.
func logOf(prefix, key []byte) bool { return bytes.HasPrefix(key, prefix) && len(key) == len(prefix)+8 }

// blockToRecords: a block of the digest has a row for each existing record, and no other.
func blockToRecords(look *schema.Lookup, key, value []byte) (n schema.Need) {
	first := digest.FirstOf(binary.BigEndian.Uint64(key))
	var there [digest.BlockRows]bool
	for k := look.First(records, nil, store.Key(first)); len(k) == 8; k = look.First(records, nil, append(bytes.Clone(k), 0)) {
		id := binary.BigEndian.Uint64(k)
		if id >= first+digest.BlockRows {
			break
		}
		there[id-first] = true
	}
	if !digest.Matches(value, func(row int) bool { return there[row] }) {
		n.Why = wrongBlock
	}
	return n
}

const wrongBlock = "lists and totals of deliveries may be wrong; the next start makes it anew"

// backlogToPending: a count is about pending deliveries.
func backlogToPending(look *schema.Lookup, key, _ []byte) (n schema.Need) {
	prefix := key
	if bytes.Equal(key, allLanes) {
		prefix = nil
	}
	if look.First(heads, prefix, nil) == nil && look.First(lines, prefix, nil) == nil {
		n.Why = "what does not wait is counted"
	}
	return n
}

// lineNeeds scans the deliveries that wait in lines, then those that wait in none, and
// compares both with the backlogs. It keeps one number in memory for each destination of each
// instance.
func lineNeeds(look *schema.Lookup) schema.Needs {
	n, waits, whole := needs{look}, map[string]Backlog{}, true
	count := func(share []byte, size int) {
		for _, key := range []string{string(share), string(allLanes)} {
			b := waits[key]
			waits[key] = Backlog{Pending: b.Pending + 1, Bytes: b.Bytes + int64(size)}
		}
	}
	return func(key, value []byte) (all []schema.Need) {
		if key != nil {
			if lane, _, ok := parseLane(key); ok && len(value) == 12 {
				count(lane.key(), int(binary.BigEndian.Uint32(value[8:])))
			} else {
				whole = false
			}
			return n.ofLine(key, value)
		}
		for k := look.First(heads, nil, nil); k != nil && whole; k = look.First(heads, nil, append(bytes.Clone(k), 0)) {
			lane, _, ok := parseLane(k)
			if ok && lane != lane.whole() {
				continue // counted a second time, by its instance
			}
			p := place{lane: lane}
			row, _ := look.Get(heads, k)
			if whole = ok && p.parse(row); whole && p.line == 0 {
				count(p.share().key(), p.bytes)
			}
		}
		if !whole {
			return nil // the shares of the damaged ones are unknown
		}
		for key, b := range waits {
			right := store.Key(b.Pending, b.Bytes)
			all = append(all, schema.Need{
				Bucket: backlogs, Key: []byte(key), Value: right, Why: "what waits is not what is counted",
				Is: func(raw []byte) bool { return bytes.Equal(raw, right) },
			})
		}
		return all
	}
}

// Owner returns the key of an instance, nil for none and for a deleted instance whose rows
// are being removed.
func Owner(look *schema.Lookup, instance int64) []byte {
	key := store.Key(instance)
	if instance == 0 || look.Has(forgets, key) {
		return nil
	}
	return key
}

func keyOwner(look *schema.Lookup, key, _ []byte) []byte {
	if len(key) < 8 {
		return key
	}
	return Owner(look, int64(binary.BigEndian.Uint64(key)))
}

func recordOwner(look *schema.Lookup, _, value []byte) []byte {
	r, err := decodeRecord(0, value)
	if err != nil {
		return nil
	}
	return Owner(look, r.Instance)
}

func eventOwner(look *schema.Lookup, _, value []byte) []byte {
	e, err := decodeEvent(0, value)
	if err != nil {
		return nil
	}
	return Owner(look, e.Instance)
}
