package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"postern/batch/table"
	"postern/event"
	"postern/instance/pace"
	"postern/store"
)

// simKind is what may happen in a life besides what happens in all.
type simKind int

const (
	plainLife   simKind = iota // every change is accounted for, and final batches go with their retention
	limitedLife                // instances have limits
	skewedLife                 // and someone sets the clock
)

func kindOf(seed uint64) simKind { return simKind(seed % 3) }

// retention is that of final batches. Where the clock is set they are kept.
func (k simKind) retention() time.Duration {
	if k == skewedLife {
		return 0
	}
	return simRetention
}

// simZones are those of limits. Their clocks never change.
var simZones = map[string]time.Duration{"UTC": 0, "Asia/Kathmandu": 5*time.Hour + 45*time.Minute}

// stepLimit sets limits that are met within some steps, or takes them away.
func (s *sim) stepLimit(step simStep) {
	if s.kind == plainLife {
		s.stepAnswer(step)
		return
	}
	id, d := s.instance(step.a), &draws{uint64(step.b)<<32 | uint64(step.c)}
	limits := s.drawLimits(d)
	before := s.proc.pacer.Limits(id)
	s.net.change(func() {
		s.env.instances[id].book.setting = func() (now pace.Limits, set bool) {
			now = s.proc.pacer.Limits(id)
			return now, now != before
		}
	})
	kept, err := s.proc.pacer.Set(context.Background(), id, limits, func(*store.Tx) bool { return true })
	s.must(err, "set limits")
	if got := s.proc.pacer.Limits(id); got != kept {
		s.fail("the limits of instance %d are %+v, want %+v", id, got, kept)
	}
	s.net.change(func() {
		b := s.env.instances[id].book
		b.setting = nil
		b.put(kept, s.env.skew)
	})
	s.tally.Limits++
	s.rests(s.settled)
}

func (s *sim) drawLimits(d *draws) (l pace.Limits) {
	if d.one(4) {
		return l
	}
	some := func(least, most uint64) *int64 {
		if !d.one(3) {
			return nil
		}
		n := int64(least + d.n(most-least+1)) //nolint:gosec // small
		return &n
	}
	l.PerMinute, l.PerHour, l.PerDay, l.NewContactsPerDay = some(1, 4), some(2, 9), some(3, 20), some(0, 5)
	l.Timezone = []string{"UTC", "Asia/Kathmandu"}[d.n(2)]
	if d.one(4) {
		l.WarmUp = &pace.WarmUp{From: 2, To: 12, Days: 1 + int64(d.n(4)), StartedAt: event.At(s.env.wall().Add(time.Duration(d.n(96))*time.Hour - 72*time.Hour)).String()}
	}
	if d.one(3) {
		from := s.env.wall().Add(simZones[l.Timezone]).Add(time.Duration(d.n(600))*time.Minute - 5*time.Hour)
		l.QuietHours = &pace.QuietHours{From: from.Format("15:04"), To: from.Add(time.Duration(1+d.n(600)) * time.Minute).Format("15:04")}
	}
	return l
}

// forgetLimits is the deletion of an instance.
func (s *sim) forgetLimits(id int64) {
	err := simLedger{s.proc.store, s.proc.simWriter}.Update(context.Background(), func(tx *store.Tx) error { return pace.Forget(tx, id) })
	s.must(err, "forget limits")
	s.proc.pacer.Drop(id)
	s.net.change(func() { s.env.instances[id].book = &modelBook{} })
}

// stepDirect sends a message that is no batch's.
func (s *sim) stepDirect(step simStep) {
	if s.kind == plainLife {
		s.stepAnswer(step)
		return
	}
	id, to := s.instance(step.a), fmt.Sprintf("48%07d", step.b%40)
	if m := s.batch(step.b); m != nil && step.c%2 == 0 {
		to = nth(m.spec.recipients, step.c/2)
	}
	b := s.env.instances[id].book
	why := b.forbids(s.env.now, s.env.skew, mark(to), !s.env.knows(to))
	pass, err := s.proc.pacer.Begin(id, to+"@"+event.UserServer, "")
	switch {
	case err != nil && (why == "" || !errors.Is(err, event.ErrNotNow)):
		s.fail("a direct send by instance %d was refused: %v", id, err)
	case err != nil:
		s.tally.Refused++
		s.rests(s.settled)
		return
	case why != "" && b.kept:
		s.fail("a direct send by instance %d begins although %s", id, why)
	}
	s.must(pass.Leave(), "a direct send")
	s.net.change(func() {
		m, err := s.env.leaves(id, to, s.env.now)
		s.must(err, "a direct send")
		if b.ended = s.env.now; step.c%5 == 0 {
			b.takesBack(m)
		}
	})
	pass.End(step.c%5 != 0)
	s.tally.Direct++
	s.rests(s.settled)
}

// shared reports whether a batch other than m may send from an instance, or might until it ended in this moment.
func (s *sim) shared(id int64, m *modelBatch) bool {
	return slices.ContainsFunc(s.batches, func(o *modelBatch) bool {
		return o != m && (!table.Final(o.status) || o.updated.Equal(s.env.wall())) && o.uses(id)
	})
}

// couples reports whether the end of a send makes room for other batches.
func (s *sim) couples(c *simCall, r simReply) bool {
	return s.env.instances[c.instance].book.limited() && !leftFor(r.err) && s.shared(c.instance, s.batchOf(c))
}

// compareLimits compares what an instance is said to have used.
func (s *sim) compareLimits() {
	for id, i := range s.env.instances {
		b := i.book
		got := s.proc.pacer.Status(id)
		if none := b.limits == (pace.Limits{Timezone: b.limits.Timezone}); none || got == nil {
			if none != (got == nil) {
				s.fail("the limits of instance %d read %+v", id, got)
			}
			continue
		}
		today := func(m modelLeft) bool { return b.day(m.at.Add(s.env.skew)) == b.day(s.env.wall()) }
		within := func(span time.Duration) int64 {
			return b.count(func(m modelLeft) bool { return s.env.now.Sub(m.at) < span })
		}
		people, _ := b.people(today)
		s.compareUse(id, "minute", got.PerMinute, b.limits.PerMinute, within(time.Minute))
		s.compareUse(id, "hour", got.PerHour, b.limits.PerHour, within(time.Hour))
		s.compareUse(id, "people", got.NewContactsPerDay, b.limits.NewContactsPerDay, int64(len(people)))
		day := b.limits.PerDay
		if b.limits.WarmUp != nil {
			if warm := b.warm(s.env.wall()); day == nil || warm < *day {
				day = &warm
			}
		}
		s.compareUse(id, "day", got.PerDay, day, b.count(today))
		if quiet := got.QuietUntil != nil && !got.QuietUntil.IsZero(); quiet != b.quiet(s.env.wall()) {
			s.fail("instance %d is quiet until %v", id, got.QuietUntil)
		}
	}
}

func (s *sim) compareUse(id int64, what string, got *pace.Use, limit *int64, used int64) {
	switch {
	case got == nil && limit == nil:
	case got == nil || limit == nil || got.Limit != *limit || got.Used != used:
		s.fail("the %s of instance %d: %+v, want %d of %v", what, id, got, used, show(limit))
	}
}
