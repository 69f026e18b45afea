package batch

import (
	"maps"
	"slices"
	"time"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/event"
)

// modelChange is a change of a batch that waits.
type modelChange struct {
	name      string
	delay     *event.BatchDelay
	instances []record.InstanceRef
	scheduled bool // the schedule is one of the fields
	window    *modelWindow
	schedule  []byte // of window; nil: none
}

// change makes all of the changes, or none.
func (m *modelBatch) change(c modelChange) verdict {
	wall := m.env.wall()
	if w := c.window; w != nil && !w.daily && !wall.Before(w.end) {
		return invalided
	}
	if !slices.Contains(in(draft, schedul, paused), m.status) {
		return conflict
	}
	spec := *m.spec
	m.spec = &spec
	r := &spec.request
	if c.name != "" {
		r.Name = c.name
	}
	if c.delay != nil {
		r.Options.Delay = *c.delay
	}
	if c.instances != nil {
		m.sendFrom(c.instances)
	}
	moved := c.scheduled && string(c.schedule) != string(r.Schedule)
	if !moved {
		if m.status == schedul {
			m.looks() // each change wakes it
		}
		m.commit()
		return done
	}
	r.Schedule, spec.window, m.windowOff = c.schedule, c.window, false
	open, next := m.open()
	m.nextRun = time.Time{}
	switch {
	case m.status != schedul:
		m.commit()
	case open:
		m.looks()
		m.commit()
	default:
		m.looks()
		m.nextRun = next
		m.commit(event.BatchScheduled)
	}
	return done
}

// sendFrom replaces the instances. What each has sent stays known.
func (m *modelBatch) sendFrom(instances []record.InstanceRef) {
	former := map[int64]record.Share{}
	maps.Copy(former, m.removed)
	for i, ref := range m.spec.request.Instances {
		former[ref.ID] = m.shares[i]
	}
	m.removed, m.shares = former, make([]record.Share, len(instances))
	for i, ref := range instances {
		m.shares[i] = former[ref.ID]
	}
	m.spec.request.Instances = instances
}

// grows appends recipients to a draft.
func (m *modelBatch) grows(given *mailing.Recipients, own []modelOwn, inputs, numbers []string) verdict {
	switch {
	case m.status != draft:
		return conflict
	case m.spec.request.List != nil && own == nil: // without the variables that the text needs
		return invalided
	}
	spec := *m.spec
	m.spec = &spec
	spec.added += given.Len()
	if spec.own == nil && own != nil { // its text is a template from now on
		for range m.items {
			spec.own = append(spec.own, modelOwn{variables: map[string]string{}, text: spec.text})
		}
	}
	for range len(inputs) - len(own) {
		if spec.own != nil {
			own = append(own, modelOwn{variables: map[string]string{}, text: spec.text})
		}
	}
	spec.own = slices.Concat(spec.own, own)
	spec.inputs, spec.recipients = slices.Concat(spec.inputs, inputs), slices.Concat(spec.recipients, numbers)
	m.items = slices.Clone(m.items)
	for range inputs {
		m.items = append(m.items, modelItem{status: record.ItemPending})
	}
	m.commit()
	return done
}
