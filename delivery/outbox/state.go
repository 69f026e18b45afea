package outbox

import (
	"encoding/binary"
	"errors"
	"fmt"

	"postern/store"
)

// status is the value in outbox_state: the outcome of a delivered entry. The record of a pending
// entry holds its attempts; up to schema version 3 the status held them.
type status struct {
	Attempts  int
	Status    int
	Next      int64 // Unix milliseconds, 0 when there is none
	Delivered int64 // the same
	Error     string
}

// stateKey orders the entries of each state by sequence, so that a list of one state need not scan
// the others.
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

// Ended notes that the pending entry was accepted, by which attempt and with which status. It
// removes an entry whose batch was removed. A missing entry is no error, and a damaged entry ends
// like any other.
func (o *Outbox) Ended(tx *store.Tx, seq uint64, attempts, code int) error {
	e, found, err := Head(tx, seq)
	switch {
	case errors.Is(err, store.ErrDamaged):
		found = tx.Has(stateRows, stateKey(Pending, seq))
	case err != nil:
		return err
	case found:
		found = e.State == Pending
		if removed, err := o.endForgotten(tx, e); removed || err != nil {
			return err
		}
	}
	if !found {
		return nil
	}
	c := o.commit(tx)
	c.counts.add(Pending, -1)
	c.counts.add(Delivered, 1)
	return errors.Join(
		tx.Put(stateRows, stateKey(Delivered, seq), encodeStatus(status{Attempts: attempts, Status: code, Delivered: tx.Now().UnixMilli()})),
		tx.Delete(stateRows, stateKey(Pending, seq)),
	)
}

// withStatus joins a decoded entry with its status. A damaged status counts as none: the entry is
// sent once more.
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
