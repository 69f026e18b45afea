package batch

import (
	"time"

	"postern/batch/record"
	"postern/batch/schedule"
	"postern/batch/table"
	"postern/event"
)

// reduceOver is the size of a message payload above which progress and
// completed-with-errors events leave the message out.
const reduceOver = 4 << 10

// statusIn is the status that an event's payload carries, which is not always
// the one that the batch has when the commit has ended.
var statusIn = map[event.Kind]event.BatchStatus{
	event.BatchCreated:             event.BatchQueued,
	event.BatchScheduled:           event.BatchIsScheduled,
	event.BatchStarted:             event.BatchProcessing,
	event.BatchWindowStarted:       event.BatchQueued,
	event.BatchWaitingWindow:       event.BatchWaitingForWindow,
	event.BatchRecovered:           event.BatchQueued,
	event.BatchProgress:            event.BatchProcessing,
	event.BatchPauseRequested:      event.BatchPauseAsked,
	event.BatchPaused:              event.BatchIsPaused,
	event.BatchWaitingInstance:     event.BatchWaitingForInstance,
	event.BatchResumed:             event.BatchProcessing,
	event.BatchStopRequested:       event.BatchStopAsked,
	event.BatchStopped:             event.BatchIsStopped,
	event.BatchInterrupted:         event.BatchIsInterrupted,
	event.BatchCompleted:           event.BatchIsCompleted,
	event.BatchCompletedWithErrors: event.BatchIsWithErrors,
}

// payload returns the data of an event about the batch, or about one of its items.
// interruption is why it was interrupted, if it was before the step.
func (b *full) payload(kind event.Kind, states []event.State, item *subject, interruption string) any {
	if kind == event.BatchItemFailed || kind == event.BatchItemUnknown {
		return b.itemData(kind, item)
	}
	reduced := len(b.message.Message.Payload) > reduceOver
	switch {
	case reduced && kind == event.BatchProgress:
		return event.BatchData{Batch: b.reducedProgress(states, item)}
	case reduced && kind == event.BatchCompletedWithErrors:
		return event.BatchData{Batch: b.reducedCompleted()}
	}
	v := event.BatchView{
		ID: b.id.String(), Name: b.spec.Name, Status: statusIn[kind], Progress: b.Counts.Percent(),
		Counts: counts(b.Counts), CreatedAt: milli(b.spec.CreatedAt), UpdatedAt: milli(b.UpdatedAt),
		NextRunAt: milliPtr(b.NextRunAt), Schedule: b.spec.Schedule, AutoResume: b.AutoResume,
		Options: b.spec.Options, Message: b.message.Message, OwnerUserID: b.spec.Owner.String(),
		Instances: b.instances(states), InterruptionReason: event.OrNull(b.Reason),
		LastInterruptedAt: milliPtr(b.InterruptedAt), LastRecoveredAt: milliPtr(b.RecoveredAt),
	}
	switch kind {
	case event.BatchRecovered:
		v.InterruptionReason = event.OrNull(interruption) // what it was recovered from
	case event.BatchStarted, event.BatchResumed:
		v.StartedAt = milli(b.StartedAt)
	case event.BatchProgress:
		v.StartedAt, v.CurrentItem = milli(b.StartedAt), b.itemRef(item)
	case event.BatchPaused:
		v.PausedAt = milli(b.PausedAt)
	case event.BatchStopped:
		v.StoppedAt = milli(b.StoppedAt)
	case event.BatchInterrupted:
		v.InterruptedAt = milli(b.InterruptedAt)
	case event.BatchCompleted, event.BatchCompletedWithErrors:
		v.CompletedAt = milli(b.CompletedAt)
	default:
	}
	return event.BatchData{Batch: &v}
}

// itemData has the only code of its event. That of the item may be more specific.
func (b *full) itemData(kind event.Kind, item *subject) event.BatchItemData {
	r, code := item.record, event.SendMessageFailed
	if kind == event.BatchItemUnknown {
		code = event.SendResultUnknown
	}
	return event.BatchItemData{
		BatchID: b.id.String(), ItemID: record.ItemID(b.id, item.position).String(), Recipient: r.Recipient(),
		Instance: event.BatchItemSender{ID: r.Instance, Name: b.spec.InstanceName(r.Instance)},
		Error:    event.BatchItemError{Code: code, Message: r.Error},
	}
}

func (b *full) itemRef(item *subject) *event.BatchItemRef {
	return &event.BatchItemRef{
		ID: record.ItemID(b.id, item.position).String(), Position: item.position,
		InstanceName: b.spec.InstanceName(item.record.Instance), Recipient: item.record.Recipient(),
	}
}

func (b *full) reducedProgress(states []event.State, item *subject) *event.BatchProgressReduced {
	v := &event.BatchProgressReduced{
		Counts: counts(b.Counts), CreatedAt: milli(b.spec.CreatedAt), CurrentItem: b.itemRef(item),
		ID: b.id.String(), Name: b.spec.Name, Progress: b.Counts.Percent(), StartedAt: milli(b.StartedAt),
		Status: event.BatchProcessing, UpdatedAt: milli(b.UpdatedAt),
	}
	for _, i := range b.instances(states) {
		v.Instances = append(v.Instances, event.BatchInstanceReduced{
			ID: i.ID, Name: i.Name, ConnectionStatus: i.ConnectionStatus, SelectedCount: i.SelectedCount,
		})
	}
	return v
}

func (b *full) reducedCompleted() *event.BatchCompletedReduced {
	return &event.BatchCompletedReduced{
		CompletedAt: milli(b.CompletedAt), Counts: counts(b.Counts), ID: b.id.String(), Name: b.spec.Name,
		Progress: b.Counts.Percent(), Status: b.Status, UpdatedAt: milli(b.UpdatedAt),
	}
}

func (b *full) instances(states []event.State) []event.BatchInstance {
	all := make([]event.BatchInstance, len(b.spec.Instances))
	for i, ref := range b.spec.Instances {
		s := b.Shares[i]
		all[i] = event.BatchInstance{
			ID: ref.ID, Name: ref.Name, ConnectionStatus: states[i],
			SelectedCount: s.Selected, FailedCount: s.Failed, SuccessCount: s.Success,
		}
	}
	return all
}

// view returns the batch as the API shows it at now.
func (b *full) view(states []event.State, now time.Time) View {
	c := counts(b.Counts)
	c.Received, c.DuplicatesIgnored = &b.spec.Received, &b.spec.Duplicates
	return View{
		ID: b.id, Name: b.spec.Name, Status: b.Status, Progress: b.Counts.Percent(), Counts: c,
		CreatedAt: milli(b.spec.CreatedAt), UpdatedAt: milli(b.UpdatedAt), StartedAt: milliPtr(b.StartedAt),
		CompletedAt: milliPtr(b.CompletedAt), PausedAt: milliPtr(b.PausedAt), StoppedAt: milliPtr(b.StoppedAt),
		InterruptedAt: milliPtr(b.InterruptedAt), NextRunAt: b.nextRun(now), Schedule: b.spec.Schedule,
		AutoResume: b.AutoResume, Options: b.spec.Options, Message: b.message.Messages(), OwnerUserID: b.spec.Owner, RetryOf: b.spec.RetryOf,
		Instances: b.instances(states), InterruptionReason: event.OrNull(b.Reason),
		LastInterruptedAt: milliPtr(b.InterruptedAt), LastRecoveredAt: milliPtr(b.RecoveredAt),
		ExternalAttributes: event.Attributes(b.message.Attributes),
	}
}

// nextRun returns when a batch that waits for a window continues, nil when it never
// will. The stored time may have passed while neither program nor machine ran.
func (b *full) nextRun(now time.Time) *event.Time {
	if b.Status == event.BatchIsScheduled || b.Status == event.BatchWaitingForWindow {
		switch w, opens := b.windowAt(now); w {
		case schedule.Shut:
			return milliPtr(opens.UnixMilli())
		case schedule.Spent:
			return nil
		case schedule.Open: // the worker is about to notice
		}
	}
	return milliPtr(b.NextRunAt)
}

func counts(c table.Counts) event.BatchCounts {
	return event.BatchCounts{
		Failed: c.Failed, Pending: c.Pending, Processed: c.Processed(), Sending: c.Sending,
		Skipped: c.Skipped, Success: c.Success, Total: c.Total, Unknown: c.Unknown,
	}
}

func milli(ms int64) event.Time {
	if ms == 0 {
		return event.Time{}
	}
	return event.At(time.UnixMilli(ms))
}

func milliPtr(ms int64) *event.Time {
	if ms == 0 {
		return nil
	}
	t := milli(ms)
	return &t
}
