package batch

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/batch/schedule"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// errFenced ends a worker whose batch was claimed by another.
var errFenced = errors.New("batch: the lease was taken")

// worker runs one batch. It has a goroutine only while there is
// something to do.
type worker struct {
	e     *Engine
	id    uuid.UUID
	nudge chan struct{} // size 1: an API call changed the batch, end the delay

	// Guarded by Engine.mu.
	running, again, waiting bool
	alarm                   *schedule.Alarm
	instances               []int64

	// Of the goroutine.
	b       *full
	fresh   bool // b is what was committed last, as far as anyone knows
	content *mailing.Content
	dropped map[int64]drop
	able    []int64 // of pick, reused
	front   shelf   // the first items that wait
	passes  map[int64]*pass

	positions positions
}

// rest is what a batch waits for when there is nothing to do.
type rest struct {
	keep     bool      // false: only an API call can wake it
	until    time.Time // zero: no alarm
	instance bool      // one of its instances may wake it
}

// launch starts the goroutine, or makes it check once more. Engine.mu is held.
func (w *worker) launch() {
	if w.running {
		w.again = true
		return
	}
	w.running, w.waiting = true, false
	w.alarm.Stop()
	w.e.work.Go(w.run)
}

func (w *worker) run() {
	for {
		r, settled, err := w.look()
		if err != nil {
			w.report(err)
		}
		if !settled && err == nil {
			continue
		}
		w.e.cfg.LetGo(w.id)
		if w.park(r, err) {
			return
		}
	}
}

func (w *worker) report(err error) {
	if errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrFailed) || errors.Is(err, errFenced) {
		return
	}
	if errors.Is(err, store.ErrDiskFull) { // Engine.update has waited for room until Stop gave up
		w.e.cfg.Logger.Warn("no room to note that a batch is interrupted; the next start takes it up as after a crash; free some space before it", "batch", w.id, "error", err)
		return
	}
	w.e.cfg.Logger.Error("a batch cannot go on; restart Postern once the cause is removed", "batch", w.id, "error", err)
}

// park ends the goroutine, unless another check was requested meanwhile.
func (w *worker) park(r rest, err error) bool {
	w.e.mu.Lock()
	defer w.e.mu.Unlock()
	if w.again && err == nil {
		w.again = false
		return false
	}
	w.running, w.again, w.waiting = false, false, r.instance
	if !r.keep || !w.e.running {
		delete(w.e.workers, w.id)
		return true
	}
	w.idle(r)
	return true
}

// idle keeps only the cause of the next check, and nothing else of the batch.
// Engine.mu is held.
func (w *worker) idle(r rest) {
	w.instances = w.instances[:0]
	for _, ref := range w.b.spec.Instances {
		w.instances = append(w.instances, ref.ID)
	}
	w.b, w.fresh, w.content = nil, false, nil
	w.reread()
	if !r.until.IsZero() {
		w.alarm = schedule.NewLook(r.until, w.e.now, func() { w.e.wake(w.id) })
	}
}

// look takes the next step for the batch's status. settled reports
// that there is nothing more to do for now.
func (w *worker) look() (r rest, settled bool, err error) {
	if err := w.read(); errors.Is(err, ErrNotFound) {
		return rest{}, true, nil // it was final, and is deleted
	} else if err != nil {
		return rest{}, true, err
	}
	if w.e.stopping() {
		return rest{}, true, ignoreRefused(w.row(table.OnShutdown))
	}
	if r, waits := w.shut(); waits {
		return r, true, nil
	}
	window, until := w.b.windowAt(w.e.now())
	switch w.b.Status {
	case event.BatchIsScheduled, event.BatchWaitingForWindow:
		return r, false, ignoreRefused(w.row(table.OnWindowOpens))
	case event.BatchQueued:
		if !w.e.cfg.Enabled {
			return rest{keep: true}, true, nil
		}
		return r, false, w.claim()
	case event.BatchWaitingForInstance:
		if window != schedule.Open {
			return r, false, ignoreRefused(w.row(table.OnWindowEnds))
		}
		if !w.e.cfg.Enabled {
			return rest{keep: true, until: until, instance: true}, true, nil
		}
		c, err := w.pick(nil)
		if err != nil {
			return rest{}, true, err
		}
		if c.none() {
			return rest{keep: true, until: earlier(until, c.again), instance: true}, true, nil
		}
		if c.cut {
			return r, false, nil
		}
		return r, false, ignoreRefused(w.row(table.OnInstance))
	case event.BatchProcessing:
		return r, false, w.process()
	case event.BatchPauseAsked, event.BatchStopAsked:
		return r, false, ignoreRefused(w.row(table.OnSafePoint))
	case event.BatchIsInterrupted:
		if w.b.AutoResume && w.b.Reason != reasonRestored {
			return r, false, ignoreRefused(w.row(table.OnRecover))
		}
	default:
	}
	return rest{}, true, nil
}

// shut reports that the batch waits for its window, and until when.
func (w *worker) shut() (r rest, waits bool) {
	if w.b.Status != event.BatchIsScheduled && w.b.Status != event.BatchWaitingForWindow {
		return rest{}, false
	}
	window, until := w.b.windowAt(w.e.now())
	if window == schedule.Spent { // unless the clock is set back
		until = w.e.now().AddDate(100, 0, 0)
	}
	return rest{keep: true, until: until}, window != schedule.Open
}

// claim starts work on the batch, unless an item is pending and no instance could send
// it.
func (w *worker) claim() error {
	on := table.OnClaim
	if w.b.Counts.Pending > 0 {
		c, err := w.pick(nil)
		if err != nil || c.cut {
			return err
		}
		if c.none() {
			on = table.OnNoInstance
		}
	}
	return ignoreRefused(w.row(on))
}

// ignoreRefused drops the error of a row that an API call made invalid
// since the worker checked: it checks again.
func ignoreRefused(err error) error {
	if errors.Is(err, ErrInvalidTransition) || errors.Is(err, errEdited) {
		return nil
	}
	return err
}

// read loads the header, and what only a call changes when it did.
func (w *worker) read() error {
	if w.fresh {
		w.fresh = false
		return nil
	}
	return w.e.cfg.Store.View(func(tx *store.Tx) (err error) {
		if w.b == nil {
			w.b, err = load(tx, w.id)
			return err
		}
		h, err := record.LoadHeader(tx, w.id)
		if err == nil && h.Edition != w.b.Edition {
			w.reread()
			w.b, err = load(tx, w.id)
			return err
		}
		w.b.Header = h
		return err
	})
}

// row commits a row that concerns no item. Entering PROCESSING raises the
// fencing number.
func (w *worker) row(on table.Trigger) error {
	states := w.e.states(w.b.spec)
	return w.commit(func(tx *store.Tx, b *full) error {
		if on == table.OnClaim || on == table.OnInstance {
			b.Fence++
		}
		return w.e.step(tx, b, table.Input{On: on}, states, nil)
	})
}

// commit runs fn on the batch as it is in the file and keeps what fn made of
// it, unless another worker has the lease by now.
func (w *worker) commit(fn func(*store.Tx, *full) error) error {
	var done record.Header
	err := w.e.update(func(tx *store.Tx) error {
		h, err := record.LoadHeader(tx, w.id)
		if errors.Is(err, ErrNotFound) {
			return errFenced // it was deleted, so it had been taken from this worker before
		}
		if err != nil {
			return err
		}
		if h.Fence != w.b.Fence {
			return errFenced
		}
		if h.Edition != w.b.Edition {
			return errEdited
		}
		b := full{id: w.id, Header: h, spec: w.b.spec, message: w.b.message}
		err = fn(tx, &b)
		done = b.Header
		return err
	})
	w.e.committed(w.b.spec.Owner, w.id, done.Status, err)
	if err == nil || errors.Is(err, errUnchanged) {
		w.logWait(w.b.Status, done.Status)
		w.b.Header = done
		return nil
	}
	return err
}

// logWait logs that the batch begins to wait, for an operator who
// wonders why nothing is sent.
func (w *worker) logWait(from, to event.BatchStatus) {
	if from == to {
		return
	}
	switch to {
	case event.BatchWaitingForInstance:
		w.e.cfg.Logger.Info("a batch waits: none of its instances can send now", "batch", w.id)
	case event.BatchWaitingForWindow:
		w.e.cfg.Logger.Info("a batch waits for its window", "batch", w.id)
	case event.BatchIsInterrupted:
		w.e.cfg.Logger.Info("a batch was interrupted", "batch", w.id)
	default:
	}
}
