package batch

import (
	"time"

	"postern/event"
)

// An instance that is said to be online and could not send is left alone until
// its state changes. Should that never happen, it is tried again after
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

// choice is who sends the next item, under which message id.
type choice struct {
	instance  int64 // 0: nobody can now
	messageID string
	again     time.Time // of nobody: when time alone makes one able; zero: only a change does
}

func (c choice) none() bool { return c.instance == 0 }

// pick chooses at random among the instances that are online, not benched and
// have not just dropped.
func (w *worker) pick() choice {
	var c choice
	n, now := 0, time.Now()
	for _, ref := range w.b.spec.Instances {
		_, state, ok := w.e.cfg.Fleet.Instance(ref.ID)
		if !ok || state != event.Online {
			continue
		}
		if until := w.barred(ref.ID); until.After(now) {
			c.again = earlier(c.again, until)
			continue
		}
		if n++; w.e.random(w.id, int64(n)) == 0 {
			c.instance = ref.ID
		}
	}
	if n > 0 {
		c.messageID = w.e.cfg.NewMessageID()
	}
	return c
}

// barred tells until when an instance that is online is not chosen.
func (w *worker) barred(id int64) time.Time {
	until := w.e.cfg.Fleet.Benched(id)
	d, ok := w.dropped[id]
	if ok && d.changes == w.e.changesOf(id) && d.until.After(until) {
		return d.until
	}
	return until
}

// drop notes that an instance could not send. changes is what Engine.changesOf
// told before the send, so that a change during it counts.
func (w *worker) drop(id int64, changes uint64) {
	d := w.dropped[id]
	if d.changes != changes {
		d.pause = 0
	}
	d.changes, d.pause = changes, min(max(2*d.pause, dropRetry), maxDropRetry)
	d.until = time.Now().Add(d.pause)
	if w.dropped == nil {
		w.dropped = map[int64]drop{}
	}
	w.dropped[id] = d
}

// earlier returns the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
