package outbox

import (
	"encoding/binary"
	"fmt"
	"time"

	"postern/event"
	"postern/store"
)

func dueKey(at time.Time, seq uint64) []byte { return store.Key(uint64(max(0, at.UnixMilli())), seq) }

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// entryMade returns when an entry was made.
func entryMade(_, value []byte) time.Time {
	e, err := decodeEntry(0, value)
	if err != nil {
		return time.Time{}
	}
	return e.CreatedAt
}

// Marks of an entry.
const (
	entryDisabled = 1 << iota
	entryRecorded
)

// Layout of an entry: kind length, kind, owner, batch, owner sequence, time in
// Unix milliseconds, marks, record when so marked, body.
func encodeEntry(e Entry) []byte {
	marks := byte(0)
	if e.State == Disabled {
		marks |= entryDisabled
	}
	if e.Record != 0 {
		marks |= entryRecorded
	}
	raw := make([]byte, 0, 1+len(e.Kind)+entryFixed+8+len(e.Body))
	raw = append(append(raw, byte(len(e.Kind))), e.Kind...)
	raw = append(append(raw, e.Owner[:]...), e.Batch[:]...)
	raw = binary.BigEndian.AppendUint64(raw, e.OwnerSeq)
	raw = binary.BigEndian.AppendUint64(raw, uint64(e.CreatedAt.UnixMilli()))
	raw = append(raw, marks)
	if e.Record != 0 {
		raw = binary.BigEndian.AppendUint64(raw, e.Record)
	}
	return append(raw, e.Body...)
}

// entryFixed is the size of the parts of fixed size: owner, batch, owner sequence, time and
// marks.
const entryFixed = 16 + 16 + 8 + 8 + 1

func decodeEntry(seq uint64, raw []byte) (Entry, error) {
	if len(raw) < 1 || len(raw) < 1+int(raw[0])+entryFixed {
		return Entry{}, fmt.Errorf("outbox: entry %d is too short: %w", seq, store.ErrDamaged)
	}
	n := 1 + int(raw[0])
	e := Entry{Seq: seq, Kind: event.Kind(raw[1:n]), State: Pending}
	rest := raw[n:]
	copy(e.Owner[:], rest[:16])
	copy(e.Batch[:], rest[16:32])
	e.OwnerSeq = binary.BigEndian.Uint64(rest[32:])
	e.CreatedAt = fromMilli(int64(binary.BigEndian.Uint64(rest[40:])))
	if rest[48]&entryDisabled != 0 {
		e.State = Disabled
	}
	e.Body = rest[entryFixed:]
	if rest[48]&entryRecorded != 0 {
		if len(e.Body) < 8 {
			return Entry{}, fmt.Errorf("outbox: entry %d is too short: %w", seq, store.ErrDamaged)
		}
		e.Record, e.Body = binary.BigEndian.Uint64(e.Body), e.Body[8:]
	}
	return e, nil
}
