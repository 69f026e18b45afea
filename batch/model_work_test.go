package batch

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"postern/batch/record"
	"postern/event"
)

// settle lets the worker continue until there is nothing that it could do now.
func (m *modelBatch) settle() {
	for m.wrong == "" && m.act() {
	}
}

// act returns the next commit of the batch's worker. It returns false when the
// worker waits for something.
func (m *modelBatch) act() bool {
	if m.flight != nil {
		return false
	}
	open, _ := m.open()
	switch m.status {
	case schedul, waitWin:
		if !open || m.look.After(m.env.now) {
			return false
		}
		m.become(queued)
		m.commit(event.BatchWindowStarted)
	case queued:
		if !m.env.enabled {
			return false
		}
		if m.pending() > 0 && m.stuck() {
			m.park()
		} else {
			m.claim()
		}
	case waitInst:
		return m.wait(open)
	case process:
		return m.work(open)
	case pausing:
		m.become(paused)
		m.commit(event.BatchPaused)
	case stopping:
		m.become(stopped)
		m.commit(event.BatchStopped)
	case interr:
		if !m.spec.auto {
			return false
		}
		m.recover(open)
	default:
		return false
	}
	return true
}

// claim enters PROCESSING, which is announced once.
func (m *modelBatch) claim() {
	kind := event.BatchStarted
	if m.started {
		kind = event.BatchResumed
	}
	m.fence++
	m.become(process)
	m.commit(kind)
}

func (m *modelBatch) park() {
	m.become(waitInst)
	m.commit(event.BatchWaitingInstance)
}

func (m *modelBatch) shut() {
	m.become(waitWin)
	m.commit(event.BatchWaitingWindow)
}

func (m *modelBatch) wait(open bool) bool {
	blind := m.look.After(m.env.now)
	switch next := m.peek(); {
	case blind && next != event.BatchStarted && next != event.BatchResumed && next != event.BatchWaitingWindow:
		return false
	case !open:
		m.shut()
	case m.stuck() || !m.env.enabled:
		return false
	default:
		m.claim()
	}
	return true
}

// stuck reports whether none of the batch's instances can send now. Where another
// batch asked for the same room, what the batch reported shows the result.
func (m *modelBatch) stuck() bool {
	if m.unsure() {
		switch m.peek() {
		case event.BatchWaitingInstance:
			return true
		case event.BatchStarted, event.BatchResumed:
			return false
		case event.BatchProgress:
			if m.passes(0) >= 0 {
				return false
			}
		default:
		}
	}
	return len(m.able()) == 0
}

func (m *modelBatch) recover(open bool) {
	m.former, m.reason, m.recovered = m.reason, "", m.env.wall()
	_, next := m.open()
	switch {
	case open:
		m.become(queued)
	case next.IsZero() || m.started:
		m.become(waitWin)
	default:
		m.become(schedul)
	}
	m.commit(event.BatchRecovered)
}

// work gives the next item, or does what stands in its way.
func (m *modelBatch) work(open bool) bool {
	able := m.able()
	switch {
	case m.pending() == 0:
		m.finishBatch(nil)
	case m.resting(open):
		return false
	case !open:
		m.shut()
	case m.stuck():
		m.park()
	case m.passes(0) >= 0:
		m.pass(able)
	case m.give(able):
		m.commit()
	}
	return true
}

// finishBatch ends a batch none of whose items is open.
func (m *modelBatch) finishBatch(kinds []event.Kind) {
	kinds = append(kinds, m.progress()...)
	if m.count(record.ItemFailed, record.ItemUnknown) > 0 {
		m.become(witherr)
		m.commit(append(kinds, event.BatchCompletedWithErrors)...)
		return
	}
	m.become(complete)
	m.commit(append(kinds, event.BatchCompleted)...)
}

// given returns the item that waits and was given to an instance next, as was
// observed; -1 for none. Message ids are made in the order of their use.
func (m *modelBatch) given() int {
	next, earliest := -1, 0
	for at, i := range m.items {
		tries := m.seen().items[at].Attempts
		if i.status != record.ItemPending || len(tries) <= len(i.tries) {
			continue
		}
		made, err := strconv.Atoi(strings.TrimPrefix(tries[len(i.tries)].ClientMessageID, "MSG"))
		if err == nil && (m.env.made == 0 || made <= m.env.made) && (next < 0 || made < earliest) {
			next, earliest = at, made
		}
	}
	return next
}

// give turns an item that waits into SENDING. The engine chose the instance and
// the message id, and the item where an instance may not write to everyone:
// else it is the first, or the one that just went back.
func (m *modelBatch) give(able []int64) bool {
	at := m.given()
	if at < 0 {
		m.refuse("no item was given to any of the instances %v", able)
		return false
	}
	chosen := m.seen().items[at].Attempts[len(m.items[at].tries)]
	if !slices.Contains(able, chosen.InstanceID) || !m.may(chosen.InstanceID, at) {
		m.refuse("item %d was given to instance %d, allowed were %v", at, chosen.InstanceID, able)
		return false
	}
	if m.env.optedOut[m.spec.recipients[at]] {
		m.refuse("item %d was given, whose recipient opted out", at)
		return false
	}
	first := m.first()
	if i := m.env.instances[chosen.InstanceID]; at != first && at != m.current && !i.lock.After(m.env.wall()) && i.book.limits.NewContactsPerDay == nil {
		m.refuse("item %d was given before item %d", at, first)
		return false
	}
	i := &m.items[at]
	i.status, i.changed = record.ItemSending, m.env.wall()
	i.tries = append(i.tries, modelTry{instance: chosen.InstanceID, id: chosen.ClientMessageID, status: record.AttemptSending, began: m.env.wall(), sent: len(i.sent)})
	m.share(chosen.InstanceID).Selected++
	m.current, m.flight, m.rests = at, &modelFlight{chosen.ClientMessageID, m.env.now}, time.Time{}
	return true
}

// first returns the first item that waits.
func (m *modelBatch) first() int {
	return slices.IndexFunc(m.items, func(i modelItem) bool { return i.status == record.ItemPending })
}

// passes returns the item that waits and whose end the batch reported after so many more
// events; -1 for none. It can only have been skipped, for one that is given ends later.
func (m *modelBatch) passes(after int) int {
	if 100*(len(m.items)-m.count(record.ItemPending, record.ItemSending)+1)/len(m.items) == m.shown {
		return m.silent()
	}
	all, next := m.news(), len(m.events)+after
	if next >= len(all) || all[next].Kind != event.BatchProgress {
		return -1
	}
	var body struct {
		Data struct {
			Batch struct{ CurrentItem struct{ Position int } }
		}
	}
	if json.Unmarshal(all[next].Body, &body) != nil {
		return -1
	}
	at := body.Data.Batch.CurrentItem.Position
	if at >= len(m.items) || m.items[at].status != record.ItemPending || m.seen().items[at].Status != record.ItemSkipped {
		return -1
	}
	return at
}

// silent is passes in a batch of so many items that one more end is no progress to report: the
// item whose turn it is, or one of those for whose turns an instance is too choosy.
func (m *modelBatch) silent() int {
	first, seen := m.first(), m.seen().items
	for at, i := range m.items {
		skipped := i.status == record.ItemPending && seen[at].Status == record.ItemSkipped && len(seen[at].Attempts) == len(i.tries)
		if skipped && (at == first || at == m.current || m.given() < 0) {
			return at
		}
	}
	return -1
}

// pass ends the item that passes returns without a send, and commits that. It is the first
// one, like an item that is given, or the one that just went back.
func (m *modelBatch) pass(able []int64) {
	at := m.passes(0)
	i := &m.items[at]
	choosy := func(id int64) bool {
		return m.env.instances[id].lock.After(m.env.wall()) || m.env.instances[id].book.limits.NewContactsPerDay != nil
	}
	if !m.env.optedOut[m.spec.recipients[at]] {
		m.refuse("item %d was skipped, whose recipient did not opt out", at)
		return
	}
	next := m.given() // after it, by the room that it did not need
	might := func(id int64) bool {
		return m.may(id, at) || m.allowed(id, at, m.env.now) && (m.unsure() || next >= 0 && m.went(id, next))
	}
	if m.unsure() {
		able = nil
		for _, ref := range m.spec.request.Instances {
			able = append(able, ref.ID)
		}
	}
	if !slices.ContainsFunc(able, func(id int64) bool { return might(id) && (at == m.first() || at == m.current || choosy(id)) }) {
		m.refuse("item %d was skipped before its turn; able were %v", at, able)
		return
	}
	i.status, i.changed, i.out = record.ItemSkipped, m.env.wall(), true
	m.current, m.subject, m.rests = at, at, time.Time{}
	*m.passed++
	if m.pending() == 0 {
		m.finishBatch(nil)
		return
	}
	m.commit(m.progress()...)
}

func (m *modelBatch) share(id int64) *record.Share {
	return &m.shares[slices.IndexFunc(m.spec.request.Instances, func(r record.InstanceRef) bool { return r.ID == id })]
}
