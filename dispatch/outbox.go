package dispatch

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/store"
)

// entries is the outbox as a lane uses it. A line is a batch. A row carries the sequence
// of the entry, since the outbox is ordered by the sequences of its batches.
type entries struct {
	store *store.Store
	box   *outbox.Outbox
	log   *delivery.Ledger
	new   *recent[outbox.Entry]
}

func entryRow(d delivery.Due) row {
	return row{At: d.At, Seq: d.OutboxSeq, Line: d.Batch, Record: d.Record}
}

func (entries) due(tx *store.Tx, after row, limit int) ([]row, error) {
	var from delivery.Due
	if after.Record != 0 || !after.At.IsZero() {
		from = delivery.Due{At: after.At, Record: after.Record}
	}
	found, err := delivery.DueAfter(tx, delivery.OutboxLane, from, limit)
	rows := make([]row, len(found))
	for i, d := range found {
		rows[i] = entryRow(d)
	}
	return rows, errors.Join(err, markFirst(tx, rows, func(r row) uint64 { return r.Record }))
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
	for i := 0; i < len(found) && err == nil; i++ {
		found[i], err = delivery.Queued(tx, found[i])
		found[i].NextAttemptAt = dueOf(found[i])
	}
	return rowsOf(found), last, len(found) == limit, err
}

// rowsOf returns the rows of pending entries.
func rowsOf(found []outbox.Entry) (rows []row) {
	for _, e := range found {
		if e.State == outbox.Pending {
			rows = append(rows, row{At: e.NextAttemptAt, Seq: e.Seq, Line: e.Batch, Record: e.Record})
		}
	}
	return rows
}

// dueOf returns when an entry is due: now if no attempt has failed and its time is ahead of
// the clock, see markFirst.
func dueOf(e outbox.Entry) time.Time {
	if now := time.Now(); e.NextAttemptAt.After(now) && !e.NextAttemptAt.After(e.CreatedAt) {
		return now
	}
	return e.NextAttemptAt
}

// load need not read an entry that the tail has just read: only the relay changes entries
// that were never attempted.
func (o entries) load(f flight) (p parcel, err error) {
	e, known := o.new.take(f.seq)
	if !known {
		err = o.store.View(func(tx *store.Tx) error {
			if e, _, err = o.box.Load(tx, f.seq); err == nil {
				e, err = delivery.Queued(tx, e)
			}
			return err
		})
	}
	if err != nil {
		return parcel{}, err
	}
	return parcel{
		kind: e.Kind, line: e.Batch, pending: e.State == outbox.Pending, due: dueOf(e), attempts: e.Attempts,
		id: delivery.BatchEventID(e), headers: batchHeaders(e.Kind), body: e.Body, record: delivery.Record{ID: e.Record},
	}, nil
}

// settle stores an attempt. An entry with an unreadable record gets a new one, so that it
// is not lost.
func (o entries) settle(tx *store.Tx, r result) (settled, error) {
	out := r.outcome
	note := func(record uint64) error {
		_, _, err := o.log.Settle(tx, record, r.attempt(), out.Delivered(), r.next)
		return err
	}
	err := note(r.parcel.record.ID)
	if errors.Is(err, store.ErrDamaged) {
		var record uint64
		if record, err = o.log.Renew(tx, r.flight.seq, r.parcel.record.ID); err == nil && record != 0 {
			err = note(record)
		}
	}
	return settled{ended: out.Delivered(), next: r.next}, err
}

func (o entries) cutOff(tx *store.Tx, r result) error {
	return o.log.CutOff(tx, r.parcel.record.ID, r.attempt())
}

// lose leaves a damaged entry in place: its contents are unknown.
func (entries) lose(flight, error) (*row, error) { return nil, nil }
