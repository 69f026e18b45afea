package batch

import (
	"encoding/json"
	"slices"
	"time"

	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
)

// ending is how a send ends.
type ending struct {
	status  record.ItemStatus // PENDING: it found no instance
	try     record.AttemptStatus
	code    string
	on      table.Trigger // OnLeaseLost or OnShutdown when no worker waits for it any more
	message int64         // id of the stored message
	changes int           // of the instance, before the send
	busy    bool          // the instance could send, only not this then
	held    bool          // WhatsApp does not let the account write to strangers
}

func doubtful(on table.Trigger) ending {
	return ending{status: record.ItemUnknown, try: record.AttemptUnknown, code: event.SendResultUnknown, on: on}
}

// end commits the outcome of the send in flight, what follows from it in the
// same commit, and then what the worker continues with.
func (m *modelBatch) end(e ending) {
	i := &m.items[m.current]
	if e.status == record.ItemSuccess && len(i.sent) < m.spec.more {
		m.part(i, e)
		return
	}
	instance := i.tries[len(i.tries)-1].instance
	switch {
	case e.busy, e.held:
	case e.status == record.ItemPending:
		m.drop(instance, e.changes)
	default:
		delete(m.drops, instance)
	}
	rest, ok := m.delay(i, e)
	if !ok {
		return
	}
	m.flight, m.subject = nil, m.current
	m.settleItem(i, e)
	switch {
	case e.on != "" || m.status != process:
		m.leave(e)
	case e.status == record.ItemPending:
		m.goBack(e)
	case m.pending() == 0:
		m.finishBatch(m.itemKinds(e))
	default:
		m.goOn(e, rest)
	}
	if m.wrong == "" && !m.env.hard.IsZero() {
		m.shutdown()
	}
}

// part stores that a message of an item was sent, and goes on with the next one from
// the same instance if that may leave now. Else the item waits again.
func (m *modelBatch) part(i *modelItem, e ending) {
	last := &i.tries[len(i.tries)-1]
	delete(m.drops, last.instance)
	i.sent, i.met = append(i.sent, modelTry{instance: last.instance, id: last.id}), true
	i.changed, last.sent, m.flight = m.env.wall(), len(i.sent), nil
	open, _ := m.open()
	sent := last.id
	last.id = ""
	if m.env.optedOut[m.spec.recipients[m.current]] { // the batch may be deleted since
		m.end(ending{status: record.ItemSkipped, try: record.AttemptFailed, code: codeOptedOut})
		return
	}
	observed := m.seen().items[m.current].Attempts[len(i.tries)-1]
	goes := m.status == process && open && m.env.hard.IsZero()
	online := m.env.state(last.instance) == event.Online
	shut := m.env.shut(last.instance, m.spec.recipients[m.current], m.waits(), m.env.now)
	room := m.env.room(last.instance, m.spec.recipients[m.current], m.env.now)
	if went := observed.ClientMessageID != "" && observed.ClientMessageID != sent; goes && online && !shut && (room || went) && (went || !m.contended()) {
		last.id = observed.ClientMessageID
		m.flight = &modelFlight{last.id, m.env.now}
		m.commit()
		return
	}
	back := ending{status: record.ItemPending, try: record.AttemptUnavailable, busy: true}
	switch {
	case !goes:
	case !online:
		back.busy, back.changes = false, m.env.instances[last.instance].changes
	default:
		back.busy, back.held = false, true
	}
	if online && m.env.hard.IsZero() && observed.ErrorCode != nil && (!room || m.contended()) {
		back.code = *observed.ErrorCode
	}
	m.end(back)
}

// delay returns the pause after an item, which the engine drew.
func (m *modelBatch) delay(i *modelItem, e ending) (time.Duration, bool) {
	if e.status == record.ItemPending || m.pending() == 0 {
		return 0, true
	}
	drawn, d := m.seen().items[m.current].SelectedDelayMs, m.spec.request.Options.Delay
	if drawn == nil || *drawn < d.MinMs || *drawn > d.MaxMs {
		m.refuse("after item %d a delay of %v ms, allowed are %d to %d", m.current, show(drawn), d.MinMs, d.MaxMs)
		return 0, false
	}
	i.delay = drawn
	return time.Duration(*drawn) * time.Millisecond, true
}

// settleItem notes the outcome in the item, its attempt and its instance.
func (m *modelBatch) settleItem(i *modelItem, e ending) {
	now, last := m.env.wall(), &i.tries[len(i.tries)-1]
	i.status, i.changed, i.message = e.status, now, e.message
	last.status, last.code, last.ended = e.try, e.code, now
	s := m.share(last.instance)
	switch e.status {
	case record.ItemPending:
		s.Selected--
	case record.ItemSuccess:
		s.Success++
	case record.ItemFailed:
		s.Failed++
	default:
	}
}

// itemKinds returns the event that an item owes for its end, if any.
func (m *modelBatch) itemKinds(e ending) []event.Kind {
	switch e.status {
	case record.ItemFailed:
		return emit(event.BatchItemFailed)
	case record.ItemUnknown:
		return emit(event.BatchItemUnknown)
	default:
		return nil
	}
}

// leave ends PROCESSING, or what was asked of it, with the item that ended.
func (m *modelBatch) leave(e ending) {
	if e.on == table.OnLeaseLost {
		m.fence++
	}
	reason := reasonLease
	if e.on == table.OnShutdown {
		reason = reasonShutdown
	}
	m.rest(reason, m.itemKinds(e))
}

// rest takes the batch to the status in which it waits for a call.
func (m *modelBatch) rest(reason string, kinds []event.Kind) {
	switch m.status {
	case pausing:
		m.become(paused)
		kinds = append(kinds, event.BatchPaused)
	case stopping:
		m.become(stopped)
		kinds = append(kinds, event.BatchStopped)
	default:
		m.reason = reason
		m.become(interr)
		kinds = append(kinds, event.BatchInterrupted)
	}
	m.commit(kinds...)
}

// goBack is what a batch at work does with an item that found no instance.
func (m *modelBatch) goBack(e ending) {
	open, _ := m.open()
	able := m.able()
	d := m.spec.request.Options.Delay
	since := 0
	if m.given() >= 0 {
		since = 1 // was sent after this was drawn
	}
	rest := time.Duration(d.MinMs+m.draw(d.MaxMs-d.MinMs+1, since)) * time.Millisecond
	// Another batch may have had the room since this one looked and began its delay.
	lost := len(able) == 0 && e.held && rest > 0 && m.contended() && m.peek() == ""
	switch {
	case !m.env.hard.IsZero():
		m.rest(reasonShutdown, nil)
	case !open:
		m.shut()
	case !lost && m.stuck():
		m.park()
	case m.passes(0) == m.current:
		m.pass(able)
	case e.held && rest > 0 && m.given() != m.current: // others have their delay
		if m.given() >= 0 || !lost && !slices.ContainsFunc(able, func(id int64) bool { return !m.may(id, m.current) }) {
			m.refuse("after item %d went back, item %d was given", m.current, m.given())
			return
		}
		m.rests = m.env.now.Add(rest)
		m.looks()
		m.commit()
	case m.passes(0) >= 0:
		m.pass(able)
	case m.give(able):
		m.commit()
	}
}

// goOn stores the outcome of an item that is not the last, with the SENDING of
// the next one when that may go at once.
func (m *modelBatch) goOn(e ending, rest time.Duration) {
	kinds := append(m.itemKinds(e), m.progress()...)
	open, _ := m.open()
	able := m.able()
	m.rests = m.env.now.Add(rest)
	m.looks()
	contended := m.contended()
	had := m.unsure() && m.passes(len(kinds)) >= 0 // an instance
	if rest == 0 && open && (had || len(able) > 0) && m.env.hard.IsZero() {
		switch {
		case m.passes(len(kinds)) >= 0:
			m.report(kinds...)
			if m.pass(able); contended {
				m.spare++ // it may have been chosen at the second try
			}
			return
		case contended && (m.given() < 0 || m.without(kinds)): // it was another's, at first
		case !m.give(able):
			return
		case contended:
			m.spare++ // it may have asked twice
		}
	}
	m.commit(kinds...)
}

// without reports whether the events of the next commit were reported while nothing
// was on its way.
func (m *modelBatch) without(kinds []event.Kind) bool {
	all, at := m.news(), len(m.events)+len(kinds)-1
	if at < len(m.events) || at >= len(all) || all[at].Kind != event.BatchProgress {
		return false
	}
	var body struct {
		Data struct {
			Batch struct{ Counts event.BatchCounts }
		}
	}
	return json.Unmarshal(all[at].Body, &body) == nil && body.Data.Batch.Counts.Sending == 0
}

// shutdown is what an orderly stop makes of a batch without a send in flight.
func (m *modelBatch) shutdown() {
	if m.flight == nil && slices.Contains(in(queued, process, waitInst, pausing, stopping), m.status) {
		m.rest(reasonShutdown, nil)
	}
	if m.flight == nil {
		m.drops, m.rests = nil, time.Time{}
	}
}

// forget is the end of a process without a goodbye: only what was committed
// is left.
func (m *modelBatch) forget() {
	m.flight, m.rests, m.drops, m.commits = nil, time.Time{}, nil, 0
	m.looks()
}

// found is what the next process makes of a batch that was under way.
func (m *modelBatch) found() {
	if !slices.Contains(in(process, pausing, stopping), m.status) {
		return
	}
	m.fence++
	var kinds []event.Kind
	if m.count(record.ItemSending) > 0 {
		e := doubtful(table.OnFound)
		if i := m.items[m.current]; i.tries[len(i.tries)-1].id == "" { // between two messages
			e = ending{status: record.ItemPending, try: record.AttemptUnavailable, on: table.OnFound}
		}
		m.subject = m.current
		m.settleItem(&m.items[m.current], e)
		kinds = m.itemKinds(e)
	}
	m.rest(reasonLease, kinds)
}
