package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// The outbox's buckets. An entry is written once and never changed; what
// happens to it is a small record beside it, so that an acknowledgement does
// not rewrite the event.
const (
	outboxEntries = "outbox"
	outboxStates  = "outbox_state"
	outboxDue     = "outbox_due"
	outboxOwner   = "outbox_owner"
	outboxReplay  = "outbox_replay"
	outboxBatch   = "outbox_batch"
)

func outboxBuckets() []Bucket {
	return []Bucket{
		{Name: outboxEntries, Owner: "store", Key: "sequence", Value: "event kind, owner, batch, owner sequence, time, body", Append: true},
		{Name: outboxStates, Owner: "store", Key: "sequence", Value: "JSON: state, attempts, last outcome; absent until the first attempt", Append: true},
		{Name: outboxDue, Owner: "store", Key: "due time + sequence", Value: "batch; absent when delivered or disabled", Append: true},
		{Name: outboxOwner, Owner: "store", Key: "owner", Value: "the owner's newest sequence"},
		{Name: outboxReplay, Owner: "store", Key: "owner + owner sequence", Value: "sequence"},
		{Name: outboxBatch, Owner: "store", Key: "batch + sequence", Value: "nothing"},
	}
}

// OutboxState tells what is to become of an entry.
type OutboxState string

// The states of an outbox entry.
const (
	OutboxPending   OutboxState = "pending"   // to be delivered
	OutboxDelivered OutboxState = "delivered" // a receiver answered 2xx
	OutboxDisabled  OutboxState = "disabled"  // made while no webhook was configured; kept for replay only
)

// Emission is a batch event to be emitted.
type Emission struct {
	Kind  event.Kind
	Owner uuid.UUID
	Batch uuid.UUID
	Data  any // the payload; marshalled at once
}

// OutboxEntry is one event of the outbox and what happened to it.
type OutboxEntry struct {
	Seq       uint64 // in commit order, over all owners
	Kind      event.Kind
	Owner     uuid.UUID
	Batch     uuid.UUID
	OwnerSeq  uint64 // from 1, per owner, without holes
	CreatedAt time.Time
	Body      []byte // final JSON of the envelope

	State         OutboxState
	Attempts      int
	LastStatus    int    // HTTP status of the last attempt, 0 when there was no answer
	LastError     string // why the last attempt failed
	NextAttemptAt time.Time
	DeliveredAt   time.Time
}

// outboxStatus is the record in outbox_state.
type outboxStatus struct {
	State     OutboxState `json:"state"`
	Attempts  int         `json:"attempts"`
	Status    int         `json:"status,omitempty"`
	Error     string      `json:"error,omitempty"`
	Next      int64       `json:"next,omitempty"` // Unix milliseconds
	Delivered int64       `json:"delivered,omitempty"`
}

// Due is one row of the due index.
type Due struct {
	At    time.Time
	Seq   uint64
	Batch uuid.UUID
}

// Emit appends an event to the outbox as part of this commit. Its envelope's
// timestamp is tx.Now, its bytes are final. It is due at once.
func (tx *Tx) Emit(e Emission) error {
	body, err := event.MarshalBatch(e.Kind, e.Data, tx.now)
	if err != nil {
		return err
	}
	seq, err := tx.NextID(outboxEntries)
	if err != nil {
		return err
	}
	ownerSeq, err := tx.nextOwnerSeq(e.Owner)
	if err != nil {
		return err
	}
	tx.emitted = true
	entry := OutboxEntry{
		Seq: seq, Kind: e.Kind, Owner: e.Owner, Batch: e.Batch, OwnerSeq: ownerSeq,
		CreatedAt: tx.now, Body: body, State: OutboxPending,
	}
	if tx.disable {
		entry.State = OutboxDisabled
	}
	return tx.putEntry(entry)
}

func (tx *Tx) putEntry(e OutboxEntry) error {
	err := errors.Join(
		tx.Put(outboxEntries, Key(e.Seq), encodeEntry(e)),
		tx.Put(outboxReplay, Key(e.Owner, e.OwnerSeq), Key(e.Seq)),
		tx.Put(outboxBatch, Key(e.Batch, e.Seq), nil),
	)
	if e.State == OutboxPending {
		tx.pending++
		err = errors.Join(err, tx.Put(outboxDue, dueKey(e.CreatedAt, e.Seq), e.Batch[:]))
	}
	return err
}

func (tx *Tx) nextOwnerSeq(owner uuid.UUID) (uint64, error) {
	newest, err := tx.OutboxOwnerNewest(owner)
	if err != nil {
		return 0, err
	}
	return newest + 1, tx.Put(outboxOwner, Key(owner), Key(newest+1))
}

// OutboxOwnerNewest returns the sequence of the owner's newest event, 0 when
// there never was one.
func (tx *Tx) OutboxOwnerNewest(owner uuid.UUID) (uint64, error) {
	raw, err := tx.Get(outboxOwner, Key(owner))
	if err != nil || len(raw) != 8 {
		return 0, err
	}
	return binary.BigEndian.Uint64(raw), nil
}

// OutboxNewest returns the sequence of the newest entry, 0 when there never
// was one.
func (tx *Tx) OutboxNewest() uint64 {
	b, err := tx.bucket(outboxEntries)
	if err != nil {
		return 0
	}
	return b.Sequence()
}

// Outbox returns one entry; found is false when it does not exist, or no
// longer does.
func (tx *Tx) Outbox(seq uint64) (e OutboxEntry, found bool, err error) {
	raw, err := tx.Get(outboxEntries, Key(seq))
	if err != nil || raw == nil {
		return e, false, err
	}
	e, err = tx.entry(seq, raw)
	return e, err == nil, err
}

// OutboxAfter returns up to limit entries with a sequence greater than seq, in
// order.
func (tx *Tx) OutboxAfter(seq uint64, limit int) ([]OutboxEntry, error) {
	var entries []OutboxEntry
	err := tx.Scan(outboxEntries, Range{From: Key(seq + 1), Limit: limit}, func(k, v []byte) (bool, error) {
		e, err := tx.entry(binary.BigEndian.Uint64(k), v)
		if errors.Is(err, ErrDamaged) {
			tx.damage(outboxEntries, k)
			return true, nil
		}
		entries = append(entries, e)
		return true, err
	})
	return entries, err
}

// OutboxReplay returns up to limit entries of one owner with an owner sequence
// greater than after, in order.
func (tx *Tx) OutboxReplay(owner uuid.UUID, after uint64, limit int) ([]OutboxEntry, error) {
	return tx.entriesBy(outboxReplay, Range{Prefix: owner[:], From: Key(owner, after+1), Limit: limit},
		func(_, v []byte) uint64 { return binary.BigEndian.Uint64(v) })
}

// OutboxOfBatch returns up to limit entries of one batch with a sequence
// greater than after, in order.
func (tx *Tx) OutboxOfBatch(batch uuid.UUID, after uint64, limit int) ([]OutboxEntry, error) {
	return tx.entriesBy(outboxBatch, Range{Prefix: batch[:], From: Key(batch, after+1), Limit: limit},
		func(k, _ []byte) uint64 { return binary.BigEndian.Uint64(k[16:]) })
}

// entriesBy reads the entries that an index points to.
func (tx *Tx) entriesBy(index string, r Range, seq func(k, v []byte) uint64) ([]OutboxEntry, error) {
	var entries []OutboxEntry
	err := tx.Scan(index, r, func(k, v []byte) (bool, error) {
		e, found, err := tx.Outbox(seq(k, v))
		if errors.Is(err, ErrDamaged) {
			return true, nil
		}
		if found {
			entries = append(entries, e)
		}
		return true, err
	})
	return entries, err
}

// OutboxDue returns up to limit rows of the due index in order of time and
// sequence, beginning after the given row; the zero Due begins at the front.
// Rows whose time is yet to come are included.
func (tx *Tx) OutboxDue(after Due, limit int) ([]Due, error) {
	r := Range{Limit: limit}
	if after != (Due{}) {
		r.From = dueKey(after.At, after.Seq+1)
	}
	var rows []Due
	err := tx.Scan(outboxDue, r, func(k, v []byte) (bool, error) {
		row := Due{At: time.UnixMilli(int64(binary.BigEndian.Uint64(k))).UTC(), Seq: binary.BigEndian.Uint64(k[8:])}
		copy(row.Batch[:], v)
		rows = append(rows, row)
		return true, nil
	})
	return rows, err
}

// OutboxDelivered notes that the entry was accepted with the given status and
// takes it out of the due index. A missing entry is no error.
func (tx *Tx) OutboxDelivered(seq uint64, status int) error {
	return tx.settle(seq, func(e OutboxEntry) outboxStatus {
		return outboxStatus{State: OutboxDelivered, Attempts: e.Attempts + 1, Status: status, Delivered: tx.now.UnixMilli()}
	})
}

// OutboxRetry notes a failed attempt and moves the entry to the given time in
// the due index. A missing entry is no error.
func (tx *Tx) OutboxRetry(seq uint64, at time.Time, status int, reason string) error {
	return tx.settle(seq, func(e OutboxEntry) outboxStatus {
		return outboxStatus{State: OutboxPending, Attempts: e.Attempts + 1, Status: status, Error: reason, Next: at.UnixMilli()}
	})
}

// OutboxReschedule moves a pending entry to another time without counting an
// attempt. Entries in other states and missing ones stay as they are.
func (tx *Tx) OutboxReschedule(seq uint64, at time.Time) error {
	return tx.settle(seq, func(e OutboxEntry) outboxStatus {
		return outboxStatus{State: OutboxPending, Attempts: e.Attempts, Status: e.LastStatus, Error: e.LastError, Next: at.UnixMilli()}
	})
}

// settle replaces the status of a pending entry and keeps the due index equal
// to it.
func (tx *Tx) settle(seq uint64, change func(OutboxEntry) outboxStatus) error {
	e, found, err := tx.Outbox(seq)
	if err != nil || !found || e.State != OutboxPending {
		return err
	}
	status := change(e)
	err = errors.Join(
		tx.Delete(outboxDue, dueKey(e.NextAttemptAt, seq)),
		PutJSON(tx, outboxStates, Key(seq), status),
	)
	if status.State != OutboxPending {
		tx.pending--
	} else {
		err = errors.Join(err, tx.Put(outboxDue, dueKey(time.UnixMilli(status.Next), seq), e.Batch[:]))
	}
	return err
}

// OutboxPrune looks at up to limit entries after the given sequence and
// removes those that were delivered, or made as disabled, before the given
// time. It returns the sequence to go on with, 0 after the last entry.
func (tx *Tx) OutboxPrune(after uint64, before time.Time, limit int) (next uint64, removed int, err error) {
	entries, err := tx.OutboxAfter(after, limit)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		next = e.Seq
		done := e.State == OutboxDelivered && e.DeliveredAt.Before(before) ||
			e.State == OutboxDisabled && e.CreatedAt.Before(before)
		if !done {
			continue
		}
		removed++
		err := errors.Join(
			tx.Delete(outboxEntries, Key(e.Seq)),
			tx.Delete(outboxStates, Key(e.Seq)),
			tx.Delete(outboxReplay, Key(e.Owner, e.OwnerSeq)),
			tx.Delete(outboxBatch, Key(e.Batch, e.Seq)),
		)
		if err != nil {
			return 0, 0, err
		}
	}
	if len(entries) < limit {
		next = 0
	}
	return next, removed, nil
}

func dueKey(at time.Time, seq uint64) []byte { return Key(uint64(max(0, at.UnixMilli())), seq) }

// entry joins an encoded entry with its status record.
func (tx *Tx) entry(seq uint64, raw []byte) (OutboxEntry, error) {
	e, err := decodeEntry(seq, raw)
	if err != nil {
		return e, err
	}
	status, found, err := GetJSON[outboxStatus](tx, outboxStates, Key(seq))
	if err != nil && !errors.Is(err, ErrDamaged) {
		return e, err
	}
	if e.State == OutboxPending {
		e.NextAttemptAt = e.CreatedAt
	}
	if !found {
		return e, nil
	}
	e.State, e.Attempts, e.LastStatus, e.LastError = status.State, status.Attempts, status.Status, status.Error
	e.NextAttemptAt, e.DeliveredAt = fromMilli(status.Next), fromMilli(status.Delivered)
	return e, nil
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Layout of an entry: kind length, kind, owner, batch, owner sequence, time in
// Unix milliseconds, 1 when disabled, body.
func encodeEntry(e OutboxEntry) []byte {
	disabled := byte(0)
	if e.State == OutboxDisabled {
		disabled = 1
	}
	return Key(byte(len(e.Kind)), string(e.Kind), e.Owner, e.Batch, e.OwnerSeq, e.CreatedAt.UnixMilli(), disabled, e.Body)
}

func decodeEntry(seq uint64, raw []byte) (OutboxEntry, error) {
	const fixed = 16 + 16 + 8 + 8 + 1
	if len(raw) < 1 || len(raw) < 1+int(raw[0])+fixed {
		return OutboxEntry{}, fmt.Errorf("store: outbox entry %d is too short: %w", seq, ErrDamaged)
	}
	n := 1 + int(raw[0])
	e := OutboxEntry{Seq: seq, Kind: event.Kind(raw[1:n]), State: OutboxPending}
	rest := raw[n:]
	copy(e.Owner[:], rest[:16])
	copy(e.Batch[:], rest[16:32])
	e.OwnerSeq = binary.BigEndian.Uint64(rest[32:])
	e.CreatedAt = fromMilli(int64(binary.BigEndian.Uint64(rest[40:])))
	if rest[48] == 1 {
		e.State = OutboxDisabled
	}
	e.Body = rest[fixed:]
	return e, nil
}
