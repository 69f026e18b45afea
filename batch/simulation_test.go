package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/batch/table"
	"postern/delivery/outbox"
	"postern/event"
	"postern/event/witness"
	"postern/store"
)

// sim lives one life: it does to a real engine on a real file what the steps
// say, lets it come to rest, and compares all that can be seen of it with the
// models of its batches.
type sim struct {
	env     *modelEnv
	net     *simNet
	chance  *simChance
	proc    *simProcess
	elders  []*simProcess // those that another took over from
	boots   int
	batches []*modelBatch // those that can be called, oldest first
	kind    simKind
	made    int
	all     map[uuid.UUID]*modelBatch

	seen     map[uuid.UUID]*observed
	newest   uint64 // of the outbox
	ownerSeq map[uuid.UUID]uint64
	entries  map[uuid.UUID][]outbox.Entry // not compared yet
	checked  int                          // commits that were compared
	tally    simTally
}

var schemas = witness.New(event.SchemaJSON)

// simTally is how much a life held.
type simTally struct {
	Batches, Sends, Commits, Events, Kills, Stops, Takeovers, Races, Deletions, Expired, Comparisons int
	Direct, Refused, Limits, Clock, Doubted, OptOuts, Passed, Retries                                int

	moves map[modelMove]int
}

// observed is a batch as its readers see it.
type observed struct {
	view  View
	items []ItemWithAttempts
}

// simFailure ends a life: the engine did what no model allows.
type simFailure struct{ error }

func (s *sim) must(err error, doing string) {
	if err != nil {
		panic(simFailure{fmt.Errorf("%s: %w", doing, err)})
	}
}

func (s *sim) fail(format string, args ...any) {
	panic(simFailure{fmt.Errorf(format, args...)})
}

// live runs a life in a bubble and returns what broke a rule.
func live(path string, seed uint64, steps []simStep) (tally simTally, at int, err error) {
	env := &modelEnv{now: time.Now().UTC(), instances: map[int64]*modelInstance{}, learned: map[string]bool{}, optedOut: map[string]bool{}, moves: map[modelMove]int{}}
	for id := range int64(3) {
		env.instances[id+1] = newModelInstance()
	}
	net := newNet(env)
	s := &sim{
		env: env, net: net, chance: &simChance{seed: seed, net: net, numbers: map[uuid.UUID]uint64{}},
		all: map[uuid.UUID]*modelBatch{}, ownerSeq: map[uuid.UUID]uint64{}, kind: kindOf(seed),
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case simFailure:
			err = r.error
			s.abandon()
		default:
			panic(r)
		}
	}()
	s.boot(path, true)
	for at = range steps {
		s.take(steps[at])
	}
	s.compareAll()
	s.abandon()
	s.tally.Doubted = s.net.doubted
	s.tally.Batches, s.tally.Sends, s.tally.moves = s.made, len(s.net.calls), env.moves
	return s.tally, len(steps), nil
}

func (s *sim) boot(path string, enabled bool) {
	var err error
	s.env.enabled, s.env.hard, s.checked = enabled, time.Time{}, 0
	s.proc = nil
	s.proc, err = boot(s.net, path, simBoot{enabled, s.chance.draw, s.kind.retention()})
	s.must(err, "boot")
}

// abandon lets all goroutines of the bubble end.
func (s *sim) abandon() {
	if s.proc != nil && !s.proc.dead {
		_ = s.proc.bury()
	}
	for _, c := range s.net.stuck(func(*simProcess) bool { return true }) {
		select {
		case c.reply <- simReply{}:
		default:
		}
	}
	for _, p := range s.elders {
		_ = p.engine.Stop(context.Background())
	}
	synctest.Wait()
}

// effect is what a step does to a batch.
type effect func(*modelBatch)

// none is a batch to which nothing happens.
func none(*modelBatch) {}

// settled is what any batch does by itself, now that something may have
// changed.
func (s *sim) settled(m *modelBatch) {
	if s.env.hard.IsZero() {
		m.settle()
	}
}

// rest lets the engine come to rest and compares: to each batch its effect must
// have happened, and nothing else.
func (s *sim) rest(effects func(*modelBatch) effect) {
	s.observe()
	expired := s.expire()
	commits, spare := s.checked, 0
	for _, m := range s.batches {
		effects(m)(m)
		if m.wrong != "" || m.commits > 0 || len(m.events) > 0 || len(s.entries[m.id]) > 0 {
			s.must(s.compare(m), fmt.Sprintf("batch %d", m.spec.number))
			s.compared(m)
		}
		commits, spare = commits+m.commits, spare+m.spare
		m.commits, m.spare = 0, 0
	}
	total := s.proc.total()
	if extra := total - commits; extra < 0 || extra > spare && expired == 0 || expired > 0 && extra < 1 {
		s.fail("the engine made %d changes, the models %d, and %d batches went with their retention", total-s.checked, commits-s.checked, expired)
	}
	s.tally.Commits += total - s.checked
	s.checked = total
	s.compareSends()
	s.forgetFinal()
}

// rests is rest where every batch has the same effect.
func (s *sim) rests(e effect) { s.rest(func(*modelBatch) effect { return e }) }

// restOf is rest where one batch has an effect and the others settle.
func (s *sim) restOf(of *modelBatch, e effect) {
	s.rest(func(m *modelBatch) effect {
		if m == of {
			return e
		}
		return s.settled
	})
}

func (s *sim) compared(m *modelBatch) {
	s.tally.Comparisons++
	s.tally.Events += len(m.events)
	m.events = nil
	delete(s.entries, m.id)
}

// observe waits until the engine rests and reads what it reported meanwhile.
func (s *sim) observe() {
	synctest.Wait()
	s.seen, s.entries = map[uuid.UUID]*observed{}, map[uuid.UUID][]outbox.Entry{}
	var all []outbox.Entry
	err := s.proc.store.View(func(tx *store.Tx) (err error) {
		all, err = outbox.After(tx, s.newest, 1<<20)
		return err
	})
	s.must(err, "read the outbox")
	for _, e := range all {
		if e.Seq != s.newest+1 {
			s.fail("outbox entry %d follows %d", e.Seq, s.newest)
		}
		if e.OwnerSeq != s.ownerSeq[e.Owner]+1 {
			s.fail("event %d of its user follows %d", e.OwnerSeq, s.ownerSeq[e.Owner])
		}
		if s.all[e.Batch] == nil {
			s.fail("%s of an unknown batch", e.Kind)
		}
		s.newest, s.ownerSeq[e.Owner] = e.Seq, e.OwnerSeq
		s.entries[e.Batch] = append(s.entries[e.Batch], e)
	}
}

// see reads a batch as its owner sees it, once per rest.
func (s *sim) see(m *modelBatch) *observed {
	if o := s.seen[m.id]; o != nil {
		return o
	}
	o := &observed{}
	view, parts, err := s.proc.engine.Processing(m.spec.owner, m.id)
	if m.deleting && errors.Is(err, ErrNotFound) { // it ended: what waited was skipped, and nothing of it was given since
		o.items, s.seen[m.id] = make([]ItemWithAttempts, len(m.items)), o
		for at := range o.items {
			o.items[at].Status = ItemSkipped
		}
		return o
	}
	s.must(err, "read a batch")
	for part, err := range parts {
		s.must(err, "read items")
		o.items = append(o.items, part...)
	}
	o.view, s.seen[m.id] = view, o
	return o
}

// forgetFinal keeps the number of batches that are called small. Every batch is
// compared once more at the end.
func (s *sim) forgetFinal() {
	final := 0
	s.batches = slices.DeleteFunc(s.batches, func(m *modelBatch) bool {
		if m.gone {
			return true
		}
		if table.Final(m.status) {
			final++
		}
		return table.Final(m.status) && len(s.batches) > 8 && final == 1
	})
}

// sleepTo lets the time pass without looking at what happens meanwhile.
func (s *sim) sleepTo(at time.Time) {
	s.net.change(func() {}) // what was read of the model was read before others continue
	time.Sleep(at.Sub(s.env.now))
	s.env.now = at
}
