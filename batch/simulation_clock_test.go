package batch

import (
	"context"
	"time"

	"postern/batch/table"
	"postern/event"
)

// deadline returns when a send in flight is given up.
func (s *sim) deadline(f modelFlight) time.Time {
	if deaf, _ := s.net.isDeaf(s.net.call(f.id)); deaf {
		return f.began.Add(simLease)
	}
	return f.began.Add(simSend)
}

// next returns when something happens by itself; zero: never.
func (s *sim) next() (at time.Time) {
	for _, m := range s.batches {
		at = earlier(at, m.timer(s.deadline))
	}
	if s.proc.stopped != nil {
		at = earlier(at, s.proc.stopBy)
	}
	return earlier(at, s.elderEnds())
}

// elderEnds returns when the next send of an engine that was taken over from is given up, which may
// return room to its instance; zero: never.
func (s *sim) elderEnds() (at time.Time) {
	for _, c := range s.net.stuck(func(p *simProcess) bool { return p != s.proc }) {
		if ends := c.began.Add(simSend); !c.deaf && ends.After(s.env.now) {
			at = earlier(at, ends)
		}
	}
	return at
}

// pass lets the time continue, with a comparison wherever a model says that
// something happens.
func (s *sim) pass(until time.Time) {
	for {
		at := s.next()
		if at.IsZero() || at.After(until) {
			break
		}
		if !at.After(s.env.now) {
			s.fail("a model waits for %s, which is over", at)
		}
		s.sleepTo(at)
		s.rests(s.fire)
		s.afterStop()
	}
	if until.After(s.env.now) {
		s.sleepTo(until)
		s.rests(none)
	}
}

// fire is what the time alone does to a batch.
func (s *sim) fire(m *modelBatch) {
	s.due(m)
	s.settled(m)
}

// due gives up the send in flight when its time has ended.
func (s *sim) due(m *modelBatch) {
	if m.flight == nil || m.timer(s.deadline).After(s.env.now) {
		return
	}
	c := s.net.call(m.flight.id)
	deaf, late := s.net.isDeaf(c)
	switch {
	case !s.env.hard.IsZero() && !s.env.hard.After(s.env.now):
		s.net.change(func() { c.lapsed = true })
		m.end(doubtful(table.OnShutdown))
	case deaf:
		s.net.change(func() { c.lapsed = true })
		m.end(doubtful(table.OnLeaseLost))
	default:
		m.end(endingOf(c, simReply{err: late}, m.spec.request.Options.SkipUnregistered))
	}
}

func (s *sim) stepPass(step simStep) {
	most := []uint32{900, 5_000, 40_000, 100_000}[step.b%4]
	s.pass(s.env.now.Add(time.Duration(step.a%most) * time.Millisecond))
}

// stepPassToNext stops the clock where something happens.
func (s *sim) stepPassToNext(step simStep) {
	if at := s.next(); !at.IsZero() && at.Sub(s.env.now) < 48*time.Hour {
		s.pass(at)
		return
	}
	s.stepCreate(step)
}

// stepBusyDay lets hours pass in which sends are answered at once.
func (s *sim) stepBusyDay(step simStep) {
	until := s.env.now.Add(time.Duration(step.a%uint32(30*time.Hour/time.Millisecond)) * time.Millisecond)
	for n := uint32(0); ; n++ {
		for s.answerOne(step.b + n) {
			n++
		}
		at := s.next()
		if at.IsZero() || at.After(until) || n > 200 {
			break
		}
		s.pass(at)
	}
	s.pass(later(until, s.env.now))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// answerOne answers one of the sends that listen.
func (s *sim) answerOne(n uint32) bool {
	calls := s.net.live(s.proc)
	if len(calls) == 0 {
		return false
	}
	deaf, _ := s.net.isDeaf(calls[0])
	if !deaf {
		s.stepAnswer(simStep{b: n, c: n / 3})
	}
	return !deaf
}

// stepDeafen makes a send ignore its context, and so outlive its lease.
func (s *sim) stepDeafen(step simStep) {
	if c := nth(s.net.live(s.proc), step.a); c != nil {
		s.net.change(func() { c.deaf = true })
	}
}

// stepLate makes a send end with a certain outcome when its context does.
func (s *sim) stepLate(step simStep) {
	if c := nth(s.net.live(s.proc), step.a); c != nil {
		late := []error{event.ErrNotConnected, event.ErrSendRefused, event.ErrNotOnWhatsApp, nil}
		s.net.change(func() { c.late = late[step.b%4] })
	}
}

// stepRelease ends a send that no worker waits for any more: it changes
// nothing.
func (s *sim) stepRelease(step simStep) {
	if c := nth(s.net.stuck(func(*simProcess) bool { return true }), step.a); c != nil {
		c.reply <- simReply{}
		s.rests(none)
	}
}

// stepStop begins an orderly stop. Other steps continue until it is done.
func (s *sim) stepStop(simStep) {
	if s.proc.stopped != nil {
		return
	}
	s.apart()
	stopped := make(chan error, 1)
	s.proc.stopped, s.proc.stopBy = stopped, s.env.now.Add(simStop)
	ctx, cancel := context.WithDeadline(context.Background(), s.proc.stopBy)
	engine := s.proc.engine
	go func() {
		defer cancel()
		stopped <- engine.Stop(ctx)
	}()
	s.tally.Stops++
	s.env.hard = s.env.now.Add(simPatience)
	s.rests((*modelBatch).shutdown)
}

// apart waits until no send is given up in the very moment in which the stop
// loses its patience: either could come first.
func (s *sim) apart() {
	for {
		meets := false
		for _, m := range s.batches {
			if m.flight != nil {
				left := s.deadline(*m.flight).Sub(s.env.now)
				meets = meets || left == simPatience || left == simStop
			}
		}
		if !meets {
			return
		}
		s.pass(s.env.now.Add(time.Millisecond))
	}
}

// afterStop starts the program again once its stop has ended.
func (s *sim) afterStop() {
	if s.proc.stopped == nil {
		return
	}
	out := len(s.net.live(s.proc)) + len(s.net.stuck(func(p *simProcess) bool { return p == s.proc }))
	select {
	case err := <-s.proc.stopped:
		if (err != nil) != (out > 0) {
			s.fail("stop returned %v while %d sends were out", err, out)
		}
	default:
		if out == 0 || !s.env.now.Before(s.proc.stopBy) {
			s.fail("stop does not return with %d sends out", out)
		}
		return
	}
	s.must(s.proc.pacer.Close(), "close the pacer")
	s.proc.end()
	s.net.change(func() { s.proc.dead, s.net.orderly = true, true })
	s.must(s.proc.store.Close(), "close")
	s.reboot(s.proc.path, s.settledAfterBoot)
}
