package delivery

const (
	markFromMe = 1    // of an event
	markHead   = 0x80 // of an addressee's tag: it may be sent at once
)

func encodeEvent(e Event) []byte {
	w := &writer{make([]byte, 0, 256+len(e.Body))}
	w.byte(layout)
	w.byte(kindNumber(e.Kind))
	w.byte(mark(markFromMe, e.About.FromMe))
	w.id(e.ID)
	w.time(e.CreatedAt)
	w.time(e.ExpiresAt)
	w.number(uint64(e.Instance))
	w.number(e.Sequence)
	for _, s := range []string{e.Name, e.OwnerJID, e.About.Chat, e.About.LID} {
		w.text(s)
	}
	w.name(e.RequestID)
	w.number(uint64(len(e.To)))
	if len(e.To) > 0 {
		w.number(e.First())
	}
	for _, a := range e.To {
		w.byte(a.Lane.tag() | mark(markHead, a.Head))
		w.text(a.Lane.Endpoint)
		w.u64(uint64(a.Due.Line))
	}
	w.raw = append(w.raw, e.Body...)
	return w.raw
}

func decodeEvent(seq uint64, raw []byte) (Event, error) {
	d := read(raw)
	e := Event{Seq: seq, Kind: d.kind()}
	e.About.FromMe = d.byte()&markFromMe != 0
	e.ID = d.id()
	e.CreatedAt, e.ExpiresAt = d.time(), d.time()
	if e.Instance = int64(d.number()); e.Instance < 0 {
		d.fail(errValue)
	}
	e.Sequence = d.number()
	e.Name, e.OwnerJID, e.About.Chat, e.About.LID = d.text(), d.text(), d.text(), d.text()
	e.RequestID = d.name()
	count := d.number()
	if count > uint64(len(d.raw)) {
		d.fail(errShort)
	}
	first := uint64(0)
	if count > 0 {
		first = d.number()
	}
	if d.err == nil {
		e.To = make([]Addressee, 0, min(count, 16))
	}
	for i := uint64(0); i < count && d.err == nil; i++ {
		tag, endpoint, line := d.byte(), d.text(), Line(d.u64())
		if !validTag(tag&^markHead) || len(endpoint) > 255 {
			d.fail(errValue)
		}
		e.To = append(e.To, Addressee{
			Lane: laneBy(tag&^markHead, e.Instance, endpoint),
			Due:  Due{At: e.CreatedAt, Record: first + i, Line: line},
			Head: tag&markHead != 0,
		})
	}
	if d.err == nil {
		e.Body = d.raw
	}
	return e, d.err
}
