package batch

import (
	"context"
	"fmt"
	"slices"
	"testing/synctest"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/batch/table"
	"postern/delivery/outbox"
)

// drawRetry draws which items of a batch a retry selects.
func (s *sim) drawRetry(d *draws) (r RetryRequest) {
	switch d.n(8) {
	case 0, 1:
	case 2:
		r.Status = []record.ItemStatus{record.ItemFailed, record.ItemSkipped}
	case 3:
		r.Status = []record.ItemStatus{record.ItemPending}
	case 4:
		r.Status, r.MayUnknown = []record.ItemStatus{record.ItemUnknown, record.ItemFailed}, true
	case 5:
		r.Status, r.MayUnknown = []record.ItemStatus{record.ItemPending, record.ItemUnknown, record.ItemFailed, record.ItemSkipped}, true
	case 6:
		r.Status = []record.ItemStatus{record.ItemFailed, record.ItemUnknown} // without MayUnknown
	default:
		r.Status = []record.ItemStatus{record.ItemPending, record.ItemSuccess}
	}
	switch d.n(6) {
	case 0:
		r.Codes = []string{"SEND_MESSAGE_FAILED", "SEND_RESULT_UNKNOWN"}
	case 1:
		r.Codes = []string{"OPTED_OUT"}
	}
	r.Name = fmt.Sprint("retry ", s.made+1)
	first := uint32(d.n(3))
	for more := range 1 + uint32(d.n(3)) {
		id := s.instance(first + more)
		r.Instances = append(r.Instances, record.InstanceRef{ID: id, Name: instanceName(id)})
	}
	r.Instances = unique(r.Instances)
	return r
}

// retries returns the model of what a retry makes, and how the call ends.
func (m *modelBatch) retries(s *sim, r RetryRequest) (*modelBatch, verdict) {
	status := r.Status
	if len(status) == 0 {
		status = []record.ItemStatus{record.ItemFailed}
	}
	switch {
	case slices.Contains(status, record.ItemSuccess), slices.Contains(status, record.ItemUnknown) && !r.MayUnknown:
		return nil, invalided
	case !slices.Contains(in(stopped, complete, witherr), m.status):
		return nil, conflict
	}
	old := m.spec
	spec := &modelSpec{number: s.made + 1, family: old.family, owner: old.owner, auto: old.auto, text: old.text, more: old.more, retryOf: &m.id}
	q := &spec.request
	*q = old.request
	q.Name, q.Instances, q.AutoStart, q.AutoResume, q.Schedule, q.Recipients = r.Name, r.Instances, nil, &spec.auto, nil, nil
	if old.request.List != nil {
		q.List = &mailing.Recipients{}
	}
	var items []modelItem
	for at, i := range m.items {
		code := ""
		if p := m.item(at).LastErrorCode; p != nil {
			code = *p
		}
		if !slices.Contains(status, i.status) || len(r.Codes) > 0 && !slices.Contains(r.Codes, code) {
			continue
		}
		spec.inputs, spec.recipients = append(spec.inputs, old.inputs[at]), append(spec.recipients, old.recipients[at])
		if old.own != nil {
			spec.own = append(spec.own, old.own[at])
		}
		if q.List != nil {
			q.List.AddText([]byte(old.inputs[at]))
		} else {
			q.Recipients = append(q.Recipients, old.inputs[at])
		}
		items = append(items, modelItem{status: record.ItemPending, sent: slices.Clone(i.sent)}) // those parts are not sent again
	}
	if len(items) == 0 {
		return nil, invalided
	}
	return s.modelOf(spec, items), done
}

// stepRetry retries items of a batch, final or not. Sometimes the process is killed right after one of
// the commits that follow.
func (s *sim) stepRetry(step simStep) {
	d := &draws{uint64(step.b)}
	m, r := s.retried(step.a), s.drawRetry(d)
	if m == nil {
		s.stepCreate(step)
		return
	}
	s.known(m)
	n, want := m.retries(s, r)
	ctx, e := context.Background(), s.proc.engine
	switch {
	case want != done:
		_, err := e.Retry(ctx, m.spec.owner, m.id, r)
		if got := verdictOf(err); got != want {
			s.fail("a retry of batch %d while %s answered %v, want %s", m.spec.number, m.status, err, want)
		}
		s.rests(none)
		return
	case slices.ContainsFunc(s.batches, func(o *modelBatch) bool { return o.spec.family == m.spec.family && !table.Final(o.status) }):
		return // chance counts the sends of a family
	}
	if o := s.oldestOpen(); o != nil {
		s.restOf(o, s.calls(o, table.OnStop))
		return
	}
	s.tally.Retries++
	s.net.change(func() {
		for _, to := range n.spec.recipients {
			for number := range s.net.lastTo {
				if numberOf(number) == to {
					delete(s.net.lastTo, number)
				}
			}
		}
	})
	staged := 0 // commits before the one in which the batch appears
	if len(n.items) > chunk {
		staged = (len(n.items) + chunk - 1) / chunk
	}
	retry := func() (*modelBatch, effect) {
		s.chance.expect(n.spec.family)
		v, err := e.Retry(ctx, m.spec.owner, m.id, r)
		s.must(err, "retry")
		n.id = v.ID
		s.chance.known(v.ID)
		s.made++
		s.batches, s.all[n.id] = append(s.batches, n), n
		return n, func(n *modelBatch) {
			n.create(false)
			if v.Status != n.status {
				n.refuse("the retry answered %s, want %s", v.Status, n.status)
			}
			s.settled(n)
		}
	}
	switch dies := step.c%5 == 0 && s.proc.stopped == nil; {
	case staged > 0 && dies:
		s.killRetry(step, m, n, r, staged)
		return
	case dies:
		s.kill(1+int(step.c/5%3), retry)
		return
	}
	made, does := retry()
	s.checked += staged
	s.restOf(made, does)
	if staged > 0 {
		s.restOf(made, s.calls(made, table.OnStop))
	}
}

// killRetry ends the process between the commits of a retry whose items take several: the new batch has
// all of them, or there is none.
func (s *sim) killRetry(step simStep, m, n *modelBatch, r RetryRequest, staged int) {
	s.tally.Kills++
	s.chance.expect(n.spec.family)
	before, enabled := s.proc.total(), s.env.enabled
	s.proc.arm(1 + int(step.c/5%4))
	v, err := s.proc.engine.Retry(context.Background(), m.spec.owner, m.id, r)
	synctest.Wait()
	s.must(s.proc.bury(), "kill")
	at := s.proc.total() - before - staged
	if (err == nil) != (at > 0) {
		s.fail("a retry that made %d commits besides %d answered %v", at, staged, err)
	}
	if err == nil {
		n.id = v.ID
		s.chance.known(v.ID)
		s.made++
		s.batches, s.all[n.id] = append(s.batches, n), n
	}
	s.boots++
	s.boot(s.proc.path, true)
	if err != nil {
		s.checked++ // the sweep
	}
	s.rest(func(o *modelBatch) effect {
		if o != n {
			return s.settledAfterBoot
		}
		return func(n *modelBatch) {
			s.dieAt(n, at, enabled, func(n *modelBatch) {
				n.create(false)
				s.settled(n)
			})
		}
	})
	s.nothingLeft()
	if err == nil {
		s.restOf(n, s.calls(n, table.OnStop))
	}
}

// retried picks a batch to be retried: mostly one that is final.
func (s *sim) retried(n uint32) *modelBatch {
	if n%8 == 0 {
		return s.anyOf(n / 8)
	}
	for more := range uint32(10) {
		if m := s.anyOf(n/8 + more); m != nil && table.Final(m.status) && m.count(record.ItemSuccess) < len(m.items) {
			return m
		}
	}
	return s.anyOf(n / 8)
}

// modelOf returns a model of a batch that is about to be created with these items.
func (s *sim) modelOf(spec *modelSpec, items []modelItem) *modelBatch {
	m := &modelBatch{env: s.env, spec: spec, items: items, shares: make([]record.Share, len(spec.request.Instances))}
	m.passed = &s.tally.Passed
	m.draw = func(n int64, sends int) int64 { return s.chance.drawBefore(m.id, n, sends) }
	m.seen = func() *observed { return s.see(m) }
	m.news = func() []outbox.Entry { return s.entries[m.id] }
	m.rivals = func(id int64) bool { return s.shared(id, m) }
	return m
}
