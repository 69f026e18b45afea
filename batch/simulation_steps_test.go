package batch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
)

// simStep is one thing that happens. What it means is settled when it does, by
// its numbers and what there is then; so a step means something whichever
// steps before it are cut out.
type simStep struct {
	do      string
	a, b, c uint32
}

func (s simStep) String() string { return fmt.Sprintf("%s(%d,%d,%d)", s.do, s.a, s.b, s.c) }

// simDeeds are the steps, each as often as its weight says.
var simDeeds = []struct {
	name   string
	weight int
	do     func(*sim, simStep)
}{
	{"create", 12, (*sim).stepCreate},
	{"call", 18, (*sim).stepCall},
	{"change", 5, (*sim).stepChange},
	{"retry", 4, (*sim).stepRetry},
	{"append", 4, (*sim).stepAppend},
	{"kill an append", 1, (*sim).stepKillAppend},
	{"race a change", 2, (*sim).stepRaceChange},
	{"kill a change", 1, (*sim).stepKillChange},
	{"answer", 40, (*sim).stepAnswer},
	{"connection", 8, (*sim).stepConnection},
	{"restrict", 3, (*sim).stepRestrict},
	{"lock", 6, (*sim).stepLock},
	{"learn", 4, (*sim).stepLearn},
	{"opt out", 5, (*sim).stepOptOut},
	{"limit", 5, (*sim).stepLimit},
	{"direct", 7, (*sim).stepDirect},
	{"clock", 3, (*sim).stepClock},
	{"delete instance", 1, (*sim).stepDelete},
	{"pass", 10, (*sim).stepPass},
	{"pass to next", 12, (*sim).stepPassToNext},
	{"busy day", 2, (*sim).stepBusyDay},
	{"deafen", 3, (*sim).stepDeafen},
	{"late answer", 3, (*sim).stepLate},
	{"release", 3, (*sim).stepRelease},
	{"race", 8, (*sim).stepRace},
	{"race the clock", 4, (*sim).stepRaceClock},
	{"stop", 1, (*sim).stepStop},
	{"kill", 1, (*sim).stepKill},
	{"kill during", 3, (*sim).stepKillDuring},
	{"kill creation", 1, (*sim).stepKillCreation},
	{"take over", 2, (*sim).stepTakeOver},
	{"read", 3, (*sim).stepRead},
	{"remove", 4, (*sim).stepRemove},
	{"race removal", 2, (*sim).stepRaceRemoval},
	{"kill removal", 1, (*sim).stepKillRemoval},
}

// simSteps draws the steps of a life.
func simSteps(seed uint64, n int) []simStep {
	rng := rand.New(rand.NewPCG(seed, 7))
	var names []string
	for _, d := range simDeeds {
		for range d.weight {
			names = append(names, d.name)
		}
	}
	steps := make([]simStep, n)
	for i := range steps {
		steps[i] = simStep{names[rng.IntN(len(names))], rng.Uint32(), rng.Uint32(), rng.Uint32()}
	}
	return steps
}

func (s *sim) take(step simStep) {
	for _, d := range simDeeds {
		if d.name == step.do {
			d.do(s, step)
		}
	}
	s.afterStop()
}

// nth returns one of them by a number, or the zero value when there is none.
func nth[T any](of []T, n uint32) (picked T) {
	if len(of) > 0 {
		picked = of[int(n)%len(of)]
	}
	return picked
}

// stepCall is a call of the API, on a batch in any status.
func (s *sim) stepCall(step simStep) {
	if m := s.batch(step.a); m != nil {
		s.restOf(m, s.calls(m, simCalls[step.b%uint32(len(simCalls))]))
	}
}

// batch picks one, and seldom one that is final.
func (s *sim) batch(n uint32) *modelBatch {
	open := slices.DeleteFunc(slices.Clone(s.batches), func(m *modelBatch) bool { return table.Final(m.status) })
	if n%8 == 0 {
		open = s.batches
	}
	return nth(open, n/8)
}

// simCalls has start more often than stop, or nothing would ever happen.
var simCalls = []table.Trigger{table.OnStart, table.OnPause, table.OnStart, table.OnPause, table.OnStart, table.OnPause, table.OnStart, table.OnStart, table.OnStart, table.OnPause, table.OnStart, table.OnStop}

// calls makes a call and returns what it must have done.
func (s *sim) calls(m *modelBatch, on table.Trigger) effect {
	said := s.callOf(m, on)
	return func(m *modelBatch) {
		said(m)
		s.settled(m)
	}
}

// stepAnswer ends a send in any way.
func (s *sim) stepAnswer(step simStep) {
	c := nth(s.net.live(s.proc), step.a)
	if c == nil {
		s.stepPassToNext(step)
		return
	}
	m, r := s.batchOf(c), simAnswers[step.b%uint32(len(simAnswers))]
	if step.c%4 == 0 {
		r.err = nil
	}
	s.judge(c, r, time.Duration(1+step.c%200_000)*time.Millisecond)
	if step.c%3 == 0 && errors.Is(r.err, event.ErrNotConnected) {
		s.turn(c.instance, event.Reconnecting)
		s.rests(s.settled)
	}
	s.restOf(m, s.ends(c, r))
	if success := r.err == nil && !r.unstorable; c.committed > 1 || success != (c.committed == 1) {
		s.fail("the commit of send %d was reported %d times, a success: %t", c.number, c.committed, success)
	}
}

// simReplies has successes more often than anything else.
var simReplies = append(make([]simReply, 8),
	simReply{err: event.ErrSendRefused},
	simReply{err: event.ErrNotOnWhatsApp},
	simReply{err: event.ErrOutcomeUnknown},
	simReply{err: errors.New("odd")},
	simReply{err: event.ErrNotConnected}, simReply{err: event.ErrNotConnected}, simReply{err: event.ErrNotConnected},
	simReply{err: event.ErrBusy}, simReply{err: event.ErrBusy},
	simReply{unstorable: true},
)

// simAnswers has refusals too that say something about the account.
var simAnswers = append(slices.Clone(simReplies), simReply{err: event.ErrTimelocked}, simReply{err: event.ErrTimelocked}, simReply{err: event.ErrSendRefused})

// simStreak is how many refusals in a row bench an instance.
const simStreak = 4

// judge draws the conclusions about an account from how a send is about to end,
// for so long.
func (s *sim) judge(c *simCall, r simReply, lasts time.Duration) {
	to := numberOf(c.out.To)
	i := s.env.instances[c.instance]
	changed := false
	s.net.change(func() {
		switch {
		case errors.Is(r.err, event.ErrNotNow):
			if s.env.knows(to) {
				i.refused[to] = true
			}
			i.lock, changed = later(i.lock, s.env.wall().Add(lasts)), true
		case errors.Is(r.err, event.ErrSendRefused):
			i.streak[to] = true
			if len(i.streak) >= simStreak {
				i.bench, changed = later(i.bench, s.env.wall().Add(lasts)), true
			}
		case r.err == nil:
			clear(i.streak)
		}
	})
	if changed {
		s.turn(c.instance, i.state)
	}
}

// stepLock forbids an instance to write to strangers for a while, or lifts that.
func (s *sim) stepLock(step simStep) {
	id := s.instance(step.a)
	var until time.Time
	if step.b%3 > 0 {
		until = s.env.wall().Add(time.Duration(step.c%2_000_000) * time.Millisecond)
	}
	s.net.change(func() {
		i := s.env.instances[id]
		i.lock = until
		clear(i.refused)
	})
	s.turn(id, s.env.instances[id].state)
	s.rests(s.settled)
}

// stepLearn has a recipient of a batch write to the accounts.
func (s *sim) stepLearn(step simStep) {
	m := s.batch(step.a)
	if m == nil {
		return
	}
	s.net.change(func() { s.env.learned[nth(m.spec.recipients, step.b)] = true })
	for id := range s.env.instances {
		s.turn(id, s.env.instances[id].state)
	}
	s.rests(s.settled)
}

// ends returns the end of a send, and what follows.
func (s *sim) ends(c *simCall, r simReply) effect {
	replied := s.replied(c, r)
	return func(m *modelBatch) {
		replied(m)
		s.settled(m)
	}
}

func endingOf(c *simCall, r simReply, skip bool) ending {
	e := ending{changes: c.changes, code: event.SendMessageFailed, status: record.ItemFailed, try: record.AttemptFailed}
	switch {
	case r.err == nil && r.unstorable:
		return doubtful("")
	case r.err == nil:
		e.status, e.try, e.code, e.message = record.ItemSuccess, record.AttemptSuccess, "", int64(c.number)
	case errors.Is(r.err, event.ErrNotConnected):
		e.status, e.try, e.code = record.ItemPending, record.AttemptUnavailable, ""
	case errors.Is(r.err, event.ErrNotNow):
		e.status, e.try, e.code, e.held = record.ItemPending, record.AttemptUnavailable, event.ReachoutTimelocked, true
	case errors.Is(r.err, event.ErrBusy):
		e.status, e.try, e.code, e.busy = record.ItemPending, record.AttemptUnavailable, "", true
	case errors.Is(r.err, event.ErrNotOnWhatsApp) && skip:
		e.status, e.code = record.ItemSkipped, "RECIPIENT_NOT_ON_WHATSAPP"
	case errors.Is(r.err, event.ErrNotOnWhatsApp), errors.Is(r.err, event.ErrSendRefused):
	default:
		return doubtful("")
	}
	return e
}

// turn gives an instance another state.
func (s *sim) turn(id int64, to event.State) {
	s.net.change(func() {
		i := s.env.instances[id]
		if i.deleted {
			to = event.Offline
		}
		i.state, i.changes = to, i.changes+1
	})
	for _, m := range s.batches {
		if m.status == waitInst && to == event.Online && m.uses(id) {
			m.looks()
		}
	}
	s.proc.engine.InstanceChanged(id, to)
}

// instance picks one that was not deleted.
func (s *sim) instance(n uint32) int64 {
	var ids []int64
	for id := int64(1); s.env.instances[id] != nil; id++ {
		if !s.env.instances[id].deleted {
			ids = append(ids, id)
		}
	}
	return nth(ids, n)
}

func (s *sim) stepConnection(step simStep) {
	states := []event.State{event.Online, event.Online, event.Online, event.Reconnecting, event.LoggedOut}
	s.turn(s.instance(step.a), states[step.b%5])
	s.rests(s.settled)
}

// stepRestrict benches an instance for a while, or lifts that.
func (s *sim) stepRestrict(step simStep) {
	id := s.instance(step.a)
	var until time.Time
	if step.b%3 > 0 {
		until = s.env.wall().Add(time.Duration(step.c%200_000) * time.Millisecond)
	}
	s.net.change(func() { s.env.instances[id].bench = until })
	s.turn(id, s.env.instances[id].state)
	s.rests(s.settled)
}

// stepDelete deletes an instance for good; a new one takes over.
func (s *sim) stepDelete(step simStep) {
	id := s.instance(step.a)
	s.net.change(func() {
		s.env.instances[id].deleted = true
		s.env.instances[int64(len(s.env.instances)+1)] = newModelInstance()
	})
	s.forgetLimits(id)
	s.turn(id, event.Offline)
	s.rests(s.settled)
}
