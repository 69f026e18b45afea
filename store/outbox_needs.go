package store

import (
	"bytes"
	"encoding/binary"
)

// outboxNeeds are what entries of the outbox and their indexes need of each other. An
// entry without a state counts as one that was never delivered: it is sent once more.
type outboxNeeds struct{ look *Lookup }

// entry reads an entry that an index names. known is false when it is damaged.
func (o outboxNeeds) entry(seq []byte) (e OutboxEntry, known bool) {
	raw, _ := o.look.Get(outboxEntries, seq)
	if raw == nil || len(seq) != 8 {
		return e, false
	}
	e, err := decodeEntry(binary.BigEndian.Uint64(seq), raw)
	return e, err == nil
}

func entryIs(ok func(OutboxEntry) bool) func([]byte) bool {
	return func(raw []byte) bool {
		e, err := decodeEntry(0, raw)
		return err == nil && ok(e)
	}
}

func nonsense(why string) []Need { return []Need{{Why: why}} }

// ofEntry is what an entry needs.
func (o outboxNeeds) ofEntry(key, value []byte) []Need {
	if key == nil {
		return nil
	}
	e, err := decodeEntry(0, value)
	if err != nil || len(key) != 8 {
		return nonsense("an event of a batch is lost")
	}
	e.Seq = binary.BigEndian.Uint64(key)
	needs := []Need{
		{Bucket: outboxReplay, Key: Key(e.Owner, e.OwnerSeq), Is: is(key), Value: bytes.Clone(key), Why: "an event cannot be told again"},
		{Bucket: outboxBatch, Key: Key(e.Batch, e.Seq), Value: []byte{}, Why: "an event is not listed with its batch"},
		{
			Bucket: outboxOwner, Key: Key(e.Owner), Value: Key(e.OwnerSeq), Why: "events get numbers that were given already",
			Is: func(newest []byte) bool { return len(newest) == 8 && binary.BigEndian.Uint64(newest) >= e.OwnerSeq },
		},
	}
	state := Need{Bucket: outboxStates, Key: stateKey(e.State, e.Seq), Value: []byte{}, Why: "nobody knows whether an event was delivered: it is sent once more"}
	if e.State == OutboxDisabled || !o.look.Has(outboxStates, stateKey(OutboxDelivered, e.Seq)) {
		needs = append(needs, state)
	}
	return needs
}

// ofState is what a state needs: the entry, and its place among what is due.
func (o outboxNeeds) ofState(key, value []byte) []Need {
	if key == nil {
		return nil
	}
	if len(key) != 9 {
		return nonsense("the state of no event")
	}
	disabled := key[0] == OutboxDisabled.prefix()
	needs := []Need{{
		Bucket: outboxEntries, Key: bytes.Clone(key[1:]), Why: "the state of no event",
		Is: entryIs(func(e OutboxEntry) bool { return (e.State == OutboxDisabled) == disabled }),
	}}
	e, known := o.entry(key[1:])
	if key[0] != OutboxPending.prefix() || !known {
		return needs
	}
	return append(needs, Need{Bucket: outboxDue, Key: e.dueBy(value), Value: e.Batch[:], Why: "an event that waits is never sent"})
}

// dueBy is where an entry with a status is in the due index.
func (e OutboxEntry) dueBy(status []byte) []byte {
	at := e.CreatedAt
	if s, err := decodeStatus(status); err == nil && s.Next != 0 {
		at = fromMilli(s.Next)
	}
	return dueKey(at, e.Seq)
}

// ofDue is what a place among what is due needs: an entry that waits for that time.
func (o outboxNeeds) ofDue(key, _ []byte) []Need {
	if key == nil {
		return nil
	}
	if len(key) != 16 {
		return nonsense("what is due and is no event")
	}
	e, known := o.entry(key[8:])
	right := func(status []byte) bool { return !known || bytes.Equal(e.dueBy(status), key) }
	return []Need{
		{Bucket: outboxEntries, Key: bytes.Clone(key[8:]), Why: "an event is due that is not there"},
		{Bucket: outboxStates, Key: append([]byte{OutboxPending.prefix()}, key[8:]...), Is: right, Why: "an event is due that does not wait for that time"},
	}
}

// ofReplay and ofBatch are what the orders by owner and by batch need.
func (o outboxNeeds) ofReplay(key, value []byte) []Need {
	if key == nil {
		return nil
	}
	return []Need{{
		Bucket: outboxEntries, Key: bytes.Clone(value), Why: "an event is to be told again that is not there",
		Is: entryIs(func(e OutboxEntry) bool { return bytes.Equal(Key(e.Owner, e.OwnerSeq), key) }),
	}}
}

func (o outboxNeeds) ofBatch(key, _ []byte) []Need {
	if key == nil {
		return nil
	}
	if len(key) != 24 {
		return nonsense("an event of no batch")
	}
	return []Need{{
		Bucket: outboxEntries, Key: bytes.Clone(key[16:]), Why: "a batch lists an event that is not there",
		Is: entryIs(func(e OutboxEntry) bool { return bytes.Equal(e.Batch[:], key[:16]) }),
	}}
}

// is tells that a value is the given one.
func is(value []byte) func([]byte) bool {
	return func(other []byte) bool { return bytes.Equal(other, value) }
}
