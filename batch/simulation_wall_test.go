package batch

import (
	"time"

	"postern/batch/table"
	"postern/event"
)

// stepClock sets the clock on the wall, forwards or backwards: by some seconds
// to some days, or to where a window, a day, quiet hours or a restriction
// begins or ends.
func (s *sim) stepClock(step simStep) {
	if s.kind != skewedLife || s.proc.stopped != nil {
		s.stepPassToNext(step)
		return
	}
	spans := []uint32{5_000, 90_000, 4_000_000, 50_000_000, 200_000_000}
	by := time.Duration(1+step.b%spans[step.a%5]) * time.Millisecond
	if step.a/8%2 == 0 {
		by = -by
	}
	if edges := s.edges(); step.a/16%2 == 0 && len(edges) > 0 {
		by = nth(edges, step.b).Sub(s.env.wall()) + time.Duration(step.c%3)*time.Second - time.Second
	}
	// A clock that is set back by more than two days is not believed: see the store's Tx.Now.
	if by.Abs() <= time.Second || by < -40*time.Hour || (s.env.skew+by).Abs() > 300*modelDay {
		return
	}
	s.lookAll()
	for _, m := range s.batches {
		m.clockSet()
	}
	s.net.change(func() {
		s.env.skew += by
		for _, i := range s.env.instances {
			i.book.set = true
		}
	})
	s.net.watch.set(by)
	s.proc.store.TrustsClock() // it looks at the clock
	s.tally.Clock++
	s.rests(none)
	s.compareLimits()
	if step.c%5 == 0 { // while what was granted before is about to leave
		s.stepAnswer(step)
		s.stepKill(step)
	}
}

// lookAll has all batches that wait for an instance look around, so that it is
// known when their alarms next look at the clock.
func (s *sim) lookAll() {
	s.net.change(func() {
		for _, i := range s.env.instances {
			i.changes++
		}
	})
	for id := range s.env.instances {
		s.proc.engine.InstanceChanged(id, event.Online)
	}
	s.rests(s.settled)
}

// edges are times on the wall at which something begins or ends.
func (s *sim) edges() (all []time.Time) {
	for id := int64(1); s.env.instances[id] != nil; id++ {
		i := s.env.instances[id]
		all = append(all, i.bench, i.lock)
		for _, t := range i.book.turns(s.env.now, s.env.skew) {
			all = append(all, t.Add(s.env.skew))
		}
		all = append(all, i.book.midnight(s.env.wall()).Add(-modelDay))
		if i.book.limits.QuietHours != nil {
			from, to := i.book.hours()
			all = append(all, i.book.midnight(s.env.wall()).Add(from-modelDay), i.book.midnight(s.env.wall()).Add(to-modelDay))
		}
	}
	for _, m := range s.batches {
		if w := m.spec.window; w != nil && !table.Final(m.status) {
			_, turn := m.open()
			all = append(all, w.start, w.end, turn, s.env.wall().Add(modelDay)) // the same time tomorrow
		}
	}
	near := all[:0]
	for _, t := range all {
		if !t.IsZero() && t.Sub(s.env.wall()).Abs() < 20*modelDay {
			near = append(near, t)
		}
	}
	return near
}
