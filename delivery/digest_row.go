package delivery

import (
	"encoding/binary"
	"time"

	"github.com/dchest/siphash"
	"github.com/google/uuid"

	"postern/event"
)

// digestRow is the part of a record that filters use, in five words, highest bits first. A
// match by hash is verified against the record before the record is shown.
type digestRow struct {
	head  uint64 // instance 32, bits 16, event 6, nothing 10
	made  uint64 // Unix milliseconds 48, upper half of the endpoint's hash 16
	spent uint64 // milliseconds of the last attempt 24, units from its making to its end 24, lower half of the endpoint's hash 16
	ids   uint64 // hashes of the event id 32 and of the first attempt's request id 32
	chat  uint64 // hashes of the chat 32 and of its LID 32
}

// lifeUnit is the unit, rounded up, of the time from the making of a record to its end.
const lifeUnit = 4 * time.Second

const max24 = 1<<24 - 1

// The bits of a row. A row without a state stands for no record.
const (
	bitsState   = 0x0007
	bitsTarget  = 0x0018
	bitBatch    = 0x0020 // of the batch flow
	bitReplay   = 0x0040 // repeats another record
	bitReplayed = 0x0080 // a replay of it was delivered
	bitMemory   = 0x0100 // it waits in memory only, and ends with the process
)

func targetBits(t event.Target) uint16 {
	switch t {
	case event.TargetWebhook:
		return 0x0008
	case event.TargetGlobal:
		return 0x0010
	case event.TargetEndpoint:
		return 0x0018
	}
	return 0
}

func bitsOf(r *Record) uint16 {
	bits := uint16(stateNumber(r.State)) | targetBits(r.Lane.Target)
	for _, mark := range [...]struct {
		bit uint16
		is  bool
	}{
		{bitBatch, r.Lane.Flow == FlowBatch},
		{bitReplay, r.ReplayOf != 0},
		{bitReplayed, r.Replayed},
		{bitMemory, r.inMemory()},
	} {
		if mark.is {
			bits |= mark.bit
		}
	}
	return bits
}

func (w digestRow) exists() bool   { return w.head>>16&bitsState != 0 }
func (w digestRow) state() State   { return states[min(int(w.head>>16&bitsState), len(states)-1)] }
func (w digestRow) madeAt() int64  { return int64(w.made >> 16) }
func (w digestRow) lived() uint64  { return w.spent >> 16 & max24 }
func (w digestRow) endedAt() int64 { return w.madeAt() + int64(w.lived())*lifeUnit.Milliseconds() }

// next returns the row of r, which may be nil. w is the row before, and now the time of the
// change: what ends, ends then.
func (w digestRow) next(k hashKey, r *Record, now time.Time) digestRow {
	age := units(now.Sub(r.CreatedAt))
	switch {
	case r.State == Pending:
		age = 0
	case w.exists() && w.state() != Pending:
		age = w.lived()
	}
	took := uint64(min(max(0, r.Duration.Milliseconds()), max24))
	fresh := !w.exists()
	if fresh {
		endpoint := uint64(k.hash(r.Lane.Endpoint))
		w.made = uint64(max(0, r.CreatedAt.UnixMilli()))<<16 | endpoint>>16
		w.spent = endpoint & 0xffff
		w.ids = uint64(k.hashID(r.EventID)) << 32
		w.chat = uint64(k.hash(r.Chat))<<32 | uint64(k.hash(r.ChatLID))
	}
	if fresh || r.Attempts <= 1 { // later ones have an index
		w.ids = w.ids>>32<<32 | uint64(k.hash(r.RequestID))
	}
	w.head = uint64(uint32(r.Instance))<<32 | uint64(bitsOf(r))<<16 | uint64(kindNumber(r.Event))<<10
	w.spent = took<<40 | age<<16 | w.spent&0xffff
	return w
}

// restored returns the row of a record from the record alone.
func restored(k hashKey, r Record, first Attempt) digestRow {
	w := digestRow{}.next(k, &r, endedAt(r))
	if first.Number > 0 {
		w.ids = w.ids>>32<<32 | uint64(k.hash(first.RequestID))
	}
	return w
}

// endedAt returns when a record ended, as far as the record states it.
func endedAt(r Record) time.Time {
	switch {
	case r.State == Expired && !r.ExpiresAt.IsZero():
		return r.ExpiresAt
	case !r.LastAttemptAt.IsZero():
		return r.LastAttemptAt.Add(r.Duration)
	}
	return r.CreatedAt
}

// units converts a duration to the unit of rows.
func units(age time.Duration) uint64 {
	return uint64(min(max(0, (age+lifeUnit-1)/lifeUnit), max24))
}

// hashKey is a SipHash key of this file's own. Without it, those who send messages cannot
// make chats or ids that collide in the digest.
type hashKey [16]byte

// hash returns 0 for an empty text, and for no other.
func (k hashKey) hash(text string) uint32 {
	if text == "" {
		return 0
	}
	return max(uint32(k.hash64(text)>>32), 1)
}

// hashID returns the hash of an event's id.
func (k hashKey) hashID(id uuid.UUID) uint32 {
	return max(uint32(k.sum(id[:])>>32), 1)
}

func (k hashKey) hash64(text string) uint64 {
	var buf [128]byte
	return k.sum(append(buf[:0], text...))
}

func (k hashKey) sum(raw []byte) uint64 {
	return siphash.Hash(binary.LittleEndian.Uint64(k[:]), binary.LittleEndian.Uint64(k[8:]), raw)
}
