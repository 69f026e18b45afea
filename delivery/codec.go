package delivery

import (
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
