package dispatch

import (
	"github.com/google/uuid"

	"postern/delivery"
	"postern/store"
)

// outbox is the store's outbox as a lane sees it. A line is a batch.
type outbox struct {
	store *store.Store
	log   *delivery.Ledger // nil: nobody keeps a log
	new   *recent[store.OutboxEntry]
}

func rowOf(d store.Due) row { return row{At: d.At, Seq: d.Seq, Line: d.Batch} }

func (outbox) due(tx *store.Tx, after row, limit int) ([]row, error) {
	found, err := tx.OutboxDue(store.Due{At: after.At, Seq: after.Seq, Batch: after.Line}, limit)
	rows := make([]row, len(found))
	for i, d := range found {
		rows[i] = rowOf(d)
	}
	return rows, err
}

func (outbox) pending(tx *store.Tx, after uint64, limit int) ([]row, error) {
	entries, err := tx.OutboxList(store.OutboxQuery{State: store.OutboxPending, From: after, Limit: limit})
	return rowsOf(entries), err
}

func (outbox) lined(tx *store.Tx, batch uuid.UUID, after uint64, limit int) (rows []row, last uint64, more bool, err error) {
	entries, err := tx.OutboxList(store.OutboxQuery{Batch: batch, From: after, Limit: limit})
	if len(entries) > 0 {
		last = entries[len(entries)-1].Seq
	}
	return rowsOf(entries), last, len(entries) == limit, err
}

// rowsOf are the rows of what is pending.
func rowsOf(entries []store.OutboxEntry) (rows []row) {
	for _, e := range entries {
		if e.State == store.OutboxPending {
			rows = append(rows, row{At: e.NextAttemptAt, Seq: e.Seq, Line: e.Batch})
		}
	}
	return rows
}

// load need not read what the tail just did: only the relay itself changes what
// was never attempted.
func (o outbox) load(f flight) (p parcel, err error) {
	e, known := o.new.take(f.seq)
	if !known {
		err = o.store.View(func(tx *store.Tx) error {
			e, _, err = tx.Outbox(f.seq)
			return err
		})
	}
	if err != nil {
		return parcel{}, err
	}
	return parcel{
		kind: e.Kind, line: e.Batch, pending: e.State == store.OutboxPending, due: e.NextAttemptAt, attempts: e.Attempts,
		id: delivery.BatchEventID(e), headers: batchHeaders(e.Kind), body: e.Body,
	}, nil
}

func (o outbox) settle(tx *store.Tx, r result) (settled, error) {
	out, seq := r.outcome, r.flight.seq
	s := settled{ended: out.Delivered(), next: r.next}
	if o.log != nil {
		return s, o.log.SettleBatch(tx, seq, r.attempt(), out.Delivered(), r.next)
	}
	if out.Delivered() {
		return s, tx.OutboxDelivered(seq, out.Status)
	}
	return s, tx.OutboxRetry(seq, r.next, out.Status, out.Reason())
}

func (o outbox) cutOff(tx *store.Tx, r result) error {
	if o.log == nil {
		return nil
	}
	return o.log.CutOffBatch(tx, r.flight.seq, r.attempt())
}

// lose leaves a damaged entry where it is: nobody can say what it was.
func (outbox) lose(flight, error) (*row, error) { return nil, nil }
