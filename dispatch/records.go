package dispatch

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// records is one lane of package delivery. The indexes that it reads do not contain
// records that wait for others of their line, so each record is a line of its own.
type records struct {
	store *store.Store
	log   *delivery.Ledger
	lane  delivery.Lane
	new   *recent[delivery.Event]
}

// recordRow returns the row of a record.
func recordRow(d delivery.Due) row {
	r := row{At: d.At, Seq: d.Record, Once: d.Once}
	binary.BigEndian.PutUint64(r.Line[8:], d.Record)
	return r
}

func recordRows(found []delivery.Due) []row {
	rows := make([]row, len(found))
	for i, d := range found {
		rows[i] = recordRow(d)
	}
	return rows
}

func (r records) due(tx *store.Tx, after row, limit int) ([]row, error) {
	var from delivery.Due
	if after.Seq != 0 || !after.At.IsZero() {
		from = delivery.Due{At: after.At, Record: after.Seq}
	}
	found, err := delivery.DueAfter(tx, r.lane, from, limit)
	rows := recordRows(found)
	return rows, errors.Join(err, markFirst(tx, rows, func(r row) uint64 { return r.Seq }))
}

func (r records) pending(tx *store.Tx, after uint64, limit int) ([]row, error) {
	found, err := delivery.PendingAfter(tx, r.lane, after, limit)
	return recordRows(found), err
}

// lined finds nothing: the line of a record holds no other.
func (records) lined(*store.Tx, uuid.UUID, uint64, int) (rows []row, last uint64, more bool, err error) {
	return nil, 0, false, nil
}

func (r records) load(f flight) (p parcel, err error) {
	var rec delivery.Record
	var e delivery.Event
	var found bool
	err = r.store.View(func(tx *store.Tx) error {
		rec, e, found, err = r.log.LoadKnown(tx, f.seq, r.new.get)
		return err
	})
	if err != nil || !found {
		return parcel{}, err
	}
	if e.Seq != 0 {
		r.new.put(e.Seq, e, len(e.Body)) // other lanes may be about to send it too
	}
	p = parcel{
		kind: e.Kind, line: f.line.batch, pending: true, due: rec.NextAttemptAt, expires: rec.ExpiresAt, attempts: rec.Attempts,
		id: rec.EventID, body: e.Body, inLine: rec.Line != 0, record: rec,
	}
	if rec.Once {
		p.due = time.Time{}
	}
	p.named = rec.Lane.Flow == delivery.FlowInstance && !rec.Once // it was made as a durable one
	if rec.Lane.Flow == delivery.FlowBatch {
		p.headers = batchHeaders(e.Kind)
		return p, nil
	}
	n := event.Notice{Kind: e.Kind, InstanceID: e.Instance, InstanceName: e.Name, OwnerJID: e.OwnerJID}
	if rec.Attempts == 0 {
		n.RequestID = rec.RequestID // of the call that caused it, for the first attempt
	}
	p.headers = instanceHeaders(n)
	return p, nil
}

func (r records) settle(tx *store.Tx, res result) (settled, error) {
	follows, rec, err := r.log.Settle(tx, res.flight.seq, res.attempt(), res.outcome.Delivered(), res.next)
	if errors.Is(err, store.ErrDamaged) {
		// The attempt cannot be stored, nor the delivery sent again; the one behind it
		// may leave.
		follows, err = r.log.Lose(tx, r.lane, res.flight.seq, unreadableWords)
		rec = delivery.Record{}
	}
	s := settled{ended: rec.ID == 0 || rec.State != delivery.Pending, state: string(rec.State), next: rec.NextAttemptAt}
	if follows != nil {
		next := recordRow(*follows)
		s.follows = &next
	}
	return s, err
}

func (r records) cutOff(tx *store.Tx, res result) error {
	return r.log.CutOff(tx, res.flight.seq, res.attempt())
}

// unreadableWords is the reason of a delivery whose record or event is damaged.
const unreadableWords = "the event cannot be read any more"

// errChanged: a credential does not belong to the current destination.
var errChanged = errors.New("the destination is another than the one that it was made for")

// lose cancels a delivery that cannot be sent, so that it does not block others.
func (r records) lose(f flight, why error) (follows *row, err error) {
	end := func(tx *store.Tx) (*delivery.Due, error) { return r.log.Lose(tx, r.lane, f.seq, unreadableWords) }
	switch {
	case errors.Is(why, delivery.ErrBodyGone):
		end = func(tx *store.Tx) (*delivery.Due, error) {
			return r.log.Lose(tx, r.lane, f.seq, delivery.ErrBodyGone.Error())
		}
	case errors.Is(why, errChanged):
		end = func(tx *store.Tx) (*delivery.Due, error) { return r.log.WithholdPending(tx, f.seq) }
	}
	err = r.store.Update(context.Background(), func(tx *store.Tx) error {
		next, err := end(tx)
		follows = nil
		if next != nil {
			row := recordRow(*next)
			follows = &row
		}
		return err
	})
	return follows, err
}
