package delivery

import "postern/delivery/layout"

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
