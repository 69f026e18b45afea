package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
)

const (
	simOpen = 6 // open batches at a time
	simLong = 13
)

// draws are the digits of a number, used up one after the other.
type draws struct{ left uint64 }

func (d *draws) n(n uint64) uint64 {
	v := d.left % n
	d.left /= n
	return v
}

// one is true once in n.
func (d *draws) one(n uint64) bool { return d.n(n) == 0 }

func (s *sim) stepCreate(step simStep) {
	d := &draws{uint64(step.a)<<32 | uint64(step.b)}
	if d.one(25) {
		s.createBadly(d)
		return
	}
	if m := s.oldestOpen(); m != nil {
		s.restOf(m, s.calls(m, table.OnStop))
		return
	}
	m := s.newModel(d, &draws{uint64(step.c)})
	s.chance.expect(m.spec.number)
	given := m.spec.request
	given.Instances = append(given.Instances, given.Instances[0]) // named twice, it counts once
	v, err := s.proc.engine.Create(context.Background(), m.spec.owner, given)
	s.must(err, "create")
	m.id = v.ID
	s.chance.known(v.ID)
	s.made++
	s.batches, s.all[m.id] = append(s.batches, m), m
	s.restOf(m, func(m *modelBatch) {
		m.create(given.AutoStart != nil && !*given.AutoStart)
		if v.Status != m.status {
			m.refuse("the creation answered %s, want %s", v.Status, m.status)
		}
		s.settled(m)
	})
}

// createBadly is refused and changes nothing.
func (s *sim) createBadly(d *draws) {
	r := request(1)
	r.Recipients = append(r.Recipients, "12345@g.us")
	if d.one(2) {
		r.Schedule = window(-2*time.Hour, -time.Hour, "NONE")
	}
	_, err := s.proc.engine.Create(context.Background(), simOwners[0], r)
	if _, ok := errors.AsType[*InvalidError](err); !ok {
		s.fail("a bad creation answered %v", err)
	}
	s.rests(none)
}

// oldestOpen returns the batch that makes room for another, nil when there is room.
func (s *sim) oldestOpen() (oldest *modelBatch) {
	n := 0
	for _, m := range s.batches {
		if table.Final(m.status) {
			continue
		}
		if n++; oldest == nil && m.status != stopping {
			oldest = m
		}
	}
	if n < simOpen {
		return nil
	}
	return oldest
}

var simOwners = []uuid.UUID{
	uuid.MustParse("0190a1b2-0000-7000-8000-00000000000a"),
	uuid.MustParse("0190a1b2-0000-7000-8000-00000000000b"),
}

// newModel draws what a batch is created with.
func (s *sim) newModel(d, w *draws) *modelBatch {
	spec := &modelSpec{number: s.made + 1, family: s.made + 1, owner: simOwners[d.n(2)], auto: !d.one(4), text: "hello"}
	r := &spec.request
	r.Name, r.AutoResume = fmt.Sprint("batch ", spec.number), &spec.auto
	if d.one(6) {
		no := false
		r.AutoStart = &no
	}
	r.Options.SkipUnregistered = d.one(3)
	switch d.n(4) {
	case 0:
		r.Options.Delay.MaxMs = 20_000
	case 1:
		r.Options.Delay = event.BatchDelay{MinMs: 35_000, MaxMs: 35_000 + int64(d.n(2_000))}
	default:
	}
	if d.one(5) {
		r.Options.Presence = "composing"
	}
	switch spec.number % 6 {
	case 0:
		r.Options.WhenRestricted = event.RestrictedWait
	case 1:
		r.Options.WhenRestricted = event.RestrictedKnown
	}
	if d.one(15) {
		spec.text = strings.Repeat("long ", 1000)
	}
	templated := spec.number%3 == 1
	template := spec.text
	if templated {
		r.List, template = &mailing.Recipients{}, "Hi {{name|friend}}{{{, {{code}}! "+spec.text
	}
	r.Message = event.BatchMessage{Type: "text", Payload: fmt.Appendf(nil, `{"text":%q}`, template)}
	if spec.more = max(0, spec.number%5-2); spec.more > 0 {
		for part := range spec.more {
			text := fmt.Sprint("more ", part+1)
			if templated {
				text += "{{code}}"
			}
			r.More = append(r.More, record.Part{BatchMessage: event.BatchMessage{Type: "text", Payload: fmt.Appendf(nil, `{"text":%q}`, text)}})
		}
	}
	if d.one(4) {
		r.ExternalAttributes = json.RawMessage(`{"campaign":"spring"}`)
	}
	s.recipients(spec, d)
	first := s.instance(uint32(d.n(3)))
	for n := range 1 + uint32(d.n(3)) {
		id := s.instance(uint32(first) + n)
		r.Instances = append(r.Instances, record.InstanceRef{ID: id, Name: instanceName(id)})
	}
	r.Instances = unique(r.Instances)
	s.schedule(spec, w)
	items := make([]modelItem, len(spec.recipients))
	for i := range items {
		items[i].status = record.ItemPending
	}
	return s.modelOf(spec, items)
}

// recipients are written in several ways, and some twice.
func (s *sim) recipients(spec *modelSpec, d *draws) {
	n := 1 + int(d.n(5))
	if d.one(12) {
		n = simLong
	}
	r := &spec.request
	for i := range n {
		to := simNumber(spec.number, i)
		input := to
		if d.one(3) {
			input = "+" + to[:2] + " " + to[2:]
		}
		spec.inputs, spec.recipients = append(spec.inputs, input), append(spec.recipients, to)
		again := d.one(7)
		if r.List != nil {
			spec.addOwn(i, input, again)
			continue
		}
		if r.Recipients = append(r.Recipients, input); again {
			r.Recipients = append(r.Recipients, to)
		}
	}
}

// addOwn adds a recipient with variables, and what it gets.
func (spec *modelSpec) addOwn(n int, input string, again bool) {
	own := modelOwn{variables: map[string]string{"code": fmt.Sprint("{{", n, "}}")}}
	name := "friend"
	if n%2 == 1 {
		name = fmt.Sprint("Nº ", n)
		own.variables["name"], own.externalID = name, fmt.Sprint("row ", n)
	}
	own.text = "Hi " + name + "{{, " + own.variables["code"] + "! " + spec.text
	spec.own = append(spec.own, own)
	to := mailing.Recipient{Number: input, ExternalID: own.externalID, Variables: map[string]*string{}}
	for k, v := range own.variables {
		to.Variables[k] = &v
	}
	if spec.request.List.Add(to); again {
		to.ExternalID = "of a duplicate"
		spec.request.List.Add(to)
	}
}

// schedule gives some batches a window: past, present or to come.
func (s *sim) schedule(spec *modelSpec, w *draws) {
	if !w.one(2) {
		return
	}
	win := &modelWindow{daily: w.one(2)}
	length := time.Duration(1+w.n(90_000)) * time.Millisecond
	if w.one(2) {
		length *= 900 // up to 22 hours
	}
	if win.daily && w.one(9) {
		length = modelDay
	}
	win.start = s.env.wall().Add(length * time.Duration(w.n(4)) / 4).Add(-length * 3 / 4).Truncate(time.Millisecond)
	if w.one(3) {
		win.start = s.env.wall().Add(time.Duration(w.n(100)) * time.Second)
	}
	win.end = win.start.Add(length)
	if !win.end.After(s.env.wall()) {
		return
	}
	recurrence := "NONE"
	if win.daily {
		recurrence = "DAILY"
	}
	spec.window = win
	spec.request.Schedule = fmt.Appendf(nil, `{"windowStartAt":%q,"windowEndAt":%q,"recurrence":%q}`,
		win.start.Format(time.RFC3339Nano), win.end.Format(time.RFC3339Nano), recurrence)
}
