package outbox

import (
	"bytes"
	"encoding/binary"

	"postern/store"
)

// needs are the rules between entries of the outbox and their indexes. An entry without a state
// counts as never delivered: it is sent once more.
type needs struct{ look *store.Lookup }

// entry reads the entry of an index row. known is false if it is damaged.
func (o needs) entry(seq []byte) (e Entry, known bool) {
	raw, _ := o.look.Get(entryRows, seq)
	if raw == nil || len(seq) != 8 {
		return e, false
	}
	e, err := decodeEntry(binary.BigEndian.Uint64(seq), raw)
	return e, err == nil
}

func entryIs(ok func(Entry) bool) func([]byte) bool {
	return func(raw []byte) bool {
		e, err := decodeEntry(0, raw)
		return err == nil && ok(e)
	}
}

func nonsense(why string) []store.Need { return []store.Need{{Why: why}} }

// ofEntry returns what an entry needs.
func (o needs) ofEntry(key, value []byte) []store.Need {
	if key == nil {
		return nil
	}
	e, err := decodeEntry(0, value)
	if err != nil || len(key) != 8 {
		return nonsense("an event of a batch is lost")
	}
	e.Seq = binary.BigEndian.Uint64(key)
	needs := []store.Need{
		{Bucket: replayRows, Key: store.Key(e.Owner, e.OwnerSeq), Is: is(key), Value: bytes.Clone(key), Why: "an event cannot be told again"},
		{Bucket: batchRows, Key: store.Key(e.Batch, e.Seq), Value: []byte{}, Why: "an event is not listed with its batch"},
		{
			Bucket: ownerRows, Key: store.Key(e.Owner), Value: store.Key(e.OwnerSeq), Why: "events get numbers that were given already",
			Is: func(newest []byte) bool { return len(newest) == 8 && binary.BigEndian.Uint64(newest) >= e.OwnerSeq },
		},
	}
	state := store.Need{Bucket: stateRows, Key: stateKey(e.State, e.Seq), Value: []byte{}, Why: "the state of an event is unknown: it is sent again"}
	if e.State == Disabled || !o.look.Has(stateRows, stateKey(Delivered, e.Seq)) {
		needs = append(needs, state)
	}
	return needs
}

// ofState returns what a state needs: the entry, and its row in the due index.
func (o needs) ofState(key, value []byte) []store.Need {
	if key == nil {
		return nil
	}
	if len(key) != 9 {
		return nonsense("the state of no event")
	}
	disabled := key[0] == Disabled.prefix()
	needs := []store.Need{{
		Bucket: entryRows, Key: bytes.Clone(key[1:]), Why: "the state of no event",
		Is: entryIs(func(e Entry) bool { return (e.State == Disabled) == disabled }),
	}}
	return needs
}

// dueBy returns the key of an entry with a status in the due index.
func (e Entry) dueBy(status []byte) []byte {
	at := e.CreatedAt
	if s, err := decodeStatus(status); err == nil && s.Next != 0 {
		at = fromMilli(s.Next)
	}
	return dueKey(at, e.Seq)
}

// ofDue returns what a row of the due index needs: an entry that waits for that time.
func (o needs) ofDue(key, _ []byte) []store.Need {
	if key == nil {
		return nil
	}
	if len(key) != 16 {
		return nonsense("a due row names no event")
	}
	e, known := o.entry(key[8:])
	right := func(status []byte) bool { return !known || bytes.Equal(e.dueBy(status), key) }
	return []store.Need{
		{Bucket: entryRows, Key: bytes.Clone(key[8:]), Why: "an event is due that is not there"},
		{Bucket: stateRows, Key: append([]byte{Pending.prefix()}, key[8:]...), Is: right, Why: "an event is due that does not wait for that time"},
	}
}

// ofReplay and ofBatch return what the orders by owner and by batch need.
func (o needs) ofReplay(key, value []byte) []store.Need {
	if key == nil {
		return nil
	}
	return []store.Need{{
		Bucket: entryRows, Key: bytes.Clone(value), Why: "an event is to be told again that is not there",
		Is: entryIs(func(e Entry) bool { return bytes.Equal(store.Key(e.Owner, e.OwnerSeq), key) }),
	}}
}

func (o needs) ofBatch(key, _ []byte) []store.Need {
	if key == nil {
		return nil
	}
	if len(key) != 24 {
		return nonsense("an event of no batch")
	}
	return []store.Need{{
		Bucket: entryRows, Key: bytes.Clone(key[16:]), Why: "a batch lists an event that is not there",
		Is: entryIs(func(e Entry) bool { return bytes.Equal(e.Batch[:], key[:16]) }),
	}}
}

// is returns a function that reports whether a value is the given one.
func is(value []byte) func([]byte) bool {
	return func(other []byte) bool { return bytes.Equal(other, value) }
}

// DecodeEntry decodes an entry stored in [EntryBucket], for checks of records that refer to it.
func DecodeEntry(seq uint64, raw []byte) (Entry, error) { return decodeEntry(seq, raw) }

// PendingSeq returns the sequence of the entry that a key of [StateBucket] says is pending.
func PendingSeq(key []byte) (seq uint64, pending bool) {
	if len(key) != 9 || key[0] != Pending.prefix() {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[1:]), true
}

// WaitsInFormer reports whether a pending entry is in the queue of schema version 3; key is
// that of its state.
func WaitsInFormer(look *store.Lookup, e Entry, key []byte) bool {
	status, _ := look.Get(stateRows, key)
	return look.Has(dueRows, e.dueBy(status))
}
