package store

import (
	"encoding/binary"
	"encoding/json"
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
	outboxForget  = "outbox_forget"
	outboxGap     = "outbox_gap"
)

func outboxBuckets() []Bucket {
	return []Bucket{
		{Name: outboxEntries, Owner: "store", Key: "sequence", Value: "event kind, owner, batch, owner sequence, time, body", Append: true, Guards: true, When: entryMade, Needs: func(l *Lookup) Needs { return outboxNeeds{l}.ofEntry }},
		{Name: outboxStates, Owner: "store", Key: "state + sequence", Value: "attempts, last outcome; empty until the first attempt", Append: true, Needs: func(l *Lookup) Needs { return outboxNeeds{l}.ofState }},
		{Name: outboxDue, Owner: "store", Key: "due time + sequence", Value: "batch; absent when delivered or disabled", Append: true, Needs: func(l *Lookup) Needs { return outboxNeeds{l}.ofDue }},
		{Name: outboxOwner, Owner: "store", Key: "owner", Value: "the owner's newest sequence"},
		{Name: outboxReplay, Owner: "store", Key: "owner + owner sequence", Value: "sequence", Fill: 0.75, Needs: func(l *Lookup) Needs { return outboxNeeds{l}.ofReplay }},
		{Name: outboxBatch, Owner: "store", Key: "batch + sequence", Value: "nothing", Needs: func(l *Lookup) Needs { return outboxNeeds{l}.ofBatch }},
		{Name: outboxForget, Owner: "store", Key: "s or f + batch", Value: "nothing; a batch that was removed: its finished entries are to be swept, its pending ones go when they are delivered"},
		{Name: outboxGap, Owner: "store", Key: "owner + last owner sequence of a gap", Value: "its first"},
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
	Record    uint64 // what Store.OnEmit's function gave it, 0 when nothing

	State         OutboxState
	Attempts      int
	LastStatus    int    // HTTP status of the last attempt, 0 when there was no answer
	LastError     string // why the last attempt failed
	NextAttemptAt time.Time
	DeliveredAt   time.Time
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
	} else if tx.emits != nil {
		if entry.Record, err = tx.emits(tx, entry); err != nil {
			return fmt.Errorf("store: record of outbox entry %d: %w", seq, err)
		}
	}
	return tx.putEntry(entry)
}

// OutboxRecorded gives an entry that was made without one its Record. A missing
// entry is no error.
func (tx *Tx) OutboxRecorded(seq, record uint64) error {
	e, found, err := tx.Outbox(seq)
	if err != nil || !found {
		return err
	}
	e.Record = record
	if e.State != OutboxDisabled {
		e.State = OutboxPending // as it was made; the status lies beside it
	}
	return tx.Put(outboxEntries, Key(seq), encodeEntry(e))
}

func (tx *Tx) putEntry(e OutboxEntry) error {
	err := errors.Join(
		tx.Put(outboxEntries, Key(e.Seq), encodeEntry(e)),
		tx.Put(outboxReplay, Key(e.Owner, e.OwnerSeq), Key(e.Seq)),
		tx.Put(outboxBatch, Key(e.Batch, e.Seq), nil),
		tx.Put(outboxStates, stateKey(e.State, e.Seq), nil),
	)
	tx.counts.add(e.State, 1)
	if e.State == OutboxPending {
		err = errors.Join(err, tx.Put(outboxDue, dueKey(e.CreatedAt, e.Seq), e.Batch[:]))
	}
	return err
}

// nextOwnerSeq gives the owner's next number. When the newest one cannot be
// read, it goes on where all owners together are: no number is given twice.
func (tx *Tx) nextOwnerSeq(owner uuid.UUID) (uint64, error) {
	newest, err := tx.OutboxOwnerNewest(owner)
	switch {
	case errors.Is(err, ErrDamaged):
		newest = tx.OutboxNewest()
	case err != nil:
		return 0, err
	}
	tx.newest()[owner] = newest + 1
	return newest + 1, nil
}

// OutboxOwnerNewest returns the sequence of the owner's newest event, 0 when
// there never was one.
func (tx *Tx) OutboxOwnerNewest(owner uuid.UUID) (uint64, error) {
	if n, known := tx.Shared(newestKey{}, nil).(newestOf); known && n[owner] > 0 {
		return n[owner], nil
	}
	raw, err := tx.Get(outboxOwner, Key(owner))
	switch {
	case err != nil || raw == nil:
		return 0, err
	case len(raw) != 8:
		return 0, tx.Unreadable(outboxOwner, Key(owner), errors.New("no sequence"))
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
	e, err = tx.whole(seq, raw)
	return e, err == nil, err
}

// OutboxAfter returns up to limit entries with a sequence greater than seq, in
// order.
func (tx *Tx) OutboxAfter(seq uint64, limit int) ([]OutboxEntry, error) {
	var entries []OutboxEntry
	err := tx.Scan(outboxEntries, Range{From: Key(seq + 1), Limit: limit}, func(k, v []byte) (bool, error) {
		e, err := tx.whole(binary.BigEndian.Uint64(k), v)
		if err != nil {
			return true, err
		}
		entries = append(entries, e)
		return true, nil
	})
	return entries, err
}

// OutboxReplay returns up to limit entries of one owner with an owner sequence
// greater than after, in order.
func (tx *Tx) OutboxReplay(owner uuid.UUID, after uint64, limit int) ([]OutboxEntry, error) {
	return tx.entriesBy(outboxReplay, Range{Prefix: owner[:], From: Key(owner, after+1), Limit: limit},
		func(_, v []byte) []byte { return v })
}

// OutboxOfBatch returns up to limit entries of one batch with a sequence
// greater than after, in order.
func (tx *Tx) OutboxOfBatch(batch uuid.UUID, after uint64, limit int) ([]OutboxEntry, error) {
	return tx.entriesBy(outboxBatch, Range{Prefix: batch[:], From: Key(batch, after+1), Limit: limit},
		func(k, _ []byte) []byte { return k[16:] })
}

// entriesBy reads the entries that an index points to.
func (tx *Tx) entriesBy(index string, r Range, seq func(k, v []byte) []byte) ([]OutboxEntry, error) {
	var entries []OutboxEntry
	err := tx.Scan(index, r, func(k, v []byte) (bool, error) {
		points := seq(k, v)
		if len(points) != 8 {
			return true, tx.Unreadable(index, k, errors.New("no sequence"))
		}
		e, found, err := tx.Outbox(binary.BigEndian.Uint64(points))
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
	r := Range{}
	if after != (Due{}) {
		r.From = dueKey(after.At, after.Seq+1)
	}
	var rows []Due
	err := tx.walk(outboxDue, r, func(k []byte) (bool, error) {
		row := Due{At: time.UnixMilli(int64(binary.BigEndian.Uint64(k))).UTC(), Seq: binary.BigEndian.Uint64(k[8:])}
		var err error
		if row.Batch, err = tx.batchDue(k, row.Seq); err != nil && !errors.Is(err, ErrDamaged) {
			return false, err
		}
		rows = append(rows, row)
		return limit == 0 || len(rows) < limit, nil
	})
	return rows, err
}

// batchDue returns the batch of a row of the due index; when the row is
// damaged, that of its entry.
func (tx *Tx) batchDue(key []byte, seq uint64) (batch uuid.UUID, err error) {
	raw, _, err := tx.peek(outboxDue, key)
	if err == nil && len(raw) == len(batch) {
		return uuid.UUID(raw), nil
	}
	e, _, err := tx.OutboxHead(seq)
	return e.Batch, err
}

// whole is entry for those who pass the body on: one that is cut off is nothing
// to deliver, whatever its checksum says. What this process wrote was whole.
func (tx *Tx) whole(seq uint64, raw []byte) (OutboxEntry, error) {
	e, err := tx.entry(seq, raw)
	if err == nil && seq <= tx.foundNewest && !json.Valid(e.Body) {
		err = tx.Unreadable(outboxEntries, Key(seq), errors.New("its body is not JSON"))
	}
	return e, err
}

// entry joins an encoded entry with its status.
func (tx *Tx) entry(seq uint64, raw []byte) (OutboxEntry, error) {
	e, err := decodeEntry(seq, raw)
	if err != nil {
		return e, tx.Unreadable(outboxEntries, Key(seq), err)
	}
	return tx.withStatus(e)
}

func dueKey(at time.Time, seq uint64) []byte { return Key(uint64(max(0, at.UnixMilli())), seq) }

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// entryMade is when an entry was made.
func entryMade(_, value []byte) time.Time {
	e, err := decodeEntry(0, value)
	if err != nil {
		return time.Time{}
	}
	return e.CreatedAt
}

// Marks of an entry.
const (
	entryDisabled = 1 << iota
	entryRecorded
)

// Layout of an entry: kind length, kind, owner, batch, owner sequence, time in
// Unix milliseconds, marks, record when so marked, body.
func encodeEntry(e OutboxEntry) []byte {
	marks := byte(0)
	if e.State == OutboxDisabled {
		marks |= entryDisabled
	}
	if e.Record != 0 {
		marks |= entryRecorded
	}
	raw := make([]byte, 0, 1+len(e.Kind)+entryFixed+8+len(e.Body))
	raw = append(append(raw, byte(len(e.Kind))), e.Kind...)
	raw = append(append(raw, e.Owner[:]...), e.Batch[:]...)
	raw = binary.BigEndian.AppendUint64(raw, e.OwnerSeq)
	raw = binary.BigEndian.AppendUint64(raw, uint64(e.CreatedAt.UnixMilli()))
	raw = append(raw, marks)
	if e.Record != 0 {
		raw = binary.BigEndian.AppendUint64(raw, e.Record)
	}
	return append(raw, e.Body...)
}

// entryFixed is what every entry has but for its kind: owner, batch, owner sequence, time and
// marks.
const entryFixed = 16 + 16 + 8 + 8 + 1

func decodeEntry(seq uint64, raw []byte) (OutboxEntry, error) {
	if len(raw) < 1 || len(raw) < 1+int(raw[0])+entryFixed {
		return OutboxEntry{}, fmt.Errorf("store: outbox entry %d is too short: %w", seq, ErrDamaged)
	}
	n := 1 + int(raw[0])
	e := OutboxEntry{Seq: seq, Kind: event.Kind(raw[1:n]), State: OutboxPending}
	rest := raw[n:]
	copy(e.Owner[:], rest[:16])
	copy(e.Batch[:], rest[16:32])
	e.OwnerSeq = binary.BigEndian.Uint64(rest[32:])
	e.CreatedAt = fromMilli(int64(binary.BigEndian.Uint64(rest[40:])))
	if rest[48]&entryDisabled != 0 {
		e.State = OutboxDisabled
	}
	e.Body = rest[entryFixed:]
	if rest[48]&entryRecorded != 0 {
		if len(e.Body) < 8 {
			return OutboxEntry{}, fmt.Errorf("store: outbox entry %d is too short: %w", seq, ErrDamaged)
		}
		e.Record, e.Body = binary.BigEndian.Uint64(e.Body), e.Body[8:]
	}
	return e, nil
}
