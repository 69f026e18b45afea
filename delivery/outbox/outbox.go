package outbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"postern/delivery/stream"
	"postern/event"
	"postern/store"
)

// State is the state of an entry.
type State string

// The states of an entry.
const (
	Pending   State = "pending"   // to be delivered
	Delivered State = "delivered" // a receiver answered 2xx
	Disabled  State = "disabled"  // made while no webhook was configured; kept for replay only
)

// Emission is a batch event to be emitted.
type Emission struct {
	Kind  event.Kind
	Owner uuid.UUID
	Batch uuid.UUID
	Data  any // the payload; marshalled at once
}

// Entry is one event of the outbox with its state and attempts.
type Entry struct {
	Seq       uint64 // in commit order, over all owners
	Kind      event.Kind
	Owner     uuid.UUID
	Batch     uuid.UUID
	OwnerSeq  uint64 // from 1, per owner, without holes
	CreatedAt time.Time
	Body      []byte // final JSON of the envelope
	Record    uint64 // what the function of OnEmit returned, 0 when nothing

	State State

	// Of a delivered entry. The record of a pending entry states its attempts.
	Attempts      int
	LastStatus    int    // HTTP status of the last attempt, 0 when there was no answer
	LastError     string // why the last attempt failed
	NextAttemptAt time.Time
	DeliveredAt   time.Time
}

// Outbox writes the batch events of one data file. Its methods are safe for concurrent
// use; those that take a Tx belong inside the transaction. Functions of the package read.
type Outbox struct {
	store   *store.Store
	disable atomic.Bool // new entries are not for delivery
	onEmit  atomic.Pointer[func(*store.Tx, Entry) (uint64, error)]

	foundNewest uint64 // sequence of the newest entry when the file was opened

	mu      sync.Mutex
	counts  Counts
	emitted chan struct{} // closed and replaced after each commit that emitted
}

// Open opens the outbox of a data file whose buckets include [Buckets]. It must be called
// before anything is emitted. It counts the entries, unless the last stop left the numbers, and
// gives those of an earlier version their rows in the stream of all events.
func Open(s *store.Store) (*Outbox, error) {
	o := &Outbox{store: s, emitted: make(chan struct{})}
	if err := errors.Join(o.count(), fillStream(s)); err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	return o, nil
}

// SetDelivery selects whether Emit stores entries for delivery, which is the default, or as
// disabled: kept for replay, never due. It applies to commits that begin later.
func (o *Outbox) SetDelivery(on bool) { o.disable.Store(!on) }

// OnEmit registers fn, which Emit calls in its transaction for every entry that is for
// delivery. Entry.Record keeps the result of fn; if fn fails, Emit returns its error. OnEmit
// must be called before anything is emitted.
func (o *Outbox) OnEmit(fn func(*store.Tx, Entry) (record uint64, err error)) { o.onEmit.Store(&fn) }

// Emitted returns a channel that is closed after the next commit that emitted an event
// or forgot a batch. Take it before reading the outbox, so that nothing is missed.
func (o *Outbox) Emitted() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.emitted
}

// Emit appends an event to the outbox as part of this commit. The timestamp of its envelope is
// tx.Now, and its bytes are final. It is due at once.
func (o *Outbox) Emit(tx *store.Tx, e Emission) error {
	body, err := event.MarshalBatch(e.Kind, e.Data, tx.Now())
	if err != nil {
		return err
	}
	seq, err := tx.NextID(entryRows)
	if err != nil {
		return err
	}
	ownerSeq, err := o.nextOwnerSeq(tx, e.Owner)
	if err != nil {
		return err
	}
	entry := Entry{
		Seq: seq, Kind: e.Kind, Owner: e.Owner, Batch: e.Batch, OwnerSeq: ownerSeq,
		CreatedAt: tx.Now(), Body: body, State: Pending,
	}
	if o.disable.Load() {
		entry.State = Disabled
	} else if fn := o.onEmit.Load(); fn != nil {
		if entry.Record, err = (*fn)(tx, entry); err != nil {
			return fmt.Errorf("outbox: record of entry %d: %w", seq, err)
		}
	}
	return errors.Join(o.putEntry(tx, entry), stream.Add(tx, rowOf(entry)))
}

// SetRecord sets the Record of an entry that was made without one. A missing entry is no error.
func SetRecord(tx *store.Tx, seq, record uint64) error {
	e, found, err := Get(tx, seq)
	if err != nil || !found {
		return err
	}
	e.Record = record
	if e.State != Disabled {
		e.State = Pending // as it was made; the status lies beside it
	}
	return tx.Put(entryRows, store.Key(seq), encodeEntry(e))
}

func (o *Outbox) putEntry(tx *store.Tx, e Entry) error {
	err := errors.Join(
		tx.Put(entryRows, store.Key(e.Seq), encodeEntry(e)),
		tx.Put(replayRows, store.Key(e.Owner, e.OwnerSeq), store.Key(e.Seq)),
		tx.Put(batchRows, store.Key(e.Batch, e.Seq), nil),
		tx.Put(stateRows, stateKey(e.State, e.Seq), nil),
	)
	c := o.commit(tx)
	c.counts.add(e.State, 1)
	c.emitted = true
	return err
}

// nextOwnerSeq returns the owner's next number. If the newest number cannot be read, it continues
// from the sequence over all owners, so that no number is given twice.
func (o *Outbox) nextOwnerSeq(tx *store.Tx, owner uuid.UUID) (uint64, error) {
	last, err := NewestOf(tx, owner)
	switch {
	case errors.Is(err, store.ErrDamaged):
		if last, err = Newest(tx); err != nil {
			return 0, err
		}
	case err != nil:
		return 0, err
	}
	o.commit(tx).newest[owner] = last + 1
	return last + 1, nil
}

// commit is what the transactions of one commit share: rows of owners, which are written once at
// its end, and the changes to make in memory after it.
type commit struct {
	o       *Outbox
	newest  map[uuid.UUID]uint64
	counts  Counts // by how many there are more
	emitted bool
}

type commitKey struct{}

func (o *Outbox) commit(tx *store.Tx) *commit {
	c, _ := tx.Shared(commitKey{}, func() store.Shared { return &commit{o: o, newest: map[uuid.UUID]uint64{}} }).(*commit)
	return c
}

// Finish implements [store.Shared].
func (c *commit) Finish(tx *store.Tx) error {
	for owner, newest := range c.newest {
		if err := tx.Put(ownerRows, store.Key(owner), store.Key(newest)); err != nil {
			return err
		}
	}
	tx.After(func() { c.o.committed(c.counts, c.emitted) })
	return nil
}

// committed updates the numbers in memory, and wakes those who wait for Emitted.
func (o *Outbox) committed(more Counts, emitted bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts.sum(more)
	if emitted {
		close(o.emitted)
		o.emitted = make(chan struct{})
	}
}

// NewestOf returns the number of the owner's newest event, 0 when there never was one.
func NewestOf(tx *store.Tx, owner uuid.UUID) (uint64, error) {
	if c, some := tx.Shared(commitKey{}, nil).(*commit); some && c.newest[owner] > 0 {
		return c.newest[owner], nil
	}
	raw, err := tx.Get(ownerRows, store.Key(owner))
	switch {
	case err != nil || raw == nil:
		return 0, err
	case len(raw) != 8:
		return 0, tx.Unreadable(ownerRows, store.Key(owner), errors.New("no sequence"))
	}
	return binary.BigEndian.Uint64(raw), nil
}

// Newest returns the sequence of the newest entry, 0 when there never was one.
func Newest(tx *store.Tx) (uint64, error) { return tx.LastID(entryRows) }
