package dispatch

import (
	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/store"
)

// entries is the outbox as a lane sees it. A line is a batch.
type entries struct {
	store *store.Store
	box   *outbox.Outbox
	log   *delivery.Ledger // nil: nobody keeps a log
	new   *recent[outbox.Entry]
}

func rowOf(d outbox.Due) row { return row{At: d.At, Seq: d.Seq, Line: d.Batch} }

func (entries) due(tx *store.Tx, after row, limit int) ([]row, error) {
	found, err := outbox.DueAfter(tx, outbox.Due{At: after.At, Seq: after.Seq, Batch: after.Line}, limit)
	rows := make([]row, len(found))
	for i, d := range found {
		rows[i] = rowOf(d)
	}
	return rows, err
}

func (entries) pending(tx *store.Tx, after uint64, limit int) ([]row, error) {
	found, err := outbox.List(tx, outbox.Query{State: outbox.Pending, From: after, Limit: limit})
	return rowsOf(found), err
}

func (entries) lined(tx *store.Tx, batch uuid.UUID, after uint64, limit int) (rows []row, last uint64, more bool, err error) {
	found, err := outbox.List(tx, outbox.Query{Batch: batch, From: after, Limit: limit})
	if len(found) > 0 {
		last = found[len(found)-1].Seq
	}
	return rowsOf(found), last, len(found) == limit, err
}

// rowsOf are the rows of what is pending.
func rowsOf(entries []outbox.Entry) (rows []row) {
	for _, e := range entries {
		if e.State == outbox.Pending {
			rows = append(rows, row{At: e.NextAttemptAt, Seq: e.Seq, Line: e.Batch})
		}
	}
	return rows
}

// load need not read what the tail just did: only the relay itself changes what
// was never attempted.
func (o entries) load(f flight) (p parcel, err error) {
	e, known := o.new.take(f.seq)
	if !known {
		err = o.store.View(func(tx *store.Tx) error {
			e, _, err = o.box.Load(tx, f.seq)
			return err
		})
	}
	if err != nil {
		return parcel{}, err
	}
	return parcel{
		kind: e.Kind, line: e.Batch, pending: e.State == outbox.Pending, due: e.NextAttemptAt, attempts: e.Attempts,
		id: delivery.BatchEventID(e), headers: batchHeaders(e.Kind), body: e.Body,
	}, nil
}

func (o entries) settle(tx *store.Tx, r result) (settled, error) {
	out, seq := r.outcome, r.flight.seq
	s := settled{ended: out.Delivered(), next: r.next}
	if o.log != nil {
		return s, o.log.SettleBatch(tx, seq, r.attempt(), out.Delivered(), r.next)
	}
	if out.Delivered() {
		return s, o.box.Delivered(tx, seq, out.Status)
	}
	return s, o.box.Retry(tx, seq, r.next, out.Status, out.Reason())
}

func (o entries) cutOff(tx *store.Tx, r result) error {
	if o.log == nil {
		return nil
	}
	return o.log.CutOffBatch(tx, r.flight.seq, r.attempt())
}

// lose leaves a damaged entry where it is: nobody can say what it was.
func (entries) lose(flight, error) (*row, error) { return nil, nil }
