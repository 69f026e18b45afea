package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing/synctest"

	"postern/batch/record"
	"postern/batch/table"
	"postern/store"
)

// reboot starts the next process and compares what it made of the batches.
func (s *sim) reboot(path string, after func(*modelBatch)) {
	s.boots++
	s.boot(path, s.boots%4 != 3)
	s.rests(after)
}

// settledAfterBoot is what a new process does with a batch that it finds.
func (s *sim) settledAfterBoot(m *modelBatch) {
	m.forget()
	m.found()
	m.settle()
}

// stepKill ends the process without a goodbye, in the middle of whatever waits.
func (s *sim) stepKill(simStep) { s.kill(0, nil) }

// kill ends the process right after the next so many commits, with 0 of them
// before the next write of the pacer, or now, and starts the next one. until is what went on then.
func (s *sim) kill(commits int, until func() (*modelBatch, effect)) {
	s.tally.Kills++
	before, enabled := s.proc.total(), s.env.enabled
	var of *modelBatch
	var during effect
	if until != nil {
		s.proc.arm(commits)
		of, during = until()
		synctest.Wait()
	}
	s.must(s.proc.bury(), "kill")
	at, made := s.proc.total()-before, s.net.made()
	s.boots++
	s.boot(s.proc.path, s.boots%4 != 3)
	s.rest(func(m *modelBatch) effect {
		if m != of {
			return s.settledAfterBoot
		}
		return func(m *modelBatch) {
			s.env.made = made
			s.dieAt(m, at, enabled, during)
		}
	})
}

// dieAt has the batch stay as it was after that many commits of what went on in
// the process before, whose worker was enabled or not.
func (s *sim) dieAt(m *modelBatch, commits int, was bool, during effect) {
	c, trail := m.clone(), []*modelBatch{m.clone()}
	c.trail = &trail
	enabled := s.env.enabled
	s.env.enabled = was
	during(c)
	s.env.enabled, s.env.made = enabled, 0
	if commits >= len(trail) {
		m.refuse("%d commits were made, the model has %d: %s", commits, len(trail)-1, c.wrong)
		return
	}
	*m = *trail[commits].clone()
	s.settledAfterBoot(m)
}

// stepKillDuring ends the process between the commits of an answer or a call.
func (s *sim) stepKillDuring(step simStep) {
	commits := 1 + int(step.c%3)
	if s.kind != plainLife && step.c%5 < 2 {
		commits = 0
	}
	if s.proc.stopped != nil {
		s.kill(0, nil)
		return
	}
	if step.a%2 == 0 {
		if c := nth(s.net.live(s.proc), step.b); c != nil {
			r := simReplies[step.b%uint32(len(simReplies))]
			if s.couples(c, r) {
				r = simReply{} // others would commit as well
			}
			s.kill(commits, func() (*modelBatch, effect) {
				return s.batchOf(c), s.ends(c, r)
			})
			return
		}
	}
	if m := s.batch(step.a); m != nil {
		s.kill(commits, func() (*modelBatch, effect) { return m, s.calls(m, simCalls[step.b%uint32(len(simCalls))]) })
	}
}

// stepKillCreation ends the process between the commits of a creation whose
// items take several: the batch is there wholly, or not at all and with nothing
// left behind.
func (s *sim) stepKillCreation(step simStep) {
	if s.proc.stopped != nil {
		return
	}
	m := s.newModel(&draws{uint64(step.a)}, &draws{uint64(step.b)})
	m.grow(chunk + 1)
	no := false
	m.spec.request.AutoStart = &no
	s.chance.expect(m.spec.number)
	s.proc.arm(1 + int(step.c%4))
	v, err := s.proc.engine.Create(context.Background(), m.spec.owner, m.spec.request)
	s.tally.Kills++
	s.must(s.proc.bury(), "kill")
	s.boots++
	s.boot(s.proc.path, true)
	if err == nil {
		m.id = v.ID
		s.made++
		s.batches, s.all[m.id] = append(s.batches, m), m
	} else {
		s.checked++ // the sweep
	}
	s.rests(func(o *modelBatch) {
		if o == m {
			m.create(true)
		}
		s.settledAfterBoot(o)
	})
	s.nothingLeft()
	if err == nil {
		s.restOf(m, s.calls(m, table.OnStop))
	}
}

// grow gives the batch that many recipients.
func (m *modelBatch) grow(n int) {
	for i := len(m.items); i < n; i++ {
		to := simNumber(m.spec.number, i)
		m.spec.inputs, m.spec.recipients = append(m.spec.inputs, to), append(m.spec.recipients, to)
		if m.spec.request.List != nil {
			m.spec.addOwn(i, to, false)
		} else {
			m.spec.request.Recipients = append(m.spec.request.Recipients, to)
		}
		m.items = append(m.items, modelItem{status: record.ItemPending})
	}
}

// nothingLeft checks that the file holds the items of the batches that there
// are, and no others.
func (s *sim) nothingLeft() {
	want, got := 0, 0
	for _, m := range s.all {
		if !m.gone {
			want += len(m.items)
			for _, own := range m.spec.own {
				if own.externalID != "" || len(own.variables) > 0 {
					want++
				}
			}
		}
	}
	err := s.proc.store.View(func(tx *store.Tx) error {
		if under, err := record.IDs(tx, record.BucketCreating); err != nil || len(under) > 0 {
			return fmt.Errorf("%d creations are under way: %w", len(under), err)
		}
		if under, err := record.IDs(tx, record.BucketRemoving); err != nil || len(under) > 0 {
			return fmt.Errorf("%d removals are under way: %w", len(under), err)
		}
		count := func(_, _ []byte) (bool, error) {
			got++
			return true, nil
		}
		return errors.Join(tx.Scan(record.BucketItem, store.Range{}, count), tx.Scan(record.BucketDetails, store.Range{}, count))
	})
	s.must(err, "count the items")
	if got != want {
		s.fail("the file has %d items and details, the batches %d", got, want)
	}
}

// stepTakeOver starts a second engine on the same store while the first one
// still has sends on their way: those come back to a batch that is another's,
// and change nothing. The program never does so; the fencing number is there
// in case it did. An engine with batches that wait would not be fenced, since
// it checks them again.
func (s *sim) stepTakeOver(simStep) {
	if s.proc.stopped != nil || slices.ContainsFunc(s.batches, func(m *modelBatch) bool {
		return slices.Contains(in(queued, schedul, waitWin, waitInst), m.status)
	}) {
		return
	}
	for _, c := range s.net.live(s.proc) {
		s.net.change(func() { c.lapsed = true })
	}
	s.net.change(func() { s.proc.dead = true })
	s.tally.Takeovers++
	s.elders = append(s.elders, s.proc)
	proc, err := start(s.net, s.proc.store, s.proc.pacer, s.proc.simWriter, simBoot{s.env.enabled, s.chance.draw, s.kind.retention()})
	s.must(err, "take over")
	s.proc = proc
	s.rests(s.settledAfterBoot)
}
