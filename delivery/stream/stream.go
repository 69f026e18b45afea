package stream

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"

	"postern/delivery/layout"
	"postern/event"
	"postern/store"
)

const bucket = "delivery_stream"

// Buckets returns the bucket of this package.
func Buckets() []store.Bucket {
	return []store.Bucket{
		{Name: bucket, Owner: "delivery/stream", Key: "number", Value: "i: an event of an instance, with its body; b: the sequence of an entry of the outbox", Append: true, Needs: store.References(decodeRow, "")},
	}
}

// Row is one event of the stream.
type Row struct {
	Number uint64
	Outbox uint64 // of a batch event: its entry; 0: the fields below are set

	ID        uuid.UUID
	Kind      event.Kind
	Instance  int64
	CreatedAt time.Time
	ExpiresAt time.Time // in steady time
	Body      []byte    // empty once its instance was deleted
}

const (
	tagInstance = 'i'
	tagBatch    = 'b'
)

func (r Row) encode() []byte {
	if r.Outbox != 0 {
		w := layout.New(16)
		w.Byte(tagBatch)
		w.Number(r.Outbox)
		return w.Raw
	}
	w := layout.New(64 + len(r.Body))
	w.Byte(tagInstance)
	w.ID(r.ID)
	w.Number(uint64(r.Instance)) //nolint:gosec // not negative
	w.Time(r.CreatedAt)
	w.Time(r.ExpiresAt)
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
	switch d.Byte() {
	case tagBatch:
		if r.Outbox = d.Number(); r.Outbox == 0 {
			d.Fail(layout.ErrValue)
		}
	case tagInstance:
		r.ID, r.Instance = d.ID(), int64(d.Number()) //nolint:gosec // as it was written
		r.CreatedAt, r.ExpiresAt = d.Time(), d.Time()
		r.Kind = event.Kind(d.Text())
		r.Body = d.Raw
	default:
		d.Fail(layout.ErrValue)
	}
	return r, d.Err
}

// Add gives an event the next number, as part of this commit. For one of an instance it wakes those who wait for
// Store.Woken; the outbox wakes those who wait for its entries.
func Add(tx *store.Tx, r Row) (err error) {
	if r.Number, err = tx.NextID(bucket); err != nil {
		return err
	}
	if r.Outbox == 0 {
		tx.Wake()
	}
	return tx.Put(bucket, store.Key(r.Number), r.encode())
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

// Trim removes up to limit rows at the beginning whose events are over, and reports whether there may be more.
func Trim(tx *store.Tx, limit int, over func(Row) (bool, error)) (more bool, err error) {
	var gone [][]byte
	err = After(tx, 0, func(r Row) (bool, error) {
		is, err := over(r)
		if is {
			gone = append(gone, store.Key(r.Number))
		}
		return is && len(gone) < limit, err
	})
	for _, k := range gone {
		err = errors.Join(err, tx.Delete(bucket, k))
	}
	return len(gone) == limit, err
}

// Clear removes the bodies of the events of instances that are deleted, of up to limit rows after a number. It
// returns the last row that it looked at, 0 at the end.
func Clear(tx *store.Tx, after uint64, limit int, deleted func(instance int64) bool) (last uint64, err error) {
	var bare []Row
	looked := 0
	err = After(tx, after, func(r Row) (bool, error) {
		looked, last = looked+1, r.Number
		if r.Outbox == 0 && len(r.Body) > 0 && deleted(r.Instance) {
			r.Body = nil
			bare = append(bare, r)
		}
		return looked < limit, nil
	})
	for _, r := range bare {
		err = errors.Join(err, tx.Put(bucket, store.Key(r.Number), r.encode()))
	}
	if looked < limit {
		last = 0
	}
	return last, err
}
