package batch

import (
	"errors"
	"time"

	"postern/batch/record"
	"postern/batch/schedule"
	"postern/batch/table"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// The reasons of an interruption.
const (
	reasonLease    = "LEASE_EXPIRED"
	reasonShutdown = "GRACEFUL_SHUTDOWN"
	reasonRestored = "RESTORED" // from a backup; it continues when a call says so
)

// errUnchanged ends a transaction without a change.
var errUnchanged = errors.New("batch: nothing to change")

// subject is the item that the events of a step are about.
type subject struct {
	position int
	record   record.Item
}

// step applies one row of the table inside a transaction: the header, the
// index of open batches and the events. The item and its attempt are the
// caller's. A call that changes nothing is errUnchanged, so that it costs no
// commit.
func (e *Engine) step(tx *store.Tx, b *full, in table.Input, states []event.State, item *subject) error {
	in.Window, _ = b.windowAt(tx.Now())
	d, err := table.Next(b.Core, in)
	if err == nil && d.Row == "" {
		err = errUnchanged
	}
	if err != nil {
		return err
	}
	interruption, from := b.Reason, b.Status
	b.advance(d, in, tx.Now())
	if err := b.settle(tx); err != nil {
		return err
	}
	if err := record.PutHeader(tx, b.id, &b.Header); err != nil {
		return err
	}
	if table.Final(b.Status) {
		if err := tx.Delete(record.BucketOpen, b.id[:]); err != nil {
			return err
		}
	}
	if err := record.NoteStatus(tx, b.spec.Owner, b.id, from, b.Status); err != nil {
		return err
	}
	for _, kind := range d.Events {
		emission := outbox.Emission{Kind: kind, Owner: b.spec.Owner, Batch: b.id, Data: b.payload(kind, states, item, interruption)}
		if err := e.cfg.Outbox.Emit(tx, emission); err != nil {
			return err
		}
	}
	return nil
}

func (b *full) windowAt(now time.Time) (schedule.Window, time.Time) {
	if b.WindowOff {
		return schedule.Open, time.Time{}
	}
	return b.spec.Window.At(now)
}

// advance applies a decision.
func (b *full) advance(d table.Decision, in table.Input, at time.Time) {
	from := b.Status
	b.Core = d.Core
	b.UpdatedAt = at.UnixMilli()
	if in.On == table.OnStart || in.On == table.OnRecover {
		b.Reason = ""
		b.WindowOff = b.WindowOff || in.On == table.OnStart && in.Window == schedule.Spent
	}
	if from != b.Status {
		b.enter(in, at)
	}
	if in.Moved {
		b.plan(at)
	}
	if in.On == table.OnRestored && b.Status == event.BatchIsInterrupted {
		b.Reason = reasonRestored
	}
}

// enter sets the times of the status that the batch has now.
func (b *full) enter(in table.Input, at time.Time) {
	now := at.UnixMilli()
	b.plan(at)
	switch b.Status {
	case event.BatchProcessing:
		if b.StartedAt == 0 {
			b.StartedAt = now
		}
	case event.BatchIsPaused:
		b.PausedAt = now
	case event.BatchIsStopped:
		b.StoppedAt = now
	case event.BatchIsInterrupted:
		b.InterruptedAt, b.Reason = now, reasonLease
		if in.On == table.OnShutdown {
			b.Reason = reasonShutdown
		}
	case event.BatchIsCompleted, event.BatchIsWithErrors:
		b.CompletedAt = now
	default:
	}
	if in.On == table.OnRecover {
		b.RecoveredAt = now
	}
}

// plan sets when a batch that waits for a window continues.
func (b *full) plan(at time.Time) {
	b.NextRunAt = 0
	if b.Status == event.BatchIsScheduled || b.Status == event.BatchWaitingForWindow {
		if w, until := b.windowAt(at); w == schedule.Shut {
			b.NextRunAt = until.UnixMilli()
		}
	}
}

// share returns the counts of one of the batch's instances.
func (b *full) share(instance int64) *record.Share {
	for i, ref := range b.spec.All() {
		if ref.ID == instance {
			return &b.Shares[i]
		}
	}
	return &record.Share{}
}

// give sets the chosen item to SENDING.
func (b *full) give(tx *store.Tx, c choice) (record.Item, error) {
	r, err := b.loadOrLost(tx, c.position)
	if err != nil {
		return r, err
	}
	r.Status, r.Instance, r.ClientID = record.ItemSending, c.instance, c.messageID
	r.Code, r.Error = "", ""
	r.Attempts++
	r.StartedAt, r.EndedAt = tx.Now().UnixMilli(), 0
	b.share(c.instance).Selected++
	b.pointAt(c)
	b.putItem(tx, c.position, &r)
	return r, nil
}

// pointAt makes the chosen item the current one.
func (b *full) pointAt(c choice) {
	b.Current, b.Cursor = c.position, c.first
	if c.position == c.first {
		b.Cursor++
	}
}

// end stores the outcome of the current item. An attempt that found no instance
// gets its own record, since the item does not keep it; the item goes back to PENDING
// and is assigned next.
func (b *full) end(tx *store.Tx, r *record.Item, o outcome) error {
	now := tx.Now().UnixMilli()
	r.Code, r.Error = o.code, o.reason
	s := b.share(r.Instance)
	switch o.move {
	case table.MoveSuccess:
		s.Success++
	case table.MoveFailed:
		s.Failed++
	default:
	}
	if o.attempt != record.AttemptUnavailable {
		r.Status, r.EndedAt = o.status, now
		b.putItem(tx, b.Current, r)
		return nil
	}
	a := record.Attempt{
		Instance: r.Instance, ClientID: r.ClientID, Status: o.attempt,
		Code: o.code, Error: o.reason, StartedAt: r.StartedAt, EndedAt: now, Parts: r.Parts,
	}
	if err := store.PutJSON(tx, record.BucketAttempt, record.AttemptKey(b.id, b.Current, r.Attempts), a); err != nil {
		return err
	}
	s.Selected--
	b.Cursor = min(b.Cursor, b.Current)
	r.Status, r.Instance, r.ClientID = "", 0, ""
	if len(r.Parts) == 0 { // else its messages were sent about then
		r.StartedAt = 0
	}
	b.putItem(tx, b.Current, r)
	return nil
}
