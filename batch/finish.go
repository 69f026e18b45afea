package batch

import (
	"cmp"
	"errors"
	"time"

	"postern/batch/record"
	"postern/batch/schedule"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// finish commits the outcome, and in the same commit the SENDING of the item
// that comes next when it may go at once; that one is returned.
func (w *worker) finish(r record.Item, o outcome) (next *record.Item, delay time.Duration, err error) {
	select { // a nudge from before this commit is answered by it
	case <-w.nudge:
	default:
	}
	f := finishing{item: r, part: w.partEnd(&r, &o), delay: w.delay(), stopping: w.e.stopping(), states: w.e.states(w.b.spec)}
	f.outcome = o
	var back *unsent
	if f.part == nil || !f.part.goesOn {
		back = w.judge(r, o)
		if f.next, err = w.pick(back); err != nil {
			f.next = choice{cut: true} // the outcome is stored in any case, and begin meets the error again
		}
		f.ready = f.next.ready(w.e.now())
	}
	err = w.commit(func(tx *store.Tx, b *full) (err error) {
		next, err = f.apply(tx, w.e, b)
		return err
	})
	if err == nil && (back != nil || f.part != nil) {
		w.reread()
	}
	if err == nil && (next != nil && f.next.instance != 0 || f.passed) {
		w.gave(f.next.position)
	}
	if f.passed {
		f.delay = 0 // nothing is sent after which there is one
	}
	if next == nil {
		w.e.cfg.LetGo(w.id)
	}
	if lost, ok := errors.AsType[recordError](err); ok {
		return w.finish(r, unknown("the message was sent but could not be stored: "+lost.Error()))
	}
	receipt := o.receipt
	if f.part != nil {
		receipt = f.part.receipt
	}
	if err == nil && receipt.Committed != nil {
		receipt.Committed()
	}
	return next, f.delay, err
}

// judge updates the state of the instance after an outcome, and returns
// the item if it waits again.
func (w *worker) judge(r record.Item, o outcome) (back *unsent) {
	if o.move != table.MoveBack {
		delete(w.dropped, r.Instance)
		return nil
	}
	back = &unsent{position: w.b.Current, recipient: r.Recipient(), prefers: r.Prefers()}
	shut := o.held && w.gate(r.Instance, *back).Shut(w.e.now()) // tells by itself when to ask again
	if !o.busy && !shut {
		w.drop(r.Instance, o.changes)
	}
	return back
}

// finishing has all inputs for the commit of an outcome, fixed before its
// transaction so that the closure is pure.
type finishing struct {
	item     record.Item
	part     *partEnd // nil: it has no more messages
	outcome  outcome
	delay    time.Duration
	next     choice
	ready    bool // next may leave at once
	stopping bool
	states   []event.State
	passed   bool // set by apply: next was skipped, for its recipient opted out
}

func (f *finishing) apply(tx *store.Tx, e *Engine, b *full) (next *record.Item, err error) {
	item, o := f.item, f.outcome
	f.passed = false
	if f.part != nil {
		var goesOn bool
		if goesOn, o, err = f.part.apply(tx, e, b, &item, f); err != nil || goesOn {
			return &item, err
		}
	}
	in := f.input(o, b, tx.Now())
	if o.receipt.Record != nil && o.move == table.MoveSuccess {
		if item.MessageID, err = o.receipt.Record(tx); err != nil {
			return nil, recordError{err}
		}
	}
	item.WhatsApp, item.JID = o.receipt.WhatsAppID, cmp.Or(o.receipt.RecipientJID, item.JID)
	if in.On == table.OnLeaseLost {
		b.Fence++
	}
	if o.move != table.MoveBack && b.Counts.Pending > 0 {
		ms := f.delay.Milliseconds()
		item.DelayMs = &ms
	}
	ended := subject{b.Current, item}
	if err := b.end(tx, &ended.record, o); err != nil {
		return nil, err
	}
	f.passed = (in.Give || in.On == table.OnRegive) && e.optedOut(tx, b, f.next)
	if f.passed {
		if in.Give = false; in.On == table.OnRegive {
			in.On, in.Item = table.OnItemBack, table.MoveBack
		}
		if err := e.step(tx, b, in, f.states, &ended); err != nil {
			return nil, err
		}
		return nil, e.skip(tx, b, f.next, f.states)
	}
	if in.Give || in.On == table.OnRegive {
		given, err := e.give(tx, b, f.next)
		if err != nil {
			return nil, err
		}
		next = &given
	}
	return next, e.step(tx, b, in, f.states, &ended)
}

// input returns the input of the table for the outcome.
func (f *finishing) input(o outcome, b *full, now time.Time) table.Input {
	window, _ := b.windowAt(now)
	in := table.Input{On: table.OnItemEnded, Item: o.move}
	switch {
	case o.on != "":
		in.On = o.on
	case b.Status != event.BatchProcessing:
		in.On = table.OnSafePoint
	case o.move != table.MoveBack:
		in.Give = f.delay == 0 && f.ready && !f.stopping && window == schedule.Open && b.Counts.Pending > 0
	case f.stopping:
		in.On = table.OnShutdown
	case window != schedule.Open:
		in.On = table.OnWindowEnds
	case f.next.none():
		in.On = table.OnNoInstance
	case f.next.instance != 0 && f.next.position == b.Current:
		in.On, in.Item = table.OnRegive, table.MoveNone
	default:
		in.On = table.OnItemBack
		in.Give = f.next.instance != 0 && (f.delay == 0 || !o.held)
	}
	return in
}

// delay draws the delay that follows an item.
func (w *worker) delay() time.Duration {
	d := w.b.spec.Options.Delay
	return time.Duration(d.MinMs+w.e.random(w.id, d.MaxMs-d.MinMs+1)) * time.Millisecond
}

// recordError means that the message left but its record cannot be stored.
type recordError struct{ error }
