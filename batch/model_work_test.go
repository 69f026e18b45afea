package batch

import (
	"slices"
	"time"

	"postern/event"
)

// settle lets the worker go on until there is nothing that it could do now.
func (m *modelBatch) settle() {
	for m.wrong == "" && m.act() {
	}
}

// act is the next commit of the batch's worker. It returns false when the
// worker waits for something.
func (m *modelBatch) act() bool {
	if m.flight != nil {
		return false
	}
	open, _ := m.open()
	switch m.status {
	case schedul, waitWin:
		if !open {
			return false
		}
		m.become(queued)
		m.commit(event.BatchWindowStarted)
	case queued:
		if !m.env.enabled {
			return false
		}
		if m.pending() > 0 && len(m.able()) == 0 {
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
	switch {
	case !open:
		m.shut()
	case len(m.able()) == 0 || !m.env.enabled:
		return false
	default:
		m.claim()
	}
	return true
}

func (m *modelBatch) recover(open bool) {
	m.former, m.reason, m.recovered = m.reason, "", m.env.now
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
	case m.rests.After(m.env.now) && open:
		return false
	case !open:
		m.shut()
	case len(able) == 0:
		m.park()
	case m.give(able):
		m.commit()
	}
	return true
}

// finishBatch ends a batch none of whose items is open.
func (m *modelBatch) finishBatch(kinds []event.Kind) {
	kinds = append(kinds, m.progress()...)
	if m.count(ItemFailed, ItemUnknown) > 0 {
		m.become(witherr)
		m.commit(append(kinds, event.BatchCompletedWithErrors)...)
		return
	}
	m.become(complete)
	m.commit(append(kinds, event.BatchCompleted)...)
}

// give turns the first pending item into SENDING. The engine chose the
// instance and the message id.
func (m *modelBatch) give(able []int64) bool {
	at := slices.IndexFunc(m.items, func(i modelItem) bool { return i.status == ItemPending })
	number := len(m.items[at].tries)
	tries := m.seen().items[at].Attempts
	if len(tries) <= number {
		m.refuse("item %d was not given to any of the instances %v", at, able)
		return false
	}
	chosen := tries[number]
	if !slices.Contains(able, chosen.InstanceID) {
		m.refuse("item %d was given to instance %d, allowed were %v", at, chosen.InstanceID, able)
		return false
	}
	i := &m.items[at]
	i.status, i.changed = ItemSending, m.env.now
	i.tries = append(i.tries, modelTry{instance: chosen.InstanceID, id: chosen.ClientMessageID, status: AttemptSending, began: m.env.now})
	m.share(chosen.InstanceID).Selected++
	m.current, m.flight, m.rests = at, &modelFlight{chosen.ClientMessageID, m.env.now}, time.Time{}
	return true
}

func (m *modelBatch) share(id int64) *share {
	return &m.shares[slices.IndexFunc(m.spec.request.Instances, func(r InstanceRef) bool { return r.ID == id })]
}
