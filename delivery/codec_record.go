package delivery

import "postern/event"

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
	w := writer{make([]byte, 0, 320)}
	w.record(&r)
	return w.raw
}

func (w *writer) record(r *Record) {
	marks := r.marks()
	w.byte(layout)
	w.byte(stateNumber(r.State))
	w.byte(stateNumber(r.Former))
	w.byte(marks)
	w.byte(r.Lane.tag())
	w.byte(kindNumber(r.Event))
	w.u16(r.LastStatus)
	w.u32(int64(r.Attempts))
	w.millis(r.Duration)
	w.u32(int64(r.Bytes))
	w.time(r.CreatedAt)
	w.time(r.ExpiresAt)
	w.time(r.NextAttemptAt)
	w.time(r.LastAttemptAt)
	w.id(r.EventID)
	if marks&markBatch != 0 {
		w.id(r.Batch)
	}
	if marks&markLine != 0 {
		w.u64(uint64(r.Line))
	}
	for _, n := range [...]uint64{uint64(r.Instance), r.EventSeq, r.OutboxSeq, r.ReplayOf, r.Replay} {
		w.number(n)
	}
	for _, s := range [...]string{r.Lane.Endpoint, r.Name, r.Chat, r.ChatLID, r.URL} {
		w.text(s)
	}
	w.name(r.RequestID)
	w.text(r.LastError)
	w.text(r.Answer)
	if r.Access != 0 { // records of earlier versions end here
		w.u64(r.Access)
	}
}

func decodeRecord(id uint64, raw []byte) (Record, error) {
	d := read(raw)
	r := Record{ID: id}
	r.State = d.state()
	if former := d.byte(); former != 0 {
		r.Former = d.known(stateOf(former))
	}
	marks, tag := d.byte(), d.byte()
	r.Once, r.Replayed, r.OwnBody = marks&markOnce != 0, marks&markReplayed != 0, marks&markOwnBody != 0
	r.Event = d.kind()
	r.LastStatus = d.u16()
	r.Attempts = int(d.u32())
	r.Duration = d.millis()
	r.Bytes = int(d.u32())
	r.CreatedAt, r.ExpiresAt, r.NextAttemptAt, r.LastAttemptAt = d.time(), d.time(), d.time(), d.time()
	r.EventID = d.id()
	if marks&markBatch != 0 {
		r.Batch = d.id()
	}
	if marks&markLine != 0 {
		r.Line = Line(d.u64())
	}
	if r.Instance = int64(d.number()); r.Instance < 0 {
		d.fail(errValue)
	}
	r.EventSeq, r.OutboxSeq, r.ReplayOf, r.Replay = d.number(), d.number(), d.number(), d.number()
	endpoint := d.text()
	if r.Lane = laneBy(tag, r.Instance, endpoint); !validTag(tag) || len(endpoint) > 255 {
		d.fail(errValue)
	}
	r.Name, r.Chat, r.ChatLID, r.URL = d.text(), d.text(), d.text(), d.text()
	r.RequestID, r.LastError, r.Answer = d.name(), d.text(), d.text()
	if len(d.raw) > 0 {
		r.Access = d.u64()
	}
	return r, d.err
}

func (r *reader) state() State { return r.known(stateOf(r.byte())) }

func (r *reader) known(s State, known bool) State {
	if !known {
		r.fail(errValue)
	}
	return s
}

func (r *reader) kind() event.Kind {
	k, known := kindOf(r.byte())
	if !known {
		r.fail(errValue)
	}
	return k
}

func encodeAttempt(a Attempt) []byte {
	w := &writer{make([]byte, 0, 64+len(a.Error)+len(a.Answer))}
	w.byte(layout)
	w.u16(a.Status)
	w.millis(a.Duration)
	w.time(a.StartedAt)
	w.name(a.RequestID)
	w.text(a.Error)
	w.text(a.Answer)
	return w.raw
}

func decodeAttempt(number int, raw []byte) (Attempt, error) {
	d := read(raw)
	a := Attempt{Number: number, Status: d.u16(), Duration: d.millis(), StartedAt: d.time(), RequestID: d.name()}
	a.Error, a.Answer = d.text(), d.text()
	return a, d.err
}
