package delivery

import (
	"slices"

	"postern/delivery/layout"
	"postern/event"
)

// Marks of a record.
const (
	markOnce = 1 << iota
	markReplayed
	markOwnBody
	markBatch
	markLine
)

func (r *Record) marks() byte {
	return mark(markOnce, r.Once) | mark(markReplayed, r.Replayed) | mark(markOwnBody, r.OwnBody) |
		mark(markBatch, r.Batch != [16]byte{}) | mark(markLine, r.Line != 0)
}

func mark(bit byte, set bool) byte {
	if set {
		return bit
	}
	return 0
}

func encodeRecord(r Record) []byte {
	w := layout.New(320)
	writeRecord(w, &r)
	return w.Raw
}

func writeRecord(w *layout.Writer, r *Record) {
	marks := r.marks()
	w.Byte(stateNumber(r.State))
	w.Byte(stateNumber(r.Former))
	w.Byte(marks)
	w.Byte(r.Lane.tag())
	w.Byte(kindNumber(r.Event))
	w.U16(r.LastStatus)
	w.U32(int64(r.Attempts))
	w.Millis(r.Duration)
	w.U32(int64(r.Bytes))
	w.Time(r.CreatedAt)
	w.Time(r.ExpiresAt)
	w.Time(r.NextAttemptAt)
	w.Time(r.LastAttemptAt)
	w.ID(r.EventID)
	if marks&markBatch != 0 {
		w.ID(r.Batch)
	}
	if marks&markLine != 0 {
		w.U64(uint64(r.Line))
	}
	for _, n := range [...]uint64{uint64(r.Instance), r.EventSeq, r.OutboxSeq, r.ReplayOf, r.Replay} {
		w.Number(n)
	}
	for _, s := range [...]string{r.Lane.Endpoint, r.Name, r.Chat, r.ChatLID, r.URL} {
		w.Text(s)
	}
	w.Name(r.RequestID)
	w.Text(r.LastError)
	w.Text(r.Answer)
	if r.Access != 0 { // records of earlier versions end here
		w.U64(r.Access)
	}
}

func decodeRecord(id uint64, raw []byte) (Record, error) {
	d := layout.Read(raw)
	r := Record{ID: id}
	r.State = readState(d, d.Byte())
	if former := d.Byte(); former != 0 {
		r.Former = readState(d, former)
	}
	marks, tag := d.Byte(), d.Byte()
	r.Once, r.Replayed, r.OwnBody = marks&markOnce != 0, marks&markReplayed != 0, marks&markOwnBody != 0
	r.Event = readKind(d)
	r.LastStatus = d.U16()
	r.Attempts = int(d.U32())
	r.Duration = d.Millis()
	r.Bytes = int(d.U32())
	r.CreatedAt, r.ExpiresAt, r.NextAttemptAt, r.LastAttemptAt = d.Time(), d.Time(), d.Time(), d.Time()
	r.EventID = d.ID()
	if marks&markBatch != 0 {
		r.Batch = d.ID()
	}
	if marks&markLine != 0 {
		r.Line = Line(d.U64())
	}
	if r.Instance = int64(d.Number()); r.Instance < 0 {
		d.Fail(layout.ErrValue)
	}
	r.EventSeq, r.OutboxSeq, r.ReplayOf, r.Replay = d.Number(), d.Number(), d.Number(), d.Number()
	endpoint := d.Text()
	if r.Lane = laneBy(tag, r.Instance, endpoint); !validTag(tag) || len(endpoint) > 255 {
		d.Fail(layout.ErrValue)
	}
	r.Name, r.Chat, r.ChatLID, r.URL = d.Text(), d.Text(), d.Text(), d.Text()
	r.RequestID, r.LastError, r.Answer = d.Name(), d.Text(), d.Text()
	if len(d.Raw) > 0 {
		r.Access = d.U64()
	}
	return r, d.Err
}

func readState(d *layout.Reader, number byte) State {
	s, known := stateOf(number)
	if !known {
		d.Fail(layout.ErrValue)
	}
	return s
}

func readKind(d *layout.Reader) event.Kind {
	k, known := kindOf(d.Byte())
	if !known {
		d.Fail(layout.ErrValue)
	}
	return k
}

func encodeAttempt(a Attempt) []byte {
	w := layout.New(64 + len(a.Error) + len(a.Answer))
	w.U16(a.Status)
	w.Millis(a.Duration)
	w.Time(a.StartedAt)
	w.Name(a.RequestID)
	w.Text(a.Error)
	w.Text(a.Answer)
	return w.Raw
}

func decodeAttempt(number int, raw []byte) (Attempt, error) {
	d := layout.Read(raw)
	a := Attempt{Number: number, Status: d.U16(), Duration: d.Millis(), StartedAt: d.Time(), RequestID: d.Name()}
	a.Error, a.Answer = d.Text(), d.Text()
	return a, d.Err
}

const (
	markFromMe = 1    // of an event
	markHead   = 0x80 // of an addressee's tag: it may be sent at once
)

func encodeEvent(e Event) []byte {
	w := layout.New(256 + len(e.Body))
	w.Byte(kindNumber(e.Kind))
	w.Byte(mark(markFromMe, e.About.FromMe))
	w.ID(e.ID)
	w.Time(e.CreatedAt)
	w.Time(e.ExpiresAt)
	w.Number(uint64(e.Instance))
	w.Number(e.Sequence)
	for _, s := range []string{e.Name, e.OwnerJID, e.About.Chat, e.About.LID} {
		w.Text(s)
	}
	w.Name(e.RequestID)
	w.Number(uint64(len(e.To)))
	if len(e.To) > 0 {
		w.Number(e.First())
	}
	for _, a := range e.To {
		w.Byte(a.Lane.tag() | mark(markHead, a.Head))
		w.Text(a.Lane.Endpoint)
		w.U64(uint64(a.Due.Line))
	}
	w.Raw = append(w.Raw, e.Body...)
	return w.Raw
}

func decodeEvent(seq uint64, raw []byte) (Event, error) {
	d := layout.Read(raw)
	e := Event{Seq: seq, Kind: readKind(d)}
	e.About.FromMe = d.Byte()&markFromMe != 0
	e.ID = d.ID()
	e.CreatedAt, e.ExpiresAt = d.Time(), d.Time()
	if e.Instance = int64(d.Number()); e.Instance < 0 {
		d.Fail(layout.ErrValue)
	}
	e.Sequence = d.Number()
	e.Name, e.OwnerJID, e.About.Chat, e.About.LID = d.Text(), d.Text(), d.Text(), d.Text()
	e.RequestID = d.Name()
	count := d.Number()
	if count > uint64(len(d.Raw)) {
		d.Fail(layout.ErrValue)
	}
	first := uint64(0)
	if count > 0 {
		first = d.Number()
	}
	if d.Err == nil {
		e.To = make([]Addressee, 0, min(count, 16))
	}
	for i := uint64(0); i < count && d.Err == nil; i++ {
		tag, endpoint, line := d.Byte(), d.Text(), Line(d.U64())
		if !validTag(tag&^markHead) || len(endpoint) > 255 {
			d.Fail(layout.ErrValue)
		}
		e.To = append(e.To, Addressee{
			Lane: laneBy(tag&^markHead, e.Instance, endpoint),
			Due:  Due{At: e.CreatedAt, Record: first + i, Line: line},
			Head: tag&markHead != 0,
		})
	}
	if d.Err == nil {
		e.Body = d.Raw
	}
	return e, d.Err
}

// kinds holds each event at its number in the file, [event.Descriptor.Number].
var kinds = func() (all [256]event.Kind) {
	for _, d := range event.Catalogue() {
		all[d.Number] = d.Kind
	}
	return all
}()

// kindNumber returns the number of an event, 0 if there is no such event.
func kindNumber(k event.Kind) byte {
	d, _ := event.Lookup(k)
	return d.Number
}

// kindOf returns the event with a number; known is false if there is none.
func kindOf(number byte) (k event.Kind, known bool) {
	k = kinds[number]
	return k, k != ""
}

// states gives each state its number in the file; 0 is none.
var states = [...]State{"", Pending, Delivered, Failed, Dropped, Expired, Cancelled}

func stateNumber(s State) byte { return byte(max(0, slices.Index(states[:], s))) }

// stateOf returns the state with a number; known is false if there is none.
func stateOf(number byte) (s State, known bool) {
	if number == 0 || int(number) >= len(states) {
		return "", false
	}
	return states[number], true
}
