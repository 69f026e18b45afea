package delivery

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"

	"postern/delivery/layout"
	"postern/event"
	"postern/store"
)

// Event is a stored instance event. It is written once and changed only by an [Eraser].
type Event struct {
	Seq       uint64 // in commit order, over all instances
	ID        uuid.UUID
	Kind      event.Kind
	Instance  int64
	Name      string // of the instance
	OwnerJID  string // empty when it was not connected
	RequestID string // of the call that caused it, empty when none did
	About     event.About
	Sequence  uint64 // among the numbered events of the instance, from 1 without holes; 0: not numbered
	CreatedAt time.Time
	ExpiresAt time.Time // in steady time: until then the event is kept and can be read by its number
	Body      []byte    // the final envelope; empty once it was erased
	To        []Addressee
}

// Addressee is a destination that an event was written for, as it was configured in that
// commit.
type Addressee struct {
	Lane Lane
	Due  Due
	Head bool // it may be sent at once; otherwise it waits for others of its line
}

// First returns the id of the event's first record, 0 if it has none. The records of one event
// have consecutive ids.
func (e Event) First() uint64 {
	if len(e.To) == 0 {
		return 0
	}
	return e.To[0].Due.Record
}

// Erased reports whether the body was removed because it named a person: readers pass over the event.
func (e Event) Erased() bool { return len(e.Body) == 0 }

// unnumbered is set in the position of an event without a number. The position exists so that
// the deletion of the instance finds the event.
const unnumbered = 1 << 63

func (e Event) positionKey() []byte {
	if e.Sequence == 0 {
		return store.Key(e.Instance, unnumbered|e.Seq)
	}
	return store.Key(e.Instance, e.Sequence)
}

// number gives a new event its number. A numbered event is kept at least as long as the one
// before it, even if maxAge is shorter now: the events that can be read by number have no
// holes.
func number(tx *store.Tx, e *Event, numbered bool) error {
	e.Sequence = 0
	if numbered {
		last, until, err := newestOf(tx, e.Instance)
		if err != nil {
			return err
		}
		e.Sequence, e.ExpiresAt = last+1, later(e.ExpiresAt, until)
	}
	return tx.Put(positions, e.positionKey(), store.Key(e.Seq))
}

// putNewest stores a numbered event as the newest of its instance.
func putNewest(tx *store.Tx, e Event) error {
	return tx.Put(newest, store.Key(e.Instance), store.Key(e.Sequence, uint64(max(0, layout.Millis(e.ExpiresAt)))))
}

// EventsAfter returns up to limit stored events with a sequence greater than seq, in commit
// order over all instances.
func EventsAfter(tx *store.Tx, seq uint64, limit int) (all []Event, err error) {
	err = tx.Scan(events, store.Range{From: store.Key(seq + 1), Limit: limit}, func(k, v []byte) (bool, error) {
		e, err := readEvent(tx, binary.BigEndian.Uint64(k), v)
		if err == nil {
			all = append(all, e)
		}
		return true, err
	})
	return all, err
}

// NewestEvent returns the sequence of the newest stored event, 0 if there never was one.
func NewestEvent(tx *store.Tx) (uint64, error) { return tx.LastID(events) }

// NewestOf returns the number of the newest event of an instance, 0 if there never was one. If
// it cannot be read, NewestOf returns a higher number that no event of the instance had, so
// that no number is given twice.
func NewestOf(tx *store.Tx, instance int64) (uint64, error) {
	last, _, err := newestOf(tx, instance)
	return last, err
}

// newestOf is NewestOf with the time until which that event is kept, zero if unknown.
func newestOf(tx *store.Tx, instance int64) (last uint64, until time.Time, err error) {
	raw, err := tx.Get(newest, store.Key(instance))
	switch {
	case err == nil && raw == nil:
		return 0, until, nil
	case err == nil && len(raw) == 16:
		return binary.BigEndian.Uint64(raw), layout.FromMillis(int64(binary.BigEndian.Uint64(raw[8:]))), nil
	case err == nil && len(raw) == 8: // of an earlier version
		return binary.BigEndian.Uint64(raw), until, nil
	case err == nil:
		err = tx.Unreadable(newest, store.Key(instance), layout.ErrValue)
	}
	if !errors.Is(err, store.ErrDamaged) {
		return 0, until, err
	}
	last, err = tx.LastID(events)
	return last, until, err
}

// PositionAfter returns, in order, up to limit numbered events of an instance that have not
// expired, were not erased, and whose number is greater than after.
func PositionAfter(tx *store.Tx, instance int64, after uint64, limit int) (all []Event, err error) {
	err = EachAfter(tx, instance, after, func(e Event) bool {
		if !e.Erased() {
			all = append(all, e)
		}
		return limit == 0 || len(all) < limit
	})
	return all, err
}

// EachAfter calls fn with the numbered events of an instance that have not expired, until
// fn returns false.
func EachAfter(tx *store.Tx, instance int64, after uint64, fn func(Event) bool) error {
	r := store.Range{Prefix: store.Key(instance), From: store.Key(instance, after+1), Before: store.Key(instance, uint64(unnumbered))}
	return tx.Scan(positions, r, func(k, v []byte) (bool, error) {
		if len(v) != 8 {
			return true, tx.Unreadable(positions, k, layout.ErrValue)
		}
		e, found, err := getEvent(tx, binary.BigEndian.Uint64(v))
		if err != nil || !found || !tx.Steady().Before(e.ExpiresAt) {
			return true, err
		}
		return fn(e), nil
	})
}

// OnWay reports whether a delivery of a stored event is pending, or was attempted within
// grace. An event that is not kept has none. unlogged: its deliveries have ended, and without
// the log nothing says when.
func (l *Ledger) OnWay(tx *store.Tx, seq uint64, grace time.Duration) (is, unlogged bool, err error) {
	e, found, err := getEvent(tx, seq)
	if errors.Is(err, store.ErrDamaged) || err == nil && !found {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	now := tx.Now()
	is, err = anyDelivery(tx, e, func(r Record) bool { return r.Waits() || now.Sub(r.LastAttemptAt) < grace })
	return is, !is && !l.cfg.Log && len(e.To) > 0, err
}
