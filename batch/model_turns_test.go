package batch

import (
	"time"

	"postern/batch/record"
	"postern/batch/schedule"
	"postern/event"
)

// timer reports when the batch next does something by itself; zero: never.
func (m *modelBatch) timer(deadline func(modelFlight) time.Time) (at time.Time) {
	if m.flight != nil {
		return earlier(deadline(*m.flight), m.env.hard)
	}
	if !m.env.hard.IsZero() {
		return at
	}
	switch m.status {
	case schedul, waitWin:
		return m.edge()
	case process:
		return earlier(m.rests, m.edge())
	case waitInst:
		return m.instanceTurn()
	default:
		return at
	}
}

// endless is the end of a window that has none.
var endless = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// edge returns when the batch notices that its window opens or ends; zero: never.
func (m *modelBatch) edge() time.Time {
	open, turn := m.open()
	if m.status == process {
		open, turn = false, m.ends
	}
	if turn.Equal(endless) {
		return time.Time{}
	}
	at, blind := m.env.awake(turn), m.look.After(m.env.now)
	switch {
	case turn.IsZero() && !open:
	case blind && (open || at.Before(m.look)):
		return m.look
	case at.After(m.env.now):
		return at
	}
	return time.Time{}
}

// instanceTurn returns when a batch that waits for an instance next looks whether it
// can continue. Once the clock was set, it may look at any moment that was one by
// the old or the new time, and looks within a minute.
func (m *modelBatch) instanceTurn() (at time.Time) {
	_, turn := m.open()
	if turn = m.env.awake(turn); turn.After(m.env.now) {
		at = turn
	}
	blind := m.look.After(m.env.now)
	for _, ref := range m.spec.request.Instances {
		switch {
		case !m.env.enabled || m.env.state(ref.ID) != event.Online:
		case blind:
			for _, t := range m.turns(ref.ID, m.env.now) {
				at = earlier(at, t)
			}
		default:
			at = earlier(at, m.opens(ref.ID))
		}
	}
	if blind {
		for _, t := range append(m.stops, m.look) {
			if t.After(m.env.now) && !t.Equal(endless) {
				at = earlier(at, t)
			}
		}
	}
	return at
}

// clockSet is called before the clock on the wall is set: the batch's alarm
// sleeps for a minute at most, and goes by the new time from its next look on.
func (m *modelBatch) clockSet() {
	now := m.env.now
	if m.status == waitInst { // which looked right now
		m.look, m.stops = now.Add(schedule.AlarmStep), nil
		_, turn := m.open()
		m.stops = append(m.stops, m.env.awake(turn))
		asleep := turn.IsZero() // without an alarm
		for _, ref := range m.spec.request.Instances {
			m.stops = append(m.stops, m.turns(ref.ID, now)...)
			asleep = asleep && (!m.env.enabled || m.env.state(ref.ID) != event.Online)
		}
		if asleep {
			m.look, m.stops = endless, nil
		}
		return
	}
	if m.look.After(now) {
		return
	}
	rings := m.edge()
	if !m.look.IsZero() {
		m.eye = m.look
	}
	m.look = time.Time{}
	if m.status == process && rings.IsZero() {
		return // it waits for no window's end
	}
	m.look = earlier(rings, m.eye.Add((now.Sub(m.eye)/schedule.AlarmStep+1)*schedule.AlarmStep))
}

// looks notes that the batch looks at the clock now, and sets its alarm again.
func (m *modelBatch) looks() {
	m.eye, m.look, m.stops, m.ends = m.env.now, time.Time{}, nil, time.Time{}
	switch open, turn := m.open(); {
	case open && turn.IsZero():
		m.ends = endless
	case open:
		m.ends = turn
	}
}

// resting reports whether a delay holds the batch. The end of its window ends it.
func (m *modelBatch) resting(open bool) bool {
	switch {
	case !m.rests.After(m.env.now) || m.ends.IsZero():
		return false
	case m.look.After(m.env.now) || m.env.awake(m.ends).After(m.env.now):
		return true
	case open: // the next one, for the clock was set
		m.looks()
	}
	return open
}

// turns returns the moments after a time awake at which an instance may be able to
// send more.
func (m *modelBatch) turns(id int64, after time.Time) (all []time.Time) {
	i := m.env.instances[id]
	for _, until := range []time.Time{m.env.awake(i.bench), m.env.awake(i.lock), m.notBefore(id)} {
		if until.After(after) {
			all = append(all, until)
		}
	}
	return append(all, i.book.turns(after, m.env.skew)...)
}

// opens returns the first moment to come at which an instance may send one of the
// items that wait, unless others send before; zero: time alone does not bring
// it.
func (m *modelBatch) opens(id int64) (first time.Time) {
	for at, item := range m.items {
		if item.status != record.ItemPending {
			continue
		}
		for t := m.env.now; ; {
			next := time.Time{}
			for _, turn := range m.turns(id, t) {
				next = earlier(next, turn)
			}
			if t = next; t.IsZero() || t.Sub(m.env.now) > 400*modelDay || !first.IsZero() && !t.Before(first) {
				break
			}
			if m.allowed(id, at, t) && m.env.room(id, m.spec.recipients[at], t) {
				first = t
				break
			}
		}
	}
	return first
}
