package batch

import (
	"slices"
	"time"

	"postern/batch/table"
	"postern/event"
)

// modelWindow is when a batch may send, in UTC. Zones have tests of their own.
type modelWindow struct {
	start, end time.Time
	daily      bool
}

const modelDay = 24 * time.Hour

// at reports whether the window is open, and when that changes; zero: never.
func (w *modelWindow) at(now time.Time) (open bool, turn time.Time) {
	switch {
	case w == nil:
		return true, turn
	case now.Before(w.start):
		return false, w.start
	case w.daily && w.end.Sub(w.start) >= modelDay:
		return true, turn
	case !w.daily && now.Before(w.end):
		return true, w.end
	case !w.daily:
		return false, turn
	}
	today := w.start.Add(now.Sub(w.start).Truncate(modelDay))
	if ends := today.Add(w.end.Sub(w.start)); now.Before(ends) {
		return true, ends
	}
	return false, today.Add(modelDay)
}

// verdict is what a call is answered.
type verdict string

const (
	done      verdict = "done"
	unchanged verdict = "unchanged"
	conflict  verdict = "conflict"
	invalided verdict = "invalid"
)

// create is the birth of the batch.
func (m *modelBatch) create(asDraft bool) {
	m.spec.created = m.env.wall()
	if asDraft {
		m.become(draft)
		m.commit()
		return
	}
	m.begin()
}

// begin is the creation as the outside sees it.
func (m *modelBatch) begin() {
	if open, _ := m.open(); open {
		m.become(queued)
		m.commit(event.BatchCreated)
		return
	}
	m.become(schedul)
	m.commit(event.BatchCreated, event.BatchScheduled)
}

// call is one API call.
func (m *modelBatch) call(on table.Trigger) verdict {
	switch on {
	case table.OnStart:
		return m.start()
	case table.OnPause:
		return m.pause()
	default:
		return m.halt()
	}
}

func (m *modelBatch) start() verdict {
	open, next := m.open()
	switch m.status {
	case draft:
		if !open && next.IsZero() {
			return invalided
		}
		m.begin()
		return done
	case paused, interr:
		m.restart(open, next)
		return done
	case queued, schedul, process, waitWin, waitInst:
		return unchanged
	default:
		return conflict
	}
}

func (m *modelBatch) restart(open bool, next time.Time) {
	m.reason = ""
	switch {
	case open || next.IsZero():
		m.windowOff = m.windowOff || !open
		m.become(queued)
		m.commit()
	case m.started:
		m.shut()
	default:
		m.become(schedul)
		m.commit(event.BatchScheduled)
	}
}

func (m *modelBatch) pause() verdict {
	switch m.status {
	case process, waitInst:
		m.become(pausing)
		m.commit(event.BatchPauseRequested)
		return done
	case queued, schedul, waitWin:
		m.become(paused)
		m.commit(event.BatchPauseRequested, event.BatchPaused)
		return done
	case pausing, paused:
		return unchanged
	default:
		return conflict
	}
}

func (m *modelBatch) halt() verdict {
	switch {
	case slices.Contains(in(process, pausing, waitInst), m.status):
		m.become(stopping)
		m.commit(event.BatchStopRequested)
		return done
	case slices.Contains(in(queued, schedul, waitWin, paused, interr), m.status):
		m.become(stopped)
		m.commit(event.BatchStopRequested, event.BatchStopped)
		return done
	case m.status == draft:
		m.become(stopped)
		m.commit()
		return done
	case m.status == stopping || m.status == stopped:
		return unchanged
	default:
		return conflict
	}
}
