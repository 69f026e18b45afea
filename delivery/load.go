package delivery

import (
	"encoding/json"
	"errors"

	"postern/delivery/outbox"
	"postern/store"
)

// Load returns a pending delivery with its event, as far as headers and body need it. If the
// event is not a stored one, Seq is 0 and To is empty. found is false if the delivery is no
// longer pending, or its instance was deleted. If the record or the body cannot be read, the
// error wraps store.ErrDamaged; if the body is gone, it is ErrBodyGone. [Ledger.Lose] ends
// such a delivery.
func (l *Ledger) Load(tx *store.Tx, record uint64) (r Record, e Event, found bool, err error) {
	return l.LoadKnown(tx, record, func(uint64) (e Event, known bool) { return e, false })
}

// LoadKnown is Load without reading an event that the caller already has, identified by its Seq.
func (l *Ledger) LoadKnown(tx *store.Tx, record uint64, known func(seq uint64) (Event, bool)) (r Record, e Event, found bool, err error) {
	r, found, err = Find(tx, record)
	if err != nil || !found || !r.Waits() || tx.Has(forgets, store.Key(r.Instance)) {
		return Record{}, e, false, err
	}
	if e, kept := known(r.EventSeq); kept && e.ID == r.EventID && !r.OwnBody {
		return r, e, true, nil
	}
	e, kept, err := BodyOf(tx, r)
	if err == nil && !kept {
		err = ErrBodyGone
	}
	return r, e, err == nil, err
}

// BodyOf returns the body that a record delivers, from the stored event, the outbox or beside
// the record. kept is false if it is gone.
func BodyOf(tx *store.Tx, r Record) (e Event, kept bool, err error) {
	switch {
	case r.OwnBody:
		e = r.event()
		e.OwnerJID, e.Body, kept, err = ownBody(tx, r.ID)
		return e, kept, err
	case r.EventSeq != 0:
		e, kept, err = getEvent(tx, r.EventSeq)
		return e, kept && !e.Erased() && e.ID == r.EventID, err
	case r.OutboxSeq != 0:
		entry, found, err := outbox.Get(tx, r.OutboxSeq)
		e = r.event()
		e.Body = entry.Body
		return e, found, err
	}
	return e, false, nil
}

// KeepsBody reports whether the body of a record is still in the file.
func KeepsBody(tx *store.Tx, r Record) bool {
	switch {
	case r.OwnBody:
		return tx.Has(bodies, store.Key(r.ID))
	case r.EventSeq != 0:
		return tx.Has(events, store.Key(r.EventSeq))
	case r.OutboxSeq != 0:
		return outbox.Has(tx, r.OutboxSeq)
	}
	return false
}

// event returns what a record holds of its event.
func (r Record) event() Event {
	e := Event{ID: r.EventID, Kind: r.Event, Instance: r.Instance, Name: r.Name, CreatedAt: r.CreatedAt}
	e.About.Chat, e.About.LID = r.Chat, r.ChatLID
	return e
}

func getEvent(tx *store.Tx, seq uint64) (e Event, found bool, err error) {
	raw, err := tx.Get(events, store.Key(seq))
	if err != nil || raw == nil {
		return e, false, err
	}
	e, err = readEvent(tx, seq, raw)
	return e, err == nil, err
}

// readEvent decodes an event. A truncated body counts as damaged even if its checksum
// matches.
func readEvent(tx *store.Tx, seq uint64, raw []byte) (Event, error) {
	e, err := decodeEvent(seq, raw)
	if err == nil && !e.Erased() && !json.Valid(e.Body) {
		err = errNotJSON
	}
	if err != nil {
		return Event{}, tx.Unreadable(events, store.Key(seq), err)
	}
	return e, nil
}

// Lose ends a delivery that cannot be sent, see Load. It cancels the delivery with why as the
// last error or, if its record cannot be read, only removes it from the indexes.
func (l *Ledger) Lose(tx *store.Tx, lane Lane, record uint64, why string) (follows *Due, err error) {
	old, found, err := Find(tx, record)
	switch {
	case errors.Is(err, store.ErrDamaged) || err == nil && !found:
		return l.unindex(tx, place{lane: lane, instance: lane.Instance, record: record})
	case err != nil || !old.Waits():
		return nil, err
	}
	r := old
	r.LastError = cut(why, maxError)
	ended, err := l.end(tx, old, r, Cancelled)
	return ended.Follows, err
}

// unindex removes a delivery whose record cannot be read from the indexes, by their own
// contents.
func (l *Ledger) unindex(tx *store.Tx, p place) (follows *Due, err error) {
	if p.instance != p.lane.Instance {
		if err := tx.Delete(heads, p.shareKey()); err != nil {
			return nil, err
		}
	}
	due, found, err := dueOf(tx, p)
	if err != nil || !found && !tx.Has(heads, p.headKey()) {
		return nil, err
	}
	bucket, key := heads, p.headKey()
	if found {
		bucket, key = dues, p.dueKey(due.At)
	}
	if err := lineOf(tx, bucket, key, &p); err != nil {
		return nil, err
	}
	return l.leave(tx, p, due.At)
}

// dueOf finds the row of a delivery in the due index by a scan from the front.
func dueOf(tx *store.Tx, p place) (due Due, found bool, err error) {
	for {
		rows, err := DueAfter(tx, p.lane, due, 1000)
		if err != nil || len(rows) == 0 {
			return due, false, err
		}
		for _, due = range rows {
			if due.Record == p.record {
				return due, true, nil
			}
		}
	}
}
