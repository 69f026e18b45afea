package batch

import (
	"context"

	"postern/batch/optout"
	"postern/event"
)

// stepOptOut has a recipient of a batch opt out, or come back, or opt out of the batches
// of another user, who has none of them. Sometimes the process ends right after the commit.
func (s *sim) stepOptOut(step simStep) {
	m := s.batch(step.a)
	if m == nil || s.proc.stopped != nil {
		return
	}
	number, owner := nth(m.spec.recipients, step.b), m.spec.owner
	if step.c%7 == 0 {
		owner = simOwners[0]
		if owner == m.spec.owner {
			owner = simOwners[1]
		}
	}
	to := event.Recipient{User: number, Server: event.UserServer}
	book, ctx := s.proc.book, context.Background()
	change := func() (int, error) { return book.Add(ctx, owner, []optout.Addition{{To: to}}) }
	out := s.env.optedOut[number]
	if out && step.c%3 == 0 {
		change = func() (int, error) { return book.Remove(ctx, owner, []event.Recipient{to}) }
	}
	if owner == m.spec.owner {
		s.net.change(func() { s.env.optedOut[number] = !out || step.c%3 != 0 })
	}
	s.tally.OptOuts++
	if step.c%5 == 0 {
		s.kill(1, func() (*modelBatch, effect) {
			_, _ = change() // the answer may be lost
			return nil, nil
		})
		return
	}
	n, err := change()
	s.must(err, "opt out")
	s.checked += n // its commit
	s.rests(s.settled)
}
