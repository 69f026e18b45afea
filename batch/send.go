package batch

import (
	"context"
	"errors"
	"sync"
	"time"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/batch/schedule"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// outcome is how one send ended.
type outcome struct {
	attempt record.AttemptStatus
	status  record.ItemStatus
	move    table.Move
	code    string
	reason  string
	receipt Receipt
	changes uint64        // of the instance, before the send
	busy    bool          // the instance can send, only not this now
	held    bool          // the Fleet's gate was shut behind the choice
	on      table.Trigger // set when the send was given up: OnLeaseLost or OnShutdown
}

func unknown(reason string) outcome {
	return outcome{attempt: record.AttemptUnknown, status: record.ItemUnknown, move: table.MoveUnknown, code: event.SendResultUnknown, reason: reason}
}

// process sends items until the batch leaves PROCESSING.
func (w *worker) process() error {
	content, err := mailing.ParseContent(w.b.message, w.b.spec.Options.Spin)
	if err != nil {
		return err
	}
	w.content = content
	item, err := w.begin()
	for err == nil && item != nil {
		var delay time.Duration
		item, delay, err = w.finish(*item, w.send(*item))
		if err == nil && item == nil && w.b.Status == event.BatchProcessing {
			w.wait(delay)
			item, err = w.begin()
		}
	}
	return ignoreRefused(err)
}

// begin assigns the next item, or commits the row that prevents it; then it
// returns nil.
func (w *worker) begin() (item *record.Item, err error) {
	c, err := w.pickReady()
	if err != nil {
		return nil, err
	}
	stopping := w.e.stopping()
	states := w.e.states(w.b.spec)
	ended := false
	err = w.commit(func(tx *store.Tx, b *full) error {
		item, ended = nil, false
		window, _ := b.windowAt(tx.Now())
		switch {
		case b.Status != event.BatchProcessing:
			return errUnchanged
		case stopping:
			return w.e.step(tx, b, table.Input{On: table.OnShutdown}, states, nil)
		case b.Counts.Open() == 0:
			last, err := b.loadOrLost(tx, b.Current)
			if err != nil {
				return err
			}
			return w.e.step(tx, b, table.Input{On: table.OnNothingLeft}, states, &subject{b.Current, last})
		case window != schedule.Open:
			return w.e.step(tx, b, table.Input{On: table.OnWindowEnds}, states, nil)
		case c.none():
			return w.e.step(tx, b, table.Input{On: table.OnNoInstance}, states, nil)
		case c.cut:
			return errUnchanged
		}
		if ended = w.e.optedOut(tx, b, c); ended {
			return w.e.skip(tx, b, c, states)
		}
		r, err := w.e.give(tx, b, c)
		item = &r
		if err != nil {
			return err
		}
		return w.e.step(tx, b, table.Input{On: table.OnGive, Give: true}, states, nil)
	})
	if err == nil && (item != nil || ended) {
		w.gave(c.position)
	}
	return item, err
}

// pickReady is pick, and waits until what it chose may leave: what is committed
// as SENDING is on its way, and not waiting for the time between two messages.
func (w *worker) pickReady() (choice, error) {
	for {
		c, err := w.pick(nil)
		window, _ := w.b.windowAt(w.e.now())
		if err != nil || c.instance == 0 || c.ready(w.e.now()) || window != schedule.Open || w.distracted() {
			return c, err
		}
		w.wait(c.after.Sub(w.e.now()))
	}
}

// send sends the item that was committed as SENDING. It comes back at the
// latest when the lease has ended, or when Stop has waited long enough. While
// the message has not left, anything that ends the work on the batch cancels it.
func (w *worker) send(r record.Item) outcome {
	if r.Between() {
		w.waitForPart(&r)
		return outcome{}
	}
	if r.Lost() {
		return damaged("the item's record in the data file is damaged; nothing was sent")
	}
	content, err := w.render(&r)
	if err != nil {
		return damaged(err.Error())
	}
	timeout, term := w.e.cfg.bounds(content)
	turn := w.e.cfg.TurnTimeout
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	limit := time.AfterFunc(timeout+turn, func() { cancel(context.DeadlineExceeded) })
	defer limit.Stop()
	lease := time.NewTimer(term + turn)
	defer lease.Stop()
	leaves := &departure{now: func() { // what it waited for is not counted
		limit.Reset(w.e.cfg.SendTimeout)
		lease.Reset(term)
	}}
	type result struct {
		receipt Receipt
		err     error
	}
	results := make(chan result, 1)
	changes := w.e.changesOf(r.Instance)
	out := event.Outgoing{
		ID: r.ClientID, To: r.Recipient() + "@" + event.UserServer, Content: content,
		Presence: event.Presence(w.b.spec.Options.Presence), By: event.ByBatch, Holder: w.id.String(), Leaving: leaves.leave,
		Attributes: w.b.spec.Options.ExternalAttributes,
	}
	out.Found = w.found(r.Recipient(), len(r.Parts) == 0)
	if len(r.Parts) == 0 {
		out.Quoted = w.b.message.Quoted
	} else if w.content.Album() && r.Parts[0].Instance == r.Instance { // else its chat with the recipient has no album
		out.Album = r.Parts[0].WhatsApp
	}
	w.e.sends.Go(func() {
		receipt, err := w.e.cfg.Fleet.Send(ctx, r.Instance, out)
		results <- result{receipt, err}
	})
	over, halt := w.shuts()
	defer halt()
	stop := w.e.stop
	var halts <-chan time.Time // when to see whether the batch can continue
	shut := false              // the window is
	for {
		select {
		case res := <-results:
			o := w.outcomeOf(res.receipt, res.err)
			o.changes = changes
			return o
		case <-lease.C:
			if leaves.cancel() {
				return calledOff()
			}
			o := unknown("the send did not come back within its lease")
			o.on = table.OnLeaseLost
			return o
		case <-w.nudge:
			halts = time.After(cancelGrace)
		case <-over:
			over, shut, halts = nil, true, time.After(cancelGrace)
		case <-stop:
			stop, halts = nil, time.After(cancelGrace)
		case <-halts:
			halts = nil
			if (shut || w.e.stopping() || w.changed()) && leaves.cancel() {
				return calledOff()
			}
		case <-w.e.hard:
			if leaves.cancel() {
				return calledOff()
			}
			o := unknown("the program stopped before the send came back")
			o.on = table.OnShutdown
			return o
		}
	}
}

// damaged returns the outcome of an item of which the file has no intact record.
func damaged(reason string) outcome {
	return outcome{attempt: record.AttemptFailed, status: record.ItemFailed, move: table.MoveFailed, code: record.CodeDamaged, reason: reason}
}

// render returns what the current item sends. An error means that it cannot be known.
func (w *worker) render(r *record.Item) (event.Content, error) {
	part := len(r.Parts)
	if part >= len(w.content.Parts) {
		return event.Content{}, errNoPart
	}
	if !w.content.Templated() {
		return w.content.Parts[part].Fixed, nil
	}
	var d record.Details
	err := w.e.cfg.Store.View(func(tx *store.Tx) (err error) {
		d, err = record.LoadDetails(tx, w.id, w.b.Current, r)
		return err
	})
	if err != nil {
		return event.Content{}, err
	}
	return w.content.Render(part, record.ItemID(w.id, w.b.Current), d)
}

// cancelGrace is how long a message still has to leave when its batch cannot continue:
// a message that is about to leave is not worth a second attempt.
const cancelGrace = 20 * time.Millisecond

// shuts returns a channel that is closed when the batch's window ends, and a
// function that ends the wait for it.
func (w *worker) shuts() (over <-chan struct{}, halt func()) {
	window, ends := w.b.windowAt(w.e.now())
	if window != schedule.Open || ends.IsZero() {
		return nil, func() {}
	}
	shut := make(chan struct{})
	return shut, schedule.NewAlarm(ends, w.e.now, func() { close(shut) }).Stop
}

// calledOff returns the outcome of a send that was still being prepared, or waited
// for its turn, when its batch could not continue: it goes back to wait.
func calledOff() outcome {
	return outcome{attempt: record.AttemptUnavailable, status: record.ItemPending, move: table.MoveBack, busy: true, reason: errCalledOff.Error()}
}

// bounds returns the longest time for a send of the content, and the longest time
// that one may go unanswered.
func (c *Config) bounds(content event.Content) (timeout, lease time.Duration) {
	files := time.Duration(len(content.Files()))
	if content.Link != nil && content.Link.ThumbnailURL != "" {
		files = 1
	}
	return c.SendTimeout + files*c.MediaTimeout, c.Lease + files*c.MediaTimeout
}

func (w *worker) outcomeOf(receipt Receipt, err error) outcome {
	failed := outcome{attempt: record.AttemptFailed, status: record.ItemFailed, move: table.MoveFailed, code: event.SendMessageFailed}
	switch {
	case err == nil:
		return outcome{attempt: record.AttemptSuccess, status: record.ItemSuccess, move: table.MoveSuccess, receipt: receipt}
	case errors.Is(err, errDuplicate):
		return outcome{attempt: record.AttemptFailed, status: record.ItemSkipped, move: table.MoveSkipped, code: codeDuplicate, reason: errDuplicate.Error()}
	case errors.Is(err, errOptedOut):
		return optedOut()
	case errors.Is(err, event.ErrOutcomeUnknown):
		return unknown(err.Error())
	case errors.Is(err, event.ErrBusy):
		return outcome{attempt: record.AttemptUnavailable, status: record.ItemPending, move: table.MoveBack, busy: true, reason: err.Error()}
	case errors.Is(err, event.ErrNotNow):
		return outcome{attempt: record.AttemptUnavailable, status: record.ItemPending, move: table.MoveBack, held: true, code: event.NotNowCode(err), reason: err.Error()}
	case errors.Is(err, event.ErrNotConnected), isFullDisk(err):
		return outcome{attempt: record.AttemptUnavailable, status: record.ItemPending, move: table.MoveBack, reason: err.Error()}
	case errors.Is(err, event.ErrNotOnWhatsApp) && w.b.spec.Options.SkipUnregistered:
		return outcome{attempt: record.AttemptFailed, status: record.ItemSkipped, move: table.MoveSkipped, code: codeNotOnWhatsApp, reason: err.Error()}
	case errors.Is(err, event.ErrNotOnWhatsApp), errors.Is(err, event.ErrSendRefused):
		failed.reason = err.Error()
		return failed
	}
	return unknown(err.Error())
}

// isFullDisk reports whether a message did not leave for lack of disk space for its
// file: the item is valid and can be sent once there is space.
func isFullDisk(err error) bool {
	return errors.Is(err, event.ErrSendRefused) && errors.Is(err, store.ErrDiskFull)
}

// wait waits for d, or until pause, stop, the window's end or Stop.
func (w *worker) wait(d time.Duration) {
	if window, _ := w.b.windowAt(w.e.now()); d <= 0 || window != schedule.Open {
		return
	}
	over, halt := w.shuts()
	defer func() { halt() }()
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			return
		case <-over:
			if over, halt = w.shuts(); over == nil {
				return
			} // else the clock was set, and the next window is open
		case <-w.e.stop:
			return
		case <-w.nudge:
			if w.changed() {
				return
			}
		}
	}
}

// changed reports whether the batch is no longer this worker's to continue with.
// A nudge alone does not say so: a call may have changed nothing.
func (w *worker) changed() bool {
	var h record.Header
	err := w.e.cfg.Store.View(func(tx *store.Tx) (err error) {
		h, err = record.LoadHeader(tx, w.id)
		return err
	})
	return err != nil || h.Status != w.b.Status || h.Fence != w.b.Fence
}

// departure is the moment after which a message may have left: the send asks
// for it, and until then it can be cancelled.
type departure struct {
	now func() // called when it leaves

	mu     sync.Mutex
	left   bool
	called bool // off
}

var errCalledOff = errors.New("the send was called off before the message left")

// leave is event.Outgoing.Leaving.
func (d *departure) leave() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.called {
		return errCalledOff
	}
	if !d.left {
		d.now()
	}
	d.left = true
	return nil
}

// cancel keeps the message from leaving. It reports false when it may have
// left already.
func (d *departure) cancel() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.called = !d.left
	return d.called
}
