package batch

import (
	"slices"
	"time"

	"postern/event"
)

// An instance that is reported online but could not send is not used until
// its state changes. If that never happens, it is tried again after
// dropRetry, and then after twice as long each time up to maxDropRetry.
const (
	dropRetry    = time.Second
	maxDropRetry = time.Minute
)

// drop is an instance that could not send for this batch.
type drop struct {
	changes uint64 // how often it had changed when the send began
	pause   time.Duration
	until   time.Time
}

// choice is the next item, its instance and its message id.
type choice struct {
	instance  int64 // 0: no instance can now
	position  int   // of the item
	recipient string
	first     int // no item before this position waits
	messageID string
	after     time.Time // when it may leave; zero: at once
	again     time.Time // without an instance: when time alone makes one able; zero: only a change does
	cut       bool      // the search was given up, for the batch has something else to do
}

func (c choice) none() bool { return c.instance == 0 && !c.cut }

// ready reports whether there is an item that may leave at now.
func (c choice) ready(now time.Time) bool { return c.instance != 0 && !c.after.After(now) }

// pick chooses at random among the instances that are online, have not just
// dropped and have an item that they may send now, or if there is none, the one
// that may after the shortest pause. back is as for seek.
func (w *worker) pick(back *unsent) (c choice, err error) {
	now := w.e.now()
	w.able = w.able[:0]
	for _, ref := range w.b.spec.Instances {
		if _, state, ok := w.e.cfg.Fleet.Instance(ref.ID); !ok || state != event.Online {
			continue
		}
		if until := w.notBefore(ref.ID, now); until.After(now) {
			c.again = earlier(c.again, until)
			continue
		}
		w.able = append(w.able, ref.ID)
	}
	var later choice // may leave, and not yet
	prefers, err := w.prefers(back)
	if err != nil {
		return c, err
	}
	for len(w.able) > 0 {
		n := w.e.random(w.id, int64(len(w.able)))
		if at := slices.Index(w.able, prefers); at >= 0 {
			n = int64(at)
		}
		id := w.able[n]
		found, err := w.seek(id, back)
		if err != nil || found.cut {
			return choice{cut: found.cut}, err
		}
		if found.ok {
			one := choice{instance: id, position: found.item.position, recipient: found.item.recipient, first: found.first, after: found.after}
			if one.ready(now) {
				one.messageID = w.e.cfg.NewMessageID()
				return one, nil
			}
			if later.instance == 0 || one.after.Before(later.after) {
				later = one
			}
		}
		c.again = earlier(c.again, found.again)
		w.able = slices.Delete(w.able, int(n), int(n)+1)
	}
	if later.instance == 0 {
		return c, nil
	}
	return w.waitFor(later, c.again, back)
}

// prefers returns the instance that began to send the item that comes next; 0: none did.
func (w *worker) prefers(back *unsent) (instance int64, err error) {
	if back != nil {
		return back.prefers, nil
	}
	if !w.b.message.Several() {
		return 0, nil
	}
	first, _, err := w.next(&w.front, w.b.Cursor)
	return first.prefers, err
}

// waitFor chooses an instance that has to wait a moment, if none is ready. It is
// asked again, since a batch has its reservation at the one that it asked last.
func (w *worker) waitFor(later choice, again time.Time, back *unsent) (choice, error) {
	found, err := w.seek(later.instance, back)
	switch {
	case err != nil || found.cut:
		return choice{cut: found.cut}, err
	case !found.ok:
		return choice{again: earlier(again, found.again)}, nil
	}
	return choice{
		instance: later.instance, position: found.item.position, recipient: found.item.recipient, first: found.first, after: found.after, messageID: w.e.cfg.NewMessageID(),
	}, nil
}

// notBefore reports until when an instance that could not send is not asked again, by
// the clock as it is set now.
func (w *worker) notBefore(id int64, now time.Time) time.Time {
	if d, ok := w.dropped[id]; ok && d.changes == w.e.changesOf(id) {
		return asOf(now, d.until)
	}
	return time.Time{}
}

// drop records that an instance could not send. changes is what Engine.changesOf
// reported before the send, so that a change during it counts.
func (w *worker) drop(id int64, changes uint64) {
	d := w.dropped[id]
	if d.changes != changes {
		d.pause = 0
	}
	d.changes, d.pause = changes, min(max(2*d.pause, dropRetry), maxDropRetry)
	d.until = w.e.now().Add(d.pause)
	if w.dropped == nil {
		w.dropped = map[int64]drop{}
	}
	w.dropped[id] = d
}

// asOf returns a time that a clock showed before by that clock as it is set now, so
// that it can be compared with wall clock times.
func asOf(now, t time.Time) time.Time { return now.Add(t.Sub(now)) }

// earlier returns the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
