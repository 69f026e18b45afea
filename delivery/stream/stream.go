package stream

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"

	"postern/delivery/layout"
	"postern/event"
	"postern/store"
	"postern/store/schema"
)

const bucket = "delivery_stream"

// Buckets returns the bucket of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: bucket, Owner: "delivery/stream", Key: "number", Value: "i: an event of an instance, with its body; b: the sequence of an entry of the outbox, its owner and number", Append: true, Needs: schema.References(decodeRow, "")},
	}
}

// Row is one event of the stream.
type Row struct {
	Number uint64
	// ExpiresAt is when an event of an instance expires, in steady time. No row before has a later one. A row of a
	// batch event has that of the row before.
	ExpiresAt time.Time

	Outbox   uint64    // of a batch event: its entry; 0: it is an event of an instance
	Owner    uuid.UUID // of a batch event: whose it is
	OwnerSeq uint64    // of a batch event: its number among those of the owner

	ID        uuid.UUID
	Kind      event.Kind
	Instance  int64
	CreatedAt time.Time
	Body      []byte // empty once its instance was deleted
}

const (
	tagInstance = 'i'
	tagBatch    = 'b'
)

func (r Row) encode() []byte {
	w := layout.New(64 + len(r.Body))
	if r.Outbox != 0 {
		w.Byte(tagBatch)
		w.Time(r.ExpiresAt)
		w.Number(r.Outbox)
		w.ID(r.Owner)
		w.Number(r.OwnerSeq)
		return w.Raw
	}
	w.Byte(tagInstance)
	w.Time(r.ExpiresAt)
	w.ID(r.ID)
	w.Number(uint64(r.Instance)) //nolint:gosec // not negative
	w.Time(r.CreatedAt)
	w.Text(string(r.Kind))
	w.Raw = append(w.Raw, r.Body...)
	return w.Raw
}

func decodeRow(key, raw []byte) (r Row, err error) {
	d := layout.Read(raw)
	if len(key) != 8 {
		d.Fail(layout.ErrValue)
		return r, d.Err
	}
	r.Number = binary.BigEndian.Uint64(key)
	tag := d.Byte()
	r.ExpiresAt = d.Time()
	switch tag {
	case tagBatch:
		r.Outbox, r.Owner, r.OwnerSeq = d.Number(), d.ID(), d.Number()
		if r.Outbox == 0 || len(d.Raw) > 0 {
			d.Fail(layout.ErrValue)
		}
	case tagInstance:
		r.ID, r.Instance = d.ID(), int64(d.Number()) //nolint:gosec // as it was written
		r.CreatedAt = d.Time()
		r.Kind = event.Kind(d.Text())
		r.Body = d.Raw
	default:
		d.Fail(layout.ErrValue)
	}
	return r, d.Err
}

// Add gives an event the next number, as part of this commit. An event of an instance is kept until its ExpiresAt, and
// at least as long as those before it. Add wakes those who wait for Store.Woken for it; the outbox wakes those who wait
// for its entries.
func Add(tx *store.Tx, r Row) error {
	last, err := newest(tx)
	if err != nil {
		return err
	}
	if r.Outbox != 0 || r.ExpiresAt.Before(last.ExpiresAt) {
		r.ExpiresAt = last.ExpiresAt
	}
	if r.Number, err = tx.NextID(bucket); err != nil {
		return err
	}
	if r.Outbox == 0 {
		tx.Wake()
	}
	return tx.Put(bucket, store.Key(r.Number), r.encode())
}

// newest returns the newest row; the zero Row if there is none, or it cannot be read.
func newest(tx *store.Tx) (r Row, err error) {
	number, err := tx.LastID(bucket)
	if err != nil {
		return r, err
	}
	raw, err := tx.Get(bucket, store.Key(number))
	if err == nil && raw != nil {
		r, err = decodeRow(store.Key(number), raw)
		if err != nil {
			err = tx.Unreadable(bucket, store.Key(number), err)
		}
	}
	if errors.Is(err, store.ErrDamaged) {
		return Row{}, nil
	}
	return r, err
}

// Newest returns the number of the newest event, 0 if there never was one.
func Newest(tx *store.Tx) (uint64, error) { return tx.LastID(bucket) }

// After calls fn with the rows after a number, until it returns false.
func After(tx *store.Tx, number uint64, fn func(Row) (bool, error)) error {
	return tx.Scan(bucket, store.Range{From: store.Key(number + 1)}, func(k, v []byte) (bool, error) {
		r, err := decodeRow(k, v)
		if err != nil {
			return true, tx.Unreadable(bucket, k, err)
		}
		return fn(r)
	})
}

// Bodies calls fn with the instance and the body of each event of an instance from a number on, up to another, until
// it returns false. A body lies in the file: fn may not keep it.
func Bodies(tx *store.Tx, from, upTo uint64, fn func(number uint64, instance int64, body []byte) bool) error {
	return tx.Look(bucket, store.Range{From: store.Key(from), Before: store.Key(upTo + 1)}, func(k, v []byte) (bool, error) {
		r, err := decodeRow(k, v)
		if err != nil || r.Outbox != 0 {
			return true, nil //nolint:nilerr // its readers report the damage
		}
		return fn(r.Number, r.Instance, r.Body), nil
	})
}

// Remove removes rows.
func Remove(tx *store.Tx, numbers []uint64) (err error) {
	for _, n := range numbers {
		err = errors.Join(err, tx.Delete(bucket, store.Key(n)))
	}
	return err
}

// Clear removes the bodies of rows.
func Clear(tx *store.Tx, numbers []uint64) error {
	for _, n := range numbers {
		raw, err := tx.Get(bucket, store.Key(n))
		if errors.Is(err, store.ErrDamaged) || err == nil && raw == nil {
			continue
		}
		if err != nil {
			return err
		}
		r, err := decodeRow(store.Key(n), raw)
		if err != nil || r.Outbox != 0 {
			continue
		}
		r.Body = nil
		if err := tx.Put(bucket, store.Key(n), r.encode()); err != nil {
			return err
		}
	}
	return nil
}

// Filled returns the entry of the outbox up to which all have a row; all is set if there can be none without one. A
// file of an earlier version has no rows.
func Filled(tx *store.Tx) (upTo uint64, all bool, err error) {
	err = tx.Scan(bucket, store.Range{Reverse: true, Limit: 1}, func(k, v []byte) (bool, error) {
		r, err := decodeRow(k, v)
		upTo, all = r.Outbox, err != nil || r.Outbox == 0
		return false, nil
	})
	return upTo, all, err
}
