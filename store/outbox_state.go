package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// outboxStatus is what happened to an entry so far, the value in outbox_state.
// The zero value, stored as nothing, is an entry that was never attempted.
type outboxStatus struct {
	Attempts  int
	Status    int
	Next      int64 // Unix milliseconds, 0 when there is none
	Delivered int64 // the same
	Error     string
}

// stateKey orders the entries of each state by sequence, so that a list of one
// state need not pass over the others.
func stateKey(s OutboxState, seq uint64) []byte { return Key(s.prefix(), seq) }

func (s OutboxState) prefix() byte {
	switch s {
	case OutboxPending:
		return 'p'
	case OutboxDelivered:
		return 'd'
	default:
		return 'x'
	}
}

// OutboxDelivered notes that the entry was accepted with the given status and
// takes it out of the due index. That of a batch that was removed is removed
// itself. A missing entry is no error.
func (tx *Tx) OutboxDelivered(seq uint64, status int) error {
	e, pending, err := tx.outboxPending(seq)
	if err != nil || !pending {
		return err
	}
	return tx.OutboxAccepted(e, status)
}

// OutboxRetry notes a failed attempt and moves the entry to the given time in
// the due index. A missing entry is no error.
func (tx *Tx) OutboxRetry(seq uint64, at time.Time, status int, reason string) error {
	e, pending, err := tx.outboxPending(seq)
	if err != nil || !pending {
		return err
	}
	return tx.OutboxFailed(e, at, status, reason)
}

// OutboxAccepted is OutboxDelivered of an entry that is pending, as OutboxHead just
// returned it.
func (tx *Tx) OutboxAccepted(e OutboxEntry, status int) error {
	return tx.settle(e, OutboxDelivered, outboxStatus{Attempts: e.Attempts + 1, Status: status, Delivered: tx.now.UnixMilli()})
}

// OutboxFailed is OutboxRetry of an entry that is pending, as OutboxHead just returned it.
func (tx *Tx) OutboxFailed(e OutboxEntry, at time.Time, status int, reason string) error {
	return tx.settle(e, OutboxPending, outboxStatus{Attempts: e.Attempts + 1, Status: status, Error: reason, Next: at.UnixMilli()})
}

// OutboxReschedule moves a pending entry to another time without counting an
// attempt. Entries in other states and missing ones stay as they are.
func (tx *Tx) OutboxReschedule(seq uint64, at time.Time) error {
	e, pending, err := tx.outboxPending(seq)
	if err != nil || !pending {
		return err
	}
	return tx.settle(e, OutboxPending, outboxStatus{Attempts: e.Attempts, Status: e.LastStatus, Error: e.LastError, Next: at.UnixMilli()})
}

func (tx *Tx) outboxPending(seq uint64) (e OutboxEntry, pending bool, err error) {
	e, found, err := tx.OutboxHead(seq)
	return e, found && e.State == OutboxPending, err
}

// settle moves a pending entry to another state, or gives it another status,
// and keeps the due index equal to it.
func (tx *Tx) settle(e OutboxEntry, to OutboxState, status outboxStatus) error {
	seq := e.Seq
	if to == OutboxDelivered {
		if removed, err := tx.deliverForgotten(e); removed || err != nil {
			return err
		}
	}
	err := errors.Join(
		tx.Delete(outboxDue, dueKey(e.NextAttemptAt, seq)),
		tx.Put(outboxStates, stateKey(to, seq), encodeStatus(status)),
	)
	if to == OutboxPending {
		return errors.Join(err, tx.Put(outboxDue, dueKey(time.UnixMilli(status.Next), seq), e.Batch[:]))
	}
	tx.counts.add(OutboxPending, -1)
	tx.counts.add(to, 1)
	return errors.Join(err, tx.Delete(outboxStates, stateKey(OutboxPending, seq)))
}

// withStatus joins a decoded entry with its status. A damaged status counts as
// none: the entry is told, or sent, once more.
func (tx *Tx) withStatus(e OutboxEntry) (OutboxEntry, error) {
	states := []OutboxState{OutboxPending, OutboxDelivered}
	if e.State == OutboxDisabled {
		states = states[:0]
	}
	for _, state := range states {
		raw, found, err := tx.peek(outboxStates, stateKey(state, e.Seq))
		if err != nil && !errors.Is(err, ErrDamaged) {
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
	if e.State == OutboxPending && e.NextAttemptAt.IsZero() {
		e.NextAttemptAt = e.CreatedAt
	}
	return e, nil
}

// statusSize is the part of an encoded status before the error.
const statusSize = 4 + 2 + 8 + 8

func encodeStatus(s outboxStatus) []byte {
	raw := make([]byte, 0, statusSize+len(s.Error))
	raw = binary.BigEndian.AppendUint32(raw, uint32(s.Attempts))
	raw = binary.BigEndian.AppendUint16(raw, uint16(s.Status))
	raw = binary.BigEndian.AppendUint64(raw, uint64(s.Next))
	raw = binary.BigEndian.AppendUint64(raw, uint64(s.Delivered))
	return append(raw, s.Error...)
}

func decodeStatus(raw []byte) (s outboxStatus, err error) {
	switch {
	case len(raw) == 0:
		return s, nil
	case len(raw) < statusSize:
		return s, fmt.Errorf("store: outbox status of %d bytes is too short: %w", len(raw), ErrDamaged)
	}
	return outboxStatus{
		Attempts:  int(binary.BigEndian.Uint32(raw)),
		Status:    int(binary.BigEndian.Uint16(raw[4:])),
		Next:      int64(binary.BigEndian.Uint64(raw[6:])),
		Delivered: int64(binary.BigEndian.Uint64(raw[14:])),
		Error:     string(raw[statusSize:]),
	}, nil
}
