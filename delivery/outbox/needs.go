package outbox

import (
	"bytes"
	"encoding/binary"
	"errors"

	"postern/store"
	"postern/store/schema"
)

// References between entries of the outbox and their indexes. An entry without a state counts
// as never delivered: it is sent once more.

func entryIs(ok func(Entry) bool) func([]byte) bool {
	return func(raw []byte) bool {
		e, err := decodeEntry(0, raw)
		return err == nil && ok(e)
	}
}

func decodeRow(key, value []byte) (e Entry, err error) {
	if len(key) != 8 {
		return e, errors.New("the key has another length")
	}
	return decodeEntry(binary.BigEndian.Uint64(key), value)
}

func toReplay(_ *schema.Lookup, key []byte, e Entry) schema.Need {
	return schema.Need{Bucket: replayRows, Key: store.Key(e.Owner, e.OwnerSeq), Is: is(key), Value: key, Why: "an event cannot be told again"}
}

func toBatch(_ *schema.Lookup, _ []byte, e Entry) schema.Need {
	return schema.Need{Bucket: batchRows, Key: store.Key(e.Batch, e.Seq), Value: []byte{}, Why: "an event is not listed with its batch"}
}

func toOwner(_ *schema.Lookup, _ []byte, e Entry) schema.Need {
	return schema.Need{
		Bucket: ownerRows, Key: store.Key(e.Owner), Value: store.Key(e.OwnerSeq), Why: "events get numbers that were given already",
		Is: func(newest []byte) bool { return len(newest) == 8 && binary.BigEndian.Uint64(newest) >= e.OwnerSeq },
	}
}

func toState(look *schema.Lookup, _ []byte, e Entry) (n schema.Need) {
	if e.State == Disabled || !look.Has(stateRows, stateKey(Delivered, e.Seq)) {
		n = schema.Need{Bucket: stateRows, Key: stateKey(e.State, e.Seq), Value: []byte{}, Why: "the state of an event is unknown: it is sent again"}
	}
	return n
}

const noState = "the state of no event"

func stateToEntry(_ *schema.Lookup, key, _ []byte) schema.Need {
	disabled := key[0] == Disabled.prefix()
	return schema.Need{
		Bucket: entryRows, Key: key[1:], Why: noState,
		Is: entryIs(func(e Entry) bool { return (e.State == Disabled) == disabled }),
	}
}

// dueBy returns the key of an entry with a status in the due index.
func (e Entry) dueBy(status []byte) []byte {
	at := e.CreatedAt
	if s, err := decodeStatus(status); err == nil && s.Next != 0 {
		at = fromMilli(s.Next)
	}
	return dueKey(at, e.Seq)
}

func dueToEntry(_ *schema.Lookup, key, _ []byte) schema.Need {
	return schema.Need{Bucket: entryRows, Key: key[8:], Why: "an event is due that is not there"}
}

// dueToState refers from a row of the due index to an entry that waits for that time.
func dueToState(look *schema.Lookup, key, _ []byte) schema.Need {
	raw, _ := look.Get(entryRows, key[8:])
	e, err := decodeRow(key[8:], raw)
	right := func(status []byte) bool { return raw == nil || err != nil || bytes.Equal(e.dueBy(status), key) }
	return schema.Need{Bucket: stateRows, Key: append([]byte{Pending.prefix()}, key[8:]...), Is: right, Why: "an event is due that does not wait for that time"}
}

func replayToEntry(_ *schema.Lookup, key, value []byte) schema.Need {
	return schema.Need{
		Bucket: entryRows, Key: value, Why: "an event is to be told again that is not there",
		Is: entryIs(func(e Entry) bool { return bytes.Equal(store.Key(e.Owner, e.OwnerSeq), key) }),
	}
}

func batchToEntry(_ *schema.Lookup, key, _ []byte) schema.Need {
	return schema.Need{
		Bucket: entryRows, Key: key[16:], Why: "a batch lists an event that is not there",
		Is: entryIs(func(e Entry) bool { return bytes.Equal(e.Batch[:], key[:16]) }),
	}
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
func WaitsInFormer(look *schema.Lookup, e Entry, key []byte) bool {
	status, _ := look.Get(stateRows, key)
	return look.Has(dueRows, e.dueBy(status))
}
