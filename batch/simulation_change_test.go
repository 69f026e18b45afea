package batch

import (
	"context"
	"encoding/json"
	"fmt"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
)

// drawChange draws what of a batch is changed, and to what.
func (s *sim) drawChange(n uint32) (c modelChange, to Changes) {
	d := &draws{uint64(n)}
	if d.one(3) {
		c.name = fmt.Sprint("renamed ", n%100)
		to.Name = &c.name
	}
	if d.one(3) {
		c.delay = &event.BatchDelay{MaxMs: 9_000 * int64(d.n(3))}
		to.Delay = c.delay
	}
	if d.one(2) {
		first := uint32(d.n(3))
		for more := range 1 + uint32(d.n(2)) {
			id := s.instance(first + more)
			to.Instances = append(to.Instances, record.InstanceRef{ID: id, Name: instanceName(id)})
		}
		c.instances = unique(to.Instances)
	}
	if d.one(2) {
		c.scheduled = true
		var spec modelSpec
		s.schedule(&spec, d)
		c.window, c.schedule = spec.window, spec.request.Schedule
		if to.Schedule = c.schedule; c.schedule == nil {
			to.Schedule = json.RawMessage("null")
		}
		if d.one(6) { // over already
			wall := s.env.wall()
			c.window = &modelWindow{start: wall.Add(-2 * modelDay), end: wall.Add(-modelDay)}
			c.schedule = window(-2*modelDay-s.env.now.Sub(wall), -modelDay-s.env.now.Sub(wall), "NONE")
			to.Schedule = c.schedule
		}
	}
	return c, to
}

// changeOf changes a batch and returns what that must have done.
func (s *sim) changeOf(m *modelBatch, n uint32) effect {
	c, to := s.drawChange(n)
	v, err := s.proc.engine.Change(context.Background(), m.spec.owner, m.id, to)
	return func(m *modelBatch) {
		from := m.status
		want := m.change(c)
		if got := verdictOf(err); got != want {
			m.refuse("%s while %s answered %v, want %s", table.OnChange, from, err, want)
		}
		if err == nil && v.Status != m.status {
			m.refuse("%s while %s answered %s, want %s", table.OnChange, from, v.Status, m.status)
		}
	}
}

// changes changes a batch and returns what that must have done, with what follows.
func (s *sim) changes(m *modelBatch, n uint32) effect {
	said := s.changeOf(m, n)
	return func(m *modelBatch) {
		said(m)
		s.settled(m)
	}
}

// stepChange changes a batch that waits, and sometimes another.
func (s *sim) stepChange(step simStep) {
	if m := s.waiting(step.a); m != nil {
		s.restOf(m, s.changes(m, step.b))
	}
}

// waiting picks a batch that waits for a call or its first window, if there is one.
func (s *sim) waiting(n uint32) *modelBatch {
	for range s.batches {
		m := s.batch(n)
		if m != nil && (m.status == draft || m.status == schedul || m.status == paused) {
			return m
		}
		n += 8
	}
	return s.batch(n)
}

// stepKillChange ends the process right after the commit of a change, or after the one
// that follows from it.
func (s *sim) stepKillChange(step simStep) {
	if m := s.waiting(step.a); m != nil && s.proc.stopped == nil {
		s.kill(1+int(step.c%2), func() (*modelBatch, effect) { return m, s.changes(m, step.b) })
	}
}

// stepRaceChange changes a batch between two commits of a call to it, or the other way
// round.
func (s *sim) stepRaceChange(step simStep) {
	m := s.waiting(step.a)
	if m == nil || s.proc.stopped != nil || len(m.drops) > 0 || m.flight != nil {
		return
	}
	s.tally.Races++
	a := func() effect { return s.callOf(m, simCalls[step.b%uint32(len(simCalls))]) }
	b := func() effect { return s.changeOf(m, step.c) }
	if step.b&(1<<20) != 0 {
		a, b = b, a
	}
	s.race(m, a, 1+int(step.b>>21%3), b)
}

// appendOf appends recipients to a batch, some of which it has already, and returns what
// that must have done. They are more than least.
func (s *sim) appendOf(m *modelBatch, n uint32, least int) (effect, error) {
	d := &draws{uint64(n)}
	given, templated := &mailing.Recipients{}, d.one(2)
	var own []modelOwn
	var inputs, numbers []string
	first, text := len(m.items), m.spec.text
	for i := range least + 1 + int(d.n(4)) {
		to := simNumber(m.spec.number, first+i)
		inputs, numbers = append(inputs, to), append(numbers, to)
		if !templated {
			given.AddText([]byte(to))
			continue
		}
		code := fmt.Sprint("later ", i)
		o := modelOwn{variables: map[string]string{"more": "x", "code": code}, text: text}
		if m.spec.request.List != nil {
			o.text = "Hi friend{{, " + code + "! " + text
		}
		own = append(own, o)
		more := "x"
		given.Add(mailing.Recipient{Number: to, Variables: map[string]*string{"more": &more, "code": &code}})
	}
	if d.one(2) {
		given.AddText([]byte(m.spec.inputs[0]))
	}
	v, err := s.proc.engine.Append(context.Background(), m.spec.owner, m.id, AppendRequest{List: given})
	return func(m *modelBatch) {
		want := m.grows(given, own, inputs, numbers)
		if got := verdictOf(err); got != want {
			m.refuse("append while %s answered %v, want %s", m.status, err, want)
		}
		if err == nil && v.Counts.Total != len(m.items) {
			m.refuse("append answered %d recipients, want %d", v.Counts.Total, len(m.items))
		}
	}, err
}

// stepAppend appends to a draft, and sometimes to another batch.
func (s *sim) stepAppend(step simStep) {
	m := s.draft(step.a)
	if m == nil {
		return
	}
	said, _ := s.appendOf(m, step.b, 0)
	s.restOf(m, func(m *modelBatch) {
		said(m)
		s.settled(m)
	})
}

// draft picks a draft, or another batch if there is none.
func (s *sim) draft(n uint32) *modelBatch {
	for _, m := range s.batches {
		if m.status == draft {
			return m
		}
	}
	return s.batch(n)
}

// stepKillAppend ends the process between the commits of an append whose items take several:
// the draft has all of them, or is as it was.
func (s *sim) stepKillAppend(step simStep) {
	m := s.draft(step.a)
	if m == nil || m.status != draft || s.proc.stopped != nil || len(m.items) > chunk {
		return
	}
	s.proc.arm(1 + int(step.c%4))
	said, err := s.appendOf(m, step.b|1, chunk) // numbers, which a template refuses
	s.tally.Kills++
	s.must(s.proc.bury(), "kill")
	s.boots++
	s.boot(s.proc.path, true)
	if verdict := verdictOf(err); verdict != done && verdict != invalided {
		said = none
		s.checked++ // the sweep
	}
	s.rests(func(o *modelBatch) {
		if o == m {
			said(m)
			m.commits = 0 // of the process before
		}
		s.settledAfterBoot(o)
	})
	s.nothingLeft()
	s.restOf(m, s.calls(m, table.OnStop))
}
