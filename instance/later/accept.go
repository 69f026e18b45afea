package later

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/instance"
	"postern/store"
)

// Send is a message to be sent at a time.
type Send struct {
	Instance   int64
	Out        event.Outgoing // its file may be removed when Accept has returned
	At         time.Time
	LateMax    time.Duration
	Attributes event.Attributes
	RequestID  string    // of the call
	Key        uuid.UUID // of a scoped key that makes it
	// InCommit is called in the commit that accepts the send, possibly twice; its error
	// rejects the send. It may be nil.
	InCommit func(tx *store.Tx, id uuid.UUID) error
}

// Accept stores a send and returns its id. Errors: instance.ErrNotFound, ErrTooMany and
// those of the store.
func (s *Scheduler) Accept(ctx context.Context, d Send) (id uuid.UUID, err error) {
	w := &waiting{instance: d.Instance, record: record{
		Out: d.Out, LateMax: d.LateMax.Milliseconds(), Attributes: d.Attributes, RequestID: d.RequestID, Key: d.Key, CreatedAt: event.At(s.now()),
	}}
	path := ""
	if m := d.Out.Content.Media; m != nil && m.File != nil {
		kept := *m
		kept.File, path = nil, m.File.Path
		w.Out.Content.Media = &kept
		w.File = &keptFile{MediaInfo: m.File.MediaInfo, Pieces: int((m.File.Size + pieceSize - 1) / pieceSize)}
	}
	l, err := s.reserve(w, d.At)
	if err != nil {
		return id, err
	}
	if path != "" {
		err = s.keep(ctx, w.instance, w.id, path)
	}
	if err == nil {
		err = s.put(ctx, w, d.InCommit)
	}
	if err != nil {
		if path != "" {
			s.dropFile(w.instance, w.id)
		}
		s.removed(l, w.pieces())
		return id, fmt.Errorf("scheduled send: %w", err)
	}
	s.added(l, d.At)
	return w.id, nil
}

func (s *Scheduler) put(ctx context.Context, w *waiting, also func(*store.Tx, uuid.UUID) error) error {
	return s.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		if err := instance.There(tx, w.instance); err != nil {
			return err
		}
		if also != nil {
			if err := also(tx, w.id); err != nil {
				return err
			}
		}
		return errors.Join(store.PutJSON(tx, sends, w.key(), w.record), tx.Put(late, w.deadline(), nil))
	})
}

// reserve gives a send its id, and counts it.
func (s *Scheduler) reserve(w *waiting, at time.Time) (*lane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lane(w.instance)
	switch size := w.pieces(); {
	case s.cfg.Max > 0 && l.count >= s.cfg.Max:
		return nil, fmt.Errorf("%w: the instance has %d, the limit (message.scheduled.max); delete one, or wait until one was sent", ErrTooMany, l.count)
	case int64(s.pieces+size)*pieceSize > s.cfg.MaxBytes:
		return nil, fmt.Errorf("%w: their files would have more than %d bytes (message.scheduled.max_bytes); send a URL instead of a file, or delete one", ErrTooMany, s.cfg.MaxBytes)
	default:
		l.count++
		l.pieces += size
		s.pieces += size
	}
	if s.accepted = s.accepted.Add(time.Millisecond); s.accepted.Before(w.CreatedAt.Time) {
		s.accepted = w.CreatedAt.Time
	}
	w.id = newID(at, s.accepted)
	return l, nil
}

// added has the lane of a new send wake at its time.
func (s *Scheduler) added(l *lane, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lanes[l.instance] != l {
		return // deleted since
	}
	if l.turning {
		l.again = true
		return
	}
	l.wake = earlier(l.wake, at)
	s.arm()
}

// Delete removes a send of an instance. allowed is called with its recipient before
// anything is changed; it may be nil. Errors: its own, ErrNotFound, ErrBegun.
func (s *Scheduler) Delete(ctx context.Context, of int64, id uuid.UUID, allowed func(jid string) error) error {
	var size int
	err := s.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		w, err := read(tx, of, id)
		if err != nil {
			return err
		}
		if allowed != nil {
			if err := allowed(w.Out.To); err != nil {
				return err
			}
		}
		if tx.Has(begun, w.key()) {
			return ErrBegun
		}
		size = w.pieces()
		return remove(tx, w.deadline())
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	l := s.lane(of)
	s.mu.Unlock()
	s.removed(l, size)
	s.cancel(l, id)
	return nil
}
