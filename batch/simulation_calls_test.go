package batch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
)

// callOf makes a call and returns what it must have done, but for what the
// worker makes of it.
func (s *sim) callOf(m *modelBatch, on table.Trigger) effect {
	e := s.proc.engine
	call := map[table.Trigger]func(context.Context, uuid.UUID, uuid.UUID) (View, error){
		table.OnStart: e.StartBatch, table.OnPause: e.Pause, table.OnStop: e.StopBatch,
	}[on]
	v, err := call(context.Background(), m.spec.owner, m.id)
	return func(m *modelBatch) {
		from := m.status
		want := m.call(on)
		if got := verdictOf(err); got != want && (got != done || want != unchanged) {
			m.refuse("%s while %s answered %v, want %s", on, from, err, want)
		}
		if err == nil && v.Status != m.status {
			m.refuse("%s while %s answered %s, want %s", on, from, v.Status, m.status)
		}
	}
}

func verdictOf(err error) verdict {
	_, bad := errors.AsType[*InvalidError](err)
	switch {
	case err == nil:
		return done
	case errors.Is(err, ErrInvalidTransition):
		return conflict
	case bad:
		return invalided
	}
	return verdict(err.Error())
}

// then is b after so many commits of a and of the worker, or at the end of
// those.
func (s *sim) then(a effect, commits int, b effect) effect {
	return func(m *modelBatch) {
		a(m)
		for m.wrong == "" && m.commits < commits && m.act() {
		}
		b(m)
		s.settled(m)
	}
}

// stepRace makes two things happen to a batch at once: two calls, or a call
// and the end of its send. The second comes between two commits of the first
// and of what follows from it.
func (s *sim) stepRace(step simStep) {
	m := s.batch(step.a)
	if c := nth(s.net.live(s.proc), step.a); c != nil && step.c&(1<<18) != 0 {
		m = s.batchOf(c)
	}
	if m == nil || s.proc.stopped != nil || len(m.drops) > 0 {
		return
	}
	s.tally.Races++
	a := func() effect { return s.callOf(m, simCalls[step.b%uint32(len(simCalls))]) }
	b := func() effect { return s.callOf(m, simCalls[step.c%uint32(len(simCalls))]) }
	if m.flight != nil {
		c, r := s.net.call(m.flight.id), simReplies[step.c%uint32(len(simReplies))]
		if s.couples(c, r) {
			r = simReply{} // others would commit as well
		}
		if step.c&(1<<19) != 0 && r.err == nil && !r.unstorable {
			s.raceWorker(m, c, r, a)
			return
		}
		b = func() effect { return s.replied(c, r) }
	}
	if step.c&(1<<20) != 0 {
		a, b = b, a
	}
	s.race(m, a, 1+int(step.c>>21%3), b)
}

// race makes b happen to a batch when a has led to so many commits.
func (s *sim) race(m *modelBatch, a func() effect, commits int, b func() effect) {
	var doneA, doneB effect
	var done sync.WaitGroup
	s.proc.between(func() { done.Go(func() { doneA = a() }) }, commits, func() { doneB = b() })
	done.Wait()
	s.restOf(m, s.then(doneA, commits, doneB))
}

// raceWorker makes a call after the commit of a success, before the
// worker does anything else.
func (s *sim) raceWorker(m *modelBatch, c *simCall, r simReply, call func() effect) {
	hold := make(chan struct{})
	c.hold = hold
	replied := s.replied(c, r)
	synctest.Wait()
	var called effect
	var done sync.WaitGroup
	done.Go(func() { called = call() })
	synctest.Wait()
	close(hold)
	done.Wait()
	s.restOf(m, s.then(replied, 1, called))
}

// replied answers a send.
func (s *sim) replied(c *simCall, r simReply) effect {
	c.reply <- r
	return func(m *modelBatch) { m.end(endingOf(c, r, m.spec.request.Options.SkipUnregistered)) }
}

func (n *simNet) call(id string) *simCall {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byID[id]
}

// stepRaceClock calls in the very moment in which the batch does something by
// itself, between two commits of that.
func (s *sim) stepRaceClock(step simStep) {
	m := s.batch(step.a)
	if m == nil || s.proc.stopped != nil {
		return
	}
	at := m.timer(s.deadline)
	if at.IsZero() {
		return
	}
	if s.mayExpire(at) || m.flight != nil && s.couples(s.net.call(m.flight.id), simReply{err: event.ErrBusy}) {
		return // whose commit is held would be up to chance
	}
	if before := at.Add(-time.Millisecond); before.After(s.env.now) {
		s.pass(before)
	}
	for _, o := range s.batches {
		if o != m && o.timer(s.deadline).Equal(at) || s.elderEnds().Equal(at) {
			return // whose commit is held would be up to chance
		}
	}
	s.tally.Races++
	commits := 1 + int(step.c%3)
	var called effect
	s.proc.between(func() { s.sleepTo(at) }, commits, func() {
		called = s.callOf(m, simCalls[step.b%uint32(len(simCalls))])
	})
	s.restOf(m, s.then(s.due, commits, called))
}

// batchOf returns the batch whose item a send is.
func (s *sim) batchOf(c *simCall) *modelBatch {
	at := slices.IndexFunc(s.batches, func(m *modelBatch) bool { return m.flight != nil && m.flight.id == c.out.ID })
	if at < 0 {
		s.fail("no worker waits for send %d", c.number)
	}
	return s.batches[at]
}

// stepRead reads in ways that the comparison after every step does not.
func (s *sim) stepRead(step simStep) {
	s.readLists()
	s.readUse(s.instance(step.a))
	m := nth(s.batches, step.b)
	if m == nil {
		return
	}
	at := int(step.c) % len(m.items)
	item, err := s.proc.engine.Item(m.spec.owner, m.id, record.ItemID(m.id, at))
	s.must(err, "read an item")
	s.must(withoutTexts(&item), "an item")
	if d := difference(item, m.item(at)); item.Status != m.items[at].status || item.AttemptCount != len(m.items[at].tries) {
		s.fail("item %d of batch %d reads %s", at, m.spec.number, d)
	}
	if _, err := s.proc.engine.Batch(uuid.New(), m.id); !errors.Is(err, ErrNotFound) {
		s.fail("a stranger reads a batch: %v", err)
	}
}

// readLists pages through the batches of a user, newest first.
func (s *sim) readLists() {
	var got []uuid.UUID
	for p := (Page{Limit: 3}); ; {
		l, err := s.proc.engine.Batches(simOwners[0], Filter{Status: in(stopped, process, paused)}, p)
		s.must(err, "list")
		for _, v := range l.Records {
			if m := s.all[v.ID]; m == nil || m.gone || m.status != v.Status {
				s.fail("the list has a batch %s, the model %v", v.Status, m)
			}
			got = append(got, v.ID)
		}
		if l.NextCursor == nil {
			break
		}
		p.Next = *l.NextCursor
	}
	want := 0
	for _, m := range s.all {
		if !m.gone && m.spec.owner == simOwners[0] && slices.Contains(in(stopped, process, paused), m.status) {
			want++
		}
	}
	if len(got) != want || !slices.IsSortedFunc(got, func(a, b uuid.UUID) int { return -slices.Compare(a[:], b[:]) }) {
		s.fail("the list has %d batches %v, want %d", len(got), got, want)
	}
}

// readUse asks who needs an instance, and how many batches are open.
func (s *sim) readUse(instance int64) {
	used, err := s.proc.engine.InUse(instance)
	s.must(err, "use")
	states, err := s.proc.engine.States()
	s.must(err, "states")
	want := false
	open := map[event.BatchStatus]int{}
	for _, m := range s.batches {
		if !slices.Contains(in(stopped, complete, witherr), m.status) {
			open[m.status]++
			want = want || slices.ContainsFunc(m.spec.request.Instances, func(r record.InstanceRef) bool { return r.ID == instance })
		}
	}
	if used != want {
		s.fail("instance %d is in use: %t, want %t", instance, used, want)
	}
	for status, n := range open {
		if states[status] != n {
			s.fail("%d batches are %s, want %d", states[status], status, n)
		}
	}
}
