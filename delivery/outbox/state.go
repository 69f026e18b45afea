package outbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"postern/store"
)

// status is what happened to an entry so far, the value in outbox_state.
// The zero value, stored as nothing, is an entry that was never attempted.
type status struct {
	Attempts  int
	Status    int
	Next      int64 // Unix milliseconds, 0 when there is none
	Delivered int64 // the same
	Error     string
}

// stateKey orders the entries of each state by sequence, so that a list of one
// state need not pass over the others.
func stateKey(s State, seq uint64) []byte { return store.Key(s.prefix(), seq) }

func (s State) prefix() byte {
	switch s {
	case Pending:
		return 'p'
	case Delivered:
		return 'd'
	default:
		return 'x'
	}
}

// Delivered notes that the entry was accepted with the given status and
// takes it out of the due index. That of a batch that was removed is removed
// itself. A missing entry is no error.
func (o *Outbox) Delivered(tx *store.Tx, seq uint64, status int) error {
	e, pending, err := pendingHead(tx, seq)
	if err != nil || !pending {
		return err
	}
	return o.Accepted(tx, e, status)
}

// Retry notes a failed attempt and moves the entry to the given time in
// the due index. A missing entry is no error.
func (o *Outbox) Retry(tx *store.Tx, seq uint64, at time.Time, status int, reason string) error {
	e, pending, err := pendingHead(tx, seq)
	if err != nil || !pending {
		return err
	}
	return o.Failed(tx, e, at, status, reason)
}

// Accepted is Delivered of an entry that is pending, as Head just
// returned it.
func (o *Outbox) Accepted(tx *store.Tx, e Entry, code int) error {
	return o.settle(tx, e, Delivered, status{Attempts: e.Attempts + 1, Status: code, Delivered: tx.Now().UnixMilli()})
}

// Failed is Retry of an entry that is pending, as Head just returned it.
func (o *Outbox) Failed(tx *store.Tx, e Entry, at time.Time, code int, reason string) error {
	return o.settle(tx, e, Pending, status{Attempts: e.Attempts + 1, Status: code, Error: reason, Next: at.UnixMilli()})
}

// Reschedule moves a pending entry to another time without counting an
// attempt. Entries in other states and missing ones stay as they are.
func (o *Outbox) Reschedule(tx *store.Tx, seq uint64, at time.Time) error {
	e, pending, err := pendingHead(tx, seq)
	if err != nil || !pending {
		return err
	}
	return o.settle(tx, e, Pending, status{Attempts: e.Attempts, Status: e.LastStatus, Error: e.LastError, Next: at.UnixMilli()})
}

func pendingHead(tx *store.Tx, seq uint64) (e Entry, pending bool, err error) {
	e, found, err := Head(tx, seq)
	return e, found && e.State == Pending, err
}

// settle moves a pending entry to another state, or gives it another status,
// and keeps the due index equal to it.
func (o *Outbox) settle(tx *store.Tx, e Entry, to State, now status) error {
	seq := e.Seq
	if to == Delivered {
		if removed, err := o.deliverForgotten(tx, e); removed || err != nil {
			return err
		}
	}
	err := errors.Join(
		tx.Delete(dueRows, dueKey(e.NextAttemptAt, seq)),
		tx.Put(stateRows, stateKey(to, seq), encodeStatus(now)),
	)
	if to == Pending {
		return errors.Join(err, tx.Put(dueRows, dueKey(time.UnixMilli(now.Next), seq), e.Batch[:]))
	}
	o.commit(tx).counts.add(Pending, -1)
	o.commit(tx).counts.add(to, 1)
	return errors.Join(err, tx.Delete(stateRows, stateKey(Pending, seq)))
}

// withStatus joins a decoded entry with its status. A damaged status counts as
// none: the entry is sent once more.
func withStatus(tx *store.Tx, e Entry) (Entry, error) {
	states := []State{Pending, Delivered}
	if e.State == Disabled {
		states = states[:0]
	}
	for _, state := range states {
		raw, found, err := tx.Peek(stateRows, stateKey(state, e.Seq))
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return e, err
		}
		if !found {
			continue
		}
		e.State = state
		if s, err := decodeStatus(raw); err == nil {
			e.Attempts, e.LastStatus, e.LastError = s.Attempts, s.Status, s.Error
			e.NextAttemptAt, e.DeliveredAt = fromMilli(s.Next), fromMilli(s.Delivered)
		}
		break
	}
	if e.State == Pending && e.NextAttemptAt.IsZero() {
		e.NextAttemptAt = e.CreatedAt
	}
	return e, nil
}

// statusSize is the part of an encoded status before the error.
const statusSize = 4 + 2 + 8 + 8

func encodeStatus(s status) []byte {
	raw := make([]byte, 0, statusSize+len(s.Error))
	raw = binary.BigEndian.AppendUint32(raw, uint32(s.Attempts))
	raw = binary.BigEndian.AppendUint16(raw, uint16(s.Status))
	raw = binary.BigEndian.AppendUint64(raw, uint64(s.Next))
	raw = binary.BigEndian.AppendUint64(raw, uint64(s.Delivered))
	return append(raw, s.Error...)
}

func decodeStatus(raw []byte) (s status, err error) {
	switch {
	case len(raw) == 0:
		return s, nil
	case len(raw) < statusSize:
		return s, fmt.Errorf("outbox: status of %d bytes is too short: %w", len(raw), store.ErrDamaged)
	}
	return status{
		Attempts:  int(binary.BigEndian.Uint32(raw)),
		Status:    int(binary.BigEndian.Uint16(raw[4:])),
		Next:      int64(binary.BigEndian.Uint64(raw[6:])),
		Delivered: int64(binary.BigEndian.Uint64(raw[14:])),
		Error:     string(raw[statusSize:]),
	}, nil
}
