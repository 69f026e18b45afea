package delivery

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"postern/delivery/digest"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// ReasonErased is the reason of a delivery that was cancelled because its event named a person whose data was erased.
const ReasonErased = "ERASED"

// Eraser removes the bodies of an instance's deliveries that name a person. A search and a removal are two calls, so
// that a search makes no commit. Pending deliveries become CANCELLED with ReasonErased; others keep their state.
// Numbers of events keep their place: readers pass over an event without a body.
type Eraser struct {
	Ledger   *Ledger
	Instance int64
	Name     string                 // of the instance
	Names    func(body []byte) bool // reports whether a text names the person
}

// Found is what a search found, and where it continues: 0 at the end.
type Found struct {
	IDs  []uint64
	Next uint64
}

func (f *Found) full(looked, look, limit int) bool { return looked == look || len(f.IDs) == limit }

// Events searches the stored events of the instance from a position on, up to the event upTo. It looks at up to look
// of them and finds up to limit.
func (x *Eraser) Events(tx *store.Tx, from, upTo uint64, look, limit int) (found Found, err error) {
	looked := 0
	err = tx.Scan(positions, store.Range{Prefix: store.Key(x.Instance), From: store.Key(x.Instance, from)}, func(k, v []byte) (bool, error) {
		if len(k) != 16 || len(v) != 8 {
			return true, nil
		}
		if found.full(looked, look, limit) {
			found.Next = binary.BigEndian.Uint64(k[8:])
			return false, nil
		}
		looked++
		seq := binary.BigEndian.Uint64(v)
		if seq > upTo {
			return true, nil
		}
		e, is, err := getEvent(tx, seq)
		if is && x.names(e) {
			found.IDs = append(found.IDs, seq)
		}
		return true, IgnoreDamage(err)
	})
	return found, err
}

func (x *Eraser) names(e Event) bool {
	return !e.Erased() && (x.Names(e.Body) || x.about(e.About.Chat, e.About.LID))
}

func (x *Eraser) about(chat, lid string) bool {
	return chat != "" && x.Names([]byte(chat)) || lid != "" && x.Names([]byte(lid))
}

// Event removes the body of a stored event with the deliveries that have it. n is the number of deliveries that
// lost their body. [Ledger.Freed] must be called with ended after the commit.
func (x *Eraser) Event(tx *store.Tx, seq uint64) (n int, ended []Ended, err error) {
	e, found, err := getEvent(tx, seq)
	if err != nil || !found || e.Instance != x.Instance || !x.names(e) {
		return 0, nil, IgnoreDamage(err)
	}
	ids, err := heldBy(tx, seq)
	for _, a := range e.To {
		ids = append(ids, a.Due.Record)
	}
	bare := e
	bare.Body, bare.About, bare.OwnerJID = nil, event.About{}, ""
	err = errors.Join(err, tx.Put(events, store.Key(seq), encodeEvent(bare)), noteErased(tx, e))
	for _, id := range ids {
		if err != nil {
			return n, ended, err
		}
		var old Record
		if old, found, err = Find(tx, id); err != nil || !found || old.EventSeq != seq {
			err = IgnoreDamage(err)
			continue
		}
		var end Ended
		if end, err = x.erase(tx, old); err == nil {
			n, ended = n+1, append(ended, end)
		}
	}
	return n, ended, err
}

// erase removes the body of a record and what names the chat.
func (x *Eraser) erase(tx *store.Tx, old Record) (Ended, error) {
	return x.Ledger.strip(tx, old, old.erased())
}

// erased returns the record without what names a person. If its delivery is in the memory queue, its end is still to
// come.
func (r Record) erased() Record {
	waits, waitsInMemory := r.Waits(), r.InMemory()
	r.OwnBody, r.EventSeq, r.OutboxSeq = false, 0, 0
	r.Chat, r.ChatLID, r.Answer = "", "", ""
	if waitsInMemory {
		return r
	}
	if waits {
		r.State, r.LastError = Cancelled, ReasonErased
		if r.Former == Delivered {
			r.State = Delivered
		}
	}
	r.Lane = r.Lane.again()
	r.Former, r.NextAttemptAt, r.Line = "", time.Time{}, 0
	return r
}

// Records searches the records of the instance from an id on, up to another, for those with a body of their own, or
// a chat, that names the person.
func (x *Eraser) Records(tx *store.Tx, from, upTo uint64, limit int) (found Found, err error) {
	ids, next, err := x.Ledger.recordsOf(tx, x.Instance, from, limit)
	if err != nil {
		return found, err
	}
	if next != digest.MaxID && next <= upTo {
		found.Next = next
	}
	for _, id := range ids {
		if id > upTo {
			break
		}
		r, is, err := Find(tx, id)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return found, err
		}
		if is && x.namesRecord(tx, r) {
			found.IDs = append(found.IDs, id)
		}
	}
	return found, nil
}

func (x *Eraser) namesRecord(tx *store.Tx, r Record) bool {
	if x.about(r.Chat, r.ChatLID) {
		return true
	}
	if !r.OwnBody {
		return false
	}
	_, body, found, err := ownBody(tx, r.ID)
	return err == nil && found && x.Names(body)
}

// Record removes the body of a record, and the chat that it names.
func (x *Eraser) Record(tx *store.Tx, id uint64) (n int, ended []Ended, err error) {
	old, found, err := Find(tx, id)
	if err != nil || !found || old.Instance != x.Instance || !x.namesRecord(tx, old) {
		return 0, nil, IgnoreDamage(err)
	}
	end, err := x.erase(tx, old)
	return 1, []Ended{end}, err
}

// Entries searches the outbox from a sequence on, up to another, for batch events that name the instance and the
// person.
func (x *Eraser) Entries(tx *store.Tx, from, upTo uint64, look, limit int) (found Found, err error) {
	looked := 0
	err = outbox.Bodies(tx, from, upTo, func(seq uint64, body []byte) bool {
		if found.full(looked, look, limit) {
			found.Next = seq
			return false
		}
		looked++
		if x.namesEntry(body) {
			found.IDs = append(found.IDs, seq)
		}
		return true
	})
	return found, err
}

func (x *Eraser) namesEntry(body []byte) bool { return x.Names(body) && namesInstance(body, x.Name) }

// Entry removes a batch event, with the delivery that waits for it. Its number becomes part of a gap.
func (x *Eraser) Entry(tx *store.Tx, seq uint64) (n int, ended []Ended, err error) {
	e, found, err := outbox.Get(tx, seq)
	if err != nil || !found || !x.namesEntry(e.Body) {
		return 0, nil, IgnoreDamage(err)
	}
	if e.Record != 0 {
		old, is, err := Find(tx, e.Record)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return 0, nil, err
		}
		if is && old.OutboxSeq == seq && !old.ofVersion3() {
			if _, err := x.erase(tx, old); err != nil {
				return 0, nil, err
			}
		}
	}
	return 1, nil, x.Ledger.cfg.Outbox.Erase(tx, e)
}

var erasedPrefix = []byte("erased")

func erasedKey(instance int64) []byte { return store.Key(erasedPrefix, instance) }

// noteErased keeps the highest number of an erased event of an instance: behind it there is no gap to search for.
func noteErased(tx *store.Tx, e Event) error {
	last, err := lastErased(tx, e.Instance)
	if err != nil || e.Sequence <= last {
		return err
	}
	return tx.Put(logs, erasedKey(e.Instance), store.Key(e.Sequence))
}

func lastErased(tx *store.Tx, instance int64) (number uint64, err error) {
	raw, err := tx.Get(logs, erasedKey(instance))
	if len(raw) == 8 {
		number = binary.BigEndian.Uint64(raw)
	}
	return number, IgnoreDamage(err)
}

// ErasedAfter returns up to limit runs of numbers of an instance, after a number, whose events were erased.
func ErasedAfter(tx *store.Tx, instance int64, after uint64, limit int) (runs [][2]uint64, err error) {
	last, err := lastErased(tx, instance)
	if err != nil || last <= after {
		return nil, err
	}
	err = EachAfter(tx, instance, after, func(e Event) bool {
		if e.Sequence > last {
			return false
		}
		if !e.Erased() {
			return true
		}
		if n := len(runs); n > 0 && runs[n-1][1]+1 == e.Sequence {
			runs[n-1][1] = e.Sequence
			return true
		}
		if len(runs) == limit {
			return false
		}
		runs = append(runs, [2]uint64{e.Sequence, e.Sequence})
		return true
	})
	return runs, err
}

// namesInstance reports whether the body of a batch event names an instance.
func namesInstance(body []byte, name string) bool {
	quoted, err := json.Marshal(name)
	return err == nil && bytes.Contains(body, quoted)
}
