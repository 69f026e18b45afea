package later

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// How long a lane waits before it looks again at sends that it could not begin or end.
const (
	minPause = time.Second
	maxPause = time.Minute
)

// look ends the sends of a lane that are too late, begins those that are due, and returns
// when to look again; zero: after the next change.
func (s *Scheduler) look(l *lane) time.Time {
	now := s.now()
	deadline, err := s.expire(l, now)
	if err != nil {
		s.failed(l, err)
		deadline = now.Add(maxPause)
	}
	next, err := s.launch(l, now)
	if err != nil {
		s.failed(l, err)
		next = now.Add(maxPause)
	}
	return earlier(deadline, next)
}

// failed logs an error of the store.
func (s *Scheduler) failed(l *lane, err error) {
	switch {
	case errors.Is(err, store.ErrClosed), s.life.Err() != nil:
	case errors.Is(err, store.ErrDiskFull):
		s.log.Warn("scheduled sends wait for disk space; free some space", "instance_id", l.instance)
	default:
		s.log.Error("scheduled sends could not be read or ended; they are tried again in a minute; look after the disk", "instance_id", l.instance, "error", err)
	}
}

// expire ends the sends of a lane that can no longer begin in time, and returns when the
// next one is too late.
func (s *Scheduler) expire(l *lane, now time.Time) (next time.Time, err error) {
	for s.life.Err() == nil {
		var over []ending
		over, next, err = s.pastDeadline(l, now)
		if err != nil || len(over) == 0 {
			return next, err
		}
		if !s.cfg.Store.TrustsClock() {
			return now.Add(maxPause), nil
		}
		if err := s.endAll(l, over); err != nil {
			return next, err
		}
	}
	return next, nil
}

// pastDeadline returns some sends of a lane whose deadline is past and that have not begun,
// and the first deadline that is not.
func (s *Scheduler) pastDeadline(l *lane, now time.Time) (over []ending, next time.Time, err error) {
	err = s.cfg.Store.View(func(tx *store.Tx) error {
		over, next = nil, time.Time{}
		return tx.Scan(late, store.Range{Prefix: store.Key(l.instance)}, func(k, _ []byte) (bool, error) {
			if tx.Has(begun, sendKey(k)) {
				return true, nil
			}
			if at := time.UnixMilli(store.Number(k[8:16])); at.After(now) {
				next = at
				return false, nil
			}
			over = append(over, ending{deadline: k})
			return len(over) < endStep, nil
		})
	})
	for i := range over {
		over[i].err = tooLate(over[i].deadline)
	}
	return over, next, err
}

func tooLate(deadline []byte) error {
	at := timeOf(uuid.UUID(deadline[16:]))
	return fmt.Errorf("%w: it was due at %s, and could not leave until %s", event.ErrTooLate, event.At(at), event.At(time.UnixMilli(store.Number(deadline[8:16]))))
}

// launch begins the due sends of a lane that may leave, and returns when to look again.
func (s *Scheduler) launch(l *lane, now time.Time) (next time.Time, err error) {
	busy := s.busy(l)
	from := store.Key(l.instance)
	for range lookahead {
		if s.full(l) {
			return next, nil // until one of them ends
		}
		w, at, err := s.nextDue(l, from, now)
		if err != nil || w == nil {
			return earlier(next, at), err
		}
		from = append(w.key(), 0)
		if busy[w.Out.To] || w.last().Before(now) { // the clock is not trusted
			continue
		}
		busy[w.Out.To] = true // the sends to one chat keep their order
		if held := s.cfg.Supervisor.MaySend(l.instance, w.Out); held != nil {
			next = earlier(next, heldUntil(now, held))
			continue
		}
		s.begin(l, w)
	}
	return earlier(next, now.Add(maxPause)), nil
}

// heldUntil returns when to ask again whether a limit allows a send.
func heldUntil(now time.Time, held error) time.Time {
	until := now.Add(maxPause)
	if limit, ok := errors.AsType[*event.NotNowError](held); ok && !limit.Until.IsZero() && limit.Until.Before(until) {
		until = limit.Until
	}
	if soonest := now.Add(minPause); until.Before(soonest) {
		return soonest
	}
	return until
}

// busy returns the chats to which sends of a lane are under way.
func (s *Scheduler) busy(l *lane) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	chats := map[string]bool{}
	for _, f := range l.flights {
		chats[f.w.Out.To] = true
	}
	return chats
}

func (s *Scheduler) full(l *lane) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(l.flights) >= perInstance || s.life.Err() != nil
}

// nextDue returns the first send of a lane from a key on that has not begun, if its time
// has come, or else its time.
func (s *Scheduler) nextDue(l *lane, from []byte, now time.Time) (w *waiting, at time.Time, err error) {
	err = s.cfg.Store.View(func(tx *store.Tx) error {
		w, at = nil, time.Time{}
		return tx.Scan(sends, store.Range{Prefix: store.Key(l.instance), From: from}, func(k, v []byte) (bool, error) {
			if due := timeOf(uuid.UUID(k[8:])); due.After(now) {
				at = due
				return false, nil
			}
			if tx.Has(begun, k) {
				return true, nil
			}
			var err error
			w, err = decode(tx, k, v)
			return false, err // a damaged one is passed over, and ends at its deadline
		})
	})
	return w, at, err
}

// begin begins a send.
func (s *Scheduler) begin(l *lane, w *waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil || s.lanes[l.instance] != l {
		return
	}
	f := newFlight(s.life, w)
	l.flights[w.id] = f
	s.work.Go(func() { s.fly(l, f) })
}

// landed ends the work on a send.
func (s *Scheduler) landed(l *lane, f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(l.flights, f.w.id)
	s.kick(l)
}
