package digest

import (
	"time"

	"github.com/google/uuid"
)

// Fields is what filters ask for of a record.
type Fields struct {
	ID       uint64
	State    uint8 // from 1 to 7; Pending or one of a record that has ended
	Target   uint8 // where it goes, from 1 to 3
	Event    uint8
	Marks    Marks
	Instance int64 // the lower 32 bits count

	Made     time.Time
	Ended    time.Time     // as far as the record states it; used when a row is rebuilt
	Duration time.Duration // of the last attempt

	EventID       uuid.UUID
	Endpoint      string
	Chat, ChatLID string

	// RequestID is that of the first attempt. If there were several attempts (Retried), a row
	// that exists keeps its own: those of later attempts are further names, see AddName.
	RequestID string
	Retried   bool
}

// Pending is the state of a record that has not ended.
const Pending = 1

// Marks are further properties of a record.
type Marks uint16

// The marks.
const (
	Batch    Marks = 0x0020 // of the batch flow
	Replay   Marks = 0x0040 // repeats another record
	Replayed Marks = 0x0080 // a replay of it was delivered
	Memory   Marks = 0x0100 // it waits in memory only, and ends with the process

	bitsState   = 0x0007
	shiftTarget = 3
)

// Row is the stored form of Fields, in five words, highest bits first. The zero Row stands
// for no record.
type Row struct {
	head  uint64 // instance 32, bits 16, lower bits of the event 6, upper ones 2, nothing 8
	made  uint64 // Unix milliseconds 48, upper half of the endpoint's hash 16
	spent uint64 // milliseconds of the last attempt 24, units from its making to its end 24, lower half of the endpoint's hash 16
	ids   uint64 // hashes of the event id 32 and of the first attempt's request id 32
	chat  uint64 // hashes of the chat 32 and of its LID 32
}

// The event is split because there was room for 63 at first. Its two parts are adjacent, and
// so are the state and the target above it.
const (
	shiftEvent = 8
	shiftState = 16
	columnHead = 13 // bits of target, state and event
)

// eventBits returns the bits of an event in the lowest byte: its lower six bits come first.
func eventBits(event uint8) uint64 { return uint64(event)<<2&0xff | uint64(event)>>6 }

// lifeUnit is the unit, rounded up, of the time from the making of a record to its end.
const lifeUnit = 4 * time.Second

const max24 = 1<<24 - 1

// Exists reports whether the row stands for a record.
func (w Row) Exists() bool { return w.head>>shiftState&bitsState != 0 }

// State returns the state of the record.
func (w Row) State() uint8 { return uint8(w.head >> shiftState & bitsState) }

// Has reports whether the record has a mark.
func (w Row) Has(mark Marks) bool { return Marks(w.head>>shiftState)&mark != 0 }

// MadeAt returns when the record was made, in Unix milliseconds.
func (w Row) MadeAt() int64 { return int64(w.made >> 16) }

// EndedAt returns when the record ended, in Unix milliseconds, up to four seconds late; when
// it was made while it is pending.
func (w Row) EndedAt() int64 { return w.MadeAt() + int64(w.lived())*lifeUnit.Milliseconds() }

func (w Row) lived() uint64 { return w.spent >> 16 & max24 }

// next returns the row of f. w is the row before, and now the time of the change: what ends,
// ends then.
func (w Row) next(k hashKey, f *Fields, now time.Time) Row {
	age := units(now.Sub(f.Made))
	switch {
	case f.State == Pending:
		age = 0
	case w.Exists() && w.State() != Pending:
		age = w.lived()
	}
	fresh := !w.Exists()
	if fresh {
		endpoint := uint64(k.hash(f.Endpoint))
		w.made = uint64(max(0, f.Made.UnixMilli()))<<16 | endpoint>>16
		w.spent = endpoint & 0xffff
		w.ids = uint64(k.hashID(f.EventID)) << 32
		w.chat = uint64(k.hash(f.Chat))<<32 | uint64(k.hash(f.ChatLID))
	}
	if fresh || !f.Retried {
		w.ids = w.ids>>32<<32 | uint64(k.hash(f.RequestID))
	}
	bits := uint64(f.State) | uint64(f.Target)<<shiftTarget | uint64(f.Marks)
	w.head = uint64(uint32(f.Instance))<<32 | bits<<shiftState | eventBits(f.Event)<<shiftEvent
	w.spent = millis(f.Duration)<<40 | age<<16 | w.spent&0xffff
	return w
}

// millis converts a duration to what a row has room for.
func millis(d time.Duration) uint64 { return uint64(min(max(0, d.Milliseconds()), max24)) }

// units converts a duration to the unit of rows.
func units(age time.Duration) uint64 {
	return uint64(min(max(0, (age+lifeUnit-1)/lifeUnit), max24))
}
