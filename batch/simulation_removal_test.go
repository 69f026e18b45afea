package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/batch/table"
	"postern/delivery/outbox"
	"postern/event"
	"postern/internal/prune"
	"postern/store"
)

// simRetention is how long the simulated program keeps final batches.
const simRetention = 20 * time.Hour

// deletion is how many changes a deletion makes: the batch goes, and then what
// it had, which is little.
const deletion = 2

// endedAt returns when a final batch became so.
func (m *modelBatch) endedAt() time.Time {
	if m.status == stopped {
		return m.stoppedAt
	}
	return m.completed
}

// remove returns what a deletion by its owner does.
func (m *modelBatch) remove() verdict {
	if !table.Final(m.status) {
		return conflict
	}
	m.gone = true
	m.commits += deletion
	return done
}

// stepRemove has someone delete a batch: of any status, of any age, or another
// user's.
func (s *sim) stepRemove(step simStep) {
	m := s.batch(step.a)
	if step.b%2 == 0 {
		m = s.anyOf(step.a)
	}
	if m == nil || s.proc.stopped != nil {
		return
	}
	if step.c%4 == 0 {
		if err := s.proc.engine.Delete(context.Background(), uuid.New(), m.id); !errors.Is(err, ErrNotFound) {
			s.fail("a stranger deletes a batch: %v", err)
		}
	}
	s.known(m)
	did := s.deletes(m)
	m.deleting = true
	s.restOf(m, did)
	m.deleting = false
	for _, on := range simCalls {
		if m.gone {
			s.callGone(m, on)
		}
	}
}

// known has a batch compared after this step, though no call named it for long.
func (s *sim) known(m *modelBatch) {
	if !slices.Contains(s.batches, m) {
		s.batches = append(s.batches, m)
	}
}

// anyOf picks one of all batches that there are, most of them final.
func (s *sim) anyOf(n uint32) *modelBatch {
	var there []*modelBatch
	for _, m := range s.all {
		if !m.gone {
			there = append(there, m)
		}
	}
	slices.SortFunc(there, func(a, b *modelBatch) int { return a.spec.number - b.spec.number })
	return nth(there, n)
}

// deletes makes the call and returns what it must have done.
func (s *sim) deletes(m *modelBatch) effect {
	err := s.proc.engine.Delete(context.Background(), m.spec.owner, m.id)
	return func(m *modelBatch) {
		if want, got := m.remove(), verdictOf(err); got != want {
			m.refuse("a deletion while %s answered %v, want %s", m.status, err, want)
		}
		if m.gone {
			s.tally.Deletions++
		}
	}
}

// callGone makes a call to a batch that there is no more.
func (s *sim) callGone(m *modelBatch, on table.Trigger) {
	e := s.proc.engine
	call := map[table.Trigger]func(context.Context, uuid.UUID, uuid.UUID) (View, error){
		table.OnStart: e.StartBatch, table.OnPause: e.Pause, table.OnStop: e.StopBatch,
	}[on]
	if _, err := call(context.Background(), m.spec.owner, m.id); !errors.Is(err, ErrNotFound) {
		s.fail("%s of a deleted batch answered %v", on, err)
	}
	if err := e.Delete(context.Background(), m.spec.owner, m.id); !errors.Is(err, ErrNotFound) {
		s.fail("a second deletion answered %v", err)
	}
}

// stepRaceRemoval deletes a batch while its worker has just committed its end
// and not looked again yet.
func (s *sim) stepRaceRemoval(step simStep) {
	c := nth(s.net.live(s.proc), step.a)
	if c == nil || s.proc.stopped != nil {
		return
	}
	m, r := s.batchOf(c), simReplies[step.b%uint32(len(simReplies))]
	if errors.Is(r.err, event.ErrNotConnected) || s.couples(c, r) || m.status != process || m.pending() > 0 {
		return
	}
	s.tally.Races++
	var doneA, doneB effect
	var work sync.WaitGroup
	s.proc.between(func() { work.Go(func() { doneA = s.replied(c, r) }) }, 1, func() { doneB = s.deletes(m) })
	work.Wait()
	m.deleting = true
	s.restOf(m, s.then(doneA, 1, doneB))
	m.deleting = false
}

// stepKillRemoval ends the process after one of the commits of a deletion. The
// next one removes what was left.
func (s *sim) stepKillRemoval(step simStep) {
	m := s.anyOf(step.a)
	if m == nil || s.proc.stopped != nil || !table.Final(m.status) {
		return
	}
	s.known(m)
	before := s.proc.total()
	s.proc.arm(1 + int(step.c%deletion))
	err := s.proc.engine.Delete(context.Background(), m.spec.owner, m.id)
	s.tally.Kills++
	s.must(s.proc.bury(), "kill")
	made := s.proc.total() - before
	if err != nil && made > 0 || made > deletion {
		s.fail("a deletion that made %d changes answered %v", made, err)
	}
	m.gone = err == nil
	s.boots++
	s.boot(s.proc.path, s.boots%4 != 3)
	if m.gone {
		s.tally.Deletions++
		s.checked += deletion - made // what it left is removed now
	}
	s.rest(func(o *modelBatch) effect {
		if o == m {
			return none
		}
		return s.settledAfterBoot
	})
	s.must(s.compare(m), fmt.Sprintf("batch %d", m.spec.number))
	s.nothingLeft()
}

// expire notes which batches went with their retention, and returns how many.
// They must have been final for as long, and may not be there for long after.
func (s *sim) expire() (n int) {
	if s.kind.retention() == 0 {
		return 0
	}
	for _, m := range s.all {
		if m.gone || m.deleting || !table.Final(m.status) {
			continue
		}
		over := m.endedAt().Add(simRetention)
		there := false
		s.must(s.proc.store.View(func(tx *store.Tx) error {
			there = tx.Has(record.BucketHeader, m.id[:])
			return nil
		}), "look for a batch")
		switch late := s.env.now.Sub(over); {
		case !there && late < 0:
			s.fail("batch %d went %s before its retention was over", m.spec.number, -late)
		case !there:
			m.gone = true
			n++
			s.must(s.compareGone(m), fmt.Sprintf("batch %d, past its retention", m.spec.number))
		case late > prune.Grace(simRetention)+time.Minute && s.proc.stopped == nil:
			s.fail("batch %d is there %s after its retention", m.spec.number, late)
		}
	}
	s.tally.Expired += n
	return n
}

// mayExpire reports whether a batch can go with its retention by a time.
func (s *sim) mayExpire(by time.Time) bool {
	if s.kind.retention() == 0 {
		return false
	}
	for _, m := range s.all {
		if !m.gone && table.Final(m.status) && !m.endedAt().Add(simRetention).After(by) {
			return true
		}
	}
	return false
}

// compareGone reports what is left of a batch that was removed.
func (s *sim) compareGone(m *modelBatch) error {
	if _, err := s.proc.engine.Batch(m.spec.owner, m.id); !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("it was removed, and reads %w", err)
	}
	return s.proc.store.View(func(tx *store.Tx) error {
		for _, b := range record.Buckets() {
			prefix := m.id[:]
			if b.Name == record.BucketOwner {
				prefix = store.Key(m.spec.owner, m.id)
			}
			if n, err := tx.Count(b.Name, prefix); n > 0 || err != nil {
				return fmt.Errorf("it was removed, and %s has %d records of it (%w)", b.Name, n, err)
			}
		}
		forgotten, err := outbox.Forgotten(tx, uuid.Nil, 1<<20)
		if err != nil || !slices.Contains(forgotten, m.id) {
			return fmt.Errorf("it was removed, and its events are not to be (%w)", err)
		}
		return nil
	})
}
