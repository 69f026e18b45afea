package batch

import (
	"strconv"
	"time"

	"postern/batch/record"
	"postern/event"
)

// modelEvent is an event that the rules ask for.
type modelEvent struct {
	kind event.Kind
	at   time.Time
	data any // nil: of an item, whose message is free
	item event.BatchItemData
}

// modelStatus is the status in an event's payload.
var modelStatus = map[event.Kind]event.BatchStatus{
	"message.batch.created":               "QUEUED",
	"message.batch.scheduled":             "SCHEDULED",
	"message.batch.started":               "PROCESSING",
	"message.batch.window-started":        "QUEUED",
	"message.batch.waiting-window":        "WAITING_FOR_WINDOW",
	"message.batch.recovered":             "QUEUED",
	"message.batch.progress":              "PROCESSING",
	"message.batch.pause-requested":       "PAUSE_REQUESTED",
	"message.batch.paused":                "PAUSED",
	"message.batch.waiting-instance":      "WAITING_FOR_INSTANCE",
	"message.batch.resumed":               "PROCESSING",
	"message.batch.stop-requested":        "STOP_REQUESTED",
	"message.batch.stopped":               "STOPPED",
	"message.batch.interrupted":           "INTERRUPTED",
	"message.batch.completed":             "COMPLETED",
	"message.batch.completed-with-errors": "COMPLETED_WITH_ERRORS",
}

// event returns the event as it must be in the outbox, but for the text of an item's
// error.
func (m *modelBatch) event(kind event.Kind) modelEvent {
	e := modelEvent{kind: kind, at: m.env.wall()}
	if kind == event.BatchItemFailed || kind == event.BatchItemUnknown {
		last := m.lastTry()
		e.item = event.BatchItemData{
			BatchID: m.id.String(), ItemID: record.ItemID(m.id, m.subject).String(), Recipient: m.spec.recipients[m.subject],
			Instance: event.BatchItemSender{ID: last.instance, Name: instanceName(last.instance)},
			Error:    event.BatchItemError{Code: last.code},
		}
		return e
	}
	full := m.fullEvent(kind)
	e.data = event.BatchData{Batch: full}
	if len(m.spec.request.Message.Payload) <= 4096 {
		return e
	}
	switch kind {
	case event.BatchProgress:
		e.data = event.BatchData{Batch: reducedProgress(full)}
	case event.BatchCompletedWithErrors:
		e.data = event.BatchData{Batch: event.BatchCompletedReduced{
			CompletedAt: full.CompletedAt, Counts: full.Counts, ID: full.ID, Name: full.Name,
			Progress: full.Progress, Status: full.Status, UpdatedAt: full.UpdatedAt,
		}}
	default:
	}
	return e
}

func (m *modelBatch) lastTry() modelTry {
	tries := m.items[m.subject].tries
	return tries[len(tries)-1]
}

// sender returns the name of the instance that sent the item which ended last.
func (m *modelBatch) sender() string {
	if m.items[m.subject].out {
		return ""
	}
	return instanceName(m.lastTry().instance)
}

func (m *modelBatch) fullEvent(kind event.Kind) event.BatchView {
	r := m.spec.request
	v := event.BatchView{
		ID: m.id.String(), Name: r.Name, Status: modelStatus[kind], Progress: m.percent(), Counts: m.counts(),
		CreatedAt: event.At(m.spec.created), UpdatedAt: event.At(m.updated), NextRunAt: event.AtPtr(m.nextRun),
		Schedule: r.Schedule, AutoResume: m.spec.auto, Options: r.Options, Message: r.Message,
		OwnerUserID: m.spec.owner.String(), Instances: m.instances(), InterruptionReason: event.OrNull(m.reason),
		LastInterruptedAt: event.AtPtr(m.interrupted), LastRecoveredAt: event.AtPtr(m.recovered),
	}
	switch kind {
	case event.BatchRecovered:
		v.InterruptionReason = event.OrNull(m.former)
	case event.BatchStarted, event.BatchResumed:
		v.StartedAt = event.At(m.began)
	case event.BatchProgress:
		v.StartedAt = event.At(m.began)
		v.CurrentItem = &event.BatchItemRef{
			ID: record.ItemID(m.id, m.subject).String(), InstanceName: m.sender(),
			Position: m.subject, Recipient: m.spec.recipients[m.subject],
		}
	case event.BatchPaused:
		v.PausedAt = event.At(m.pausedAt)
	case event.BatchStopped:
		v.StoppedAt = event.At(m.stoppedAt)
	case event.BatchInterrupted:
		v.InterruptedAt = event.At(m.interrupted)
	case event.BatchCompleted, event.BatchCompletedWithErrors:
		v.CompletedAt = event.At(m.completed)
	default:
	}
	return v
}

func reducedProgress(full event.BatchView) event.BatchProgressReduced {
	v := event.BatchProgressReduced{
		Counts: full.Counts, CreatedAt: full.CreatedAt, CurrentItem: full.CurrentItem, ID: full.ID, Name: full.Name,
		Progress: full.Progress, StartedAt: full.StartedAt, Status: full.Status, UpdatedAt: full.UpdatedAt,
	}
	for _, i := range full.Instances {
		v.Instances = append(v.Instances, event.BatchInstanceReduced{
			ID: i.ID, Name: i.Name, ConnectionStatus: i.ConnectionStatus, SelectedCount: i.SelectedCount,
		})
	}
	return v
}

func (m *modelBatch) counts() event.BatchCounts {
	return event.BatchCounts{
		Failed: m.count(record.ItemFailed), Pending: m.pending(), Sending: m.count(record.ItemSending), Skipped: m.count(record.ItemSkipped),
		Success: m.count(record.ItemSuccess), Unknown: m.count(record.ItemUnknown), Total: len(m.items),
		Processed: m.count(record.ItemFailed, record.ItemSkipped, record.ItemSuccess, record.ItemUnknown),
	}
}

func (m *modelBatch) instances() []event.BatchInstance {
	all := make([]event.BatchInstance, len(m.shares))
	for n, ref := range m.spec.request.Instances {
		s := m.shares[n]
		all[n] = event.BatchInstance{
			ID: ref.ID, Name: ref.Name, ConnectionStatus: m.env.state(ref.ID),
			SelectedCount: s.Selected, FailedCount: s.Failed, SuccessCount: s.Success,
		}
	}
	return all
}

// view returns the batch as REST must show it.
func (m *modelBatch) view() View {
	r, c := m.spec.request, m.counts()
	given := r.given().Len() + m.spec.added
	received, duplicates := given, given-len(m.items)
	c.Received, c.DuplicatesIgnored = &received, &duplicates
	messages := record.Messages{r.Message}
	for _, p := range r.More {
		messages = append(messages, p.BatchMessage)
	}
	next := m.nextRun
	if m.status == schedul || m.status == waitWin {
		if open, turn := m.open(); !open {
			next = turn
		}
	}
	return View{
		ID: m.id, Name: r.Name, Status: m.status, Progress: m.percent(), Counts: c,
		CreatedAt: event.At(m.spec.created), UpdatedAt: event.At(m.updated), StartedAt: event.AtPtr(m.began),
		CompletedAt: event.AtPtr(m.completed), PausedAt: event.AtPtr(m.pausedAt), StoppedAt: event.AtPtr(m.stoppedAt),
		InterruptedAt: event.AtPtr(m.interrupted), NextRunAt: event.AtPtr(next), Schedule: r.Schedule,
		AutoResume: m.spec.auto, Options: r.Options, Message: messages, OwnerUserID: m.spec.owner, RetryOf: m.spec.retryOf,
		Instances: m.instances(), InterruptionReason: event.OrNull(m.reason),
		LastInterruptedAt: event.AtPtr(m.interrupted), LastRecoveredAt: event.AtPtr(m.recovered),
		ExternalAttributes: event.Attributes(r.ExternalAttributes),
	}
}

// item is one item with its attempts as REST must show it, but for the texts
// of errors.
func (m *modelBatch) item(at int) ItemWithAttempts {
	i, id := m.items[at], record.ItemID(m.id, at)
	changed := i.changed
	if changed.Before(m.spec.created) { // the clock was set back
		changed = m.spec.created
	}
	v := ItemWithAttempts{Attempts: make([]Attempt, len(i.tries)), Item: Item{
		ID: id, BatchID: m.id, Position: at, RecipientInput: m.spec.inputs[at], NormalizedRecipient: m.spec.recipients[at],
		Status: i.status, AttemptCount: len(i.tries), SelectedDelayMs: i.delay,
		CreatedAt: event.At(m.spec.created), UpdatedAt: event.At(changed),
	}}
	if m.spec.own != nil {
		own := m.spec.own[at]
		v.ExternalID, v.Variables, v.RenderedPreview = own.externalID, own.variables, beginning(own.text)
	}
	for n, a := range i.tries {
		v.Attempts[n] = Attempt{
			ID: record.AttemptID(id, n+1), BatchID: m.id, BatchItemID: id, AttemptNumber: n + 1, InstanceID: a.instance,
			InstanceName: instanceName(a.instance), ClientMessageID: a.id, Status: a.status, ErrorCode: event.OrNull(a.code),
			CreatedAt: event.At(a.began), StartedAt: event.At(a.began), FinishedAt: event.AtPtr(a.ended),
		}
		if m.spec.more > 0 {
			v.Attempts[n].Parts = m.parts(i, a)
		}
	}
	to := m.spec.recipients[at] + "@" + event.UserServer
	if i.met {
		v.RecipientJID = &to
	}
	if len(i.tries) > 0 && len(i.sent) > 0 {
		v.ProcessingStartedAt = event.AtPtr(i.tries[len(i.tries)-1].began)
	}
	if i.out {
		code := "OPTED_OUT"
		v.LastErrorCode, v.FinishedAt = &code, event.AtPtr(i.changed)
		return v
	}
	if len(i.tries) == 0 {
		return v
	}
	last := i.tries[len(i.tries)-1]
	if i.status == record.ItemPending {
		v.LastErrorCode = event.OrNull(last.code)
		return v
	}
	name := instanceName(last.instance)
	v.SelectedInstanceID, v.SelectedInstanceName, v.ClientMessageID = &last.instance, &name, event.OrNull(last.id)
	v.ProcessingStartedAt, v.FinishedAt = event.AtPtr(last.began), event.AtPtr(last.ended)
	v.LastErrorCode = event.OrNull(last.code)
	if i.status == record.ItemSuccess {
		v.WhatsAppMessageID, v.RecipientJID, v.MessageID = &last.id, &to, &i.message
	}
	return v
}

// parts returns the messages of an attempt.
func (m *modelBatch) parts(i modelItem, a modelTry) (all []AttemptPart) {
	for _, p := range i.sent[:a.sent] {
		all = append(all, AttemptPart{Status: record.AttemptSuccess, WhatsAppMessageID: &p.id})
	}
	last := AttemptPart{Status: a.status, ErrorCode: event.OrNull(a.code)}
	if a.status == record.AttemptSuccess {
		last.WhatsAppMessageID = &a.id
	}
	return append(all, last)
}

func instanceName(id int64) string { return "i" + strconv.FormatInt(id, 10) }

func show[T any](p *T) any {
	if p == nil {
		return "none"
	}
	return *p
}
