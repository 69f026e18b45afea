package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/batch/schedule"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// Changes are the fields of a batch that a call changes; nil leaves one as it is.
type Changes struct {
	Name      *string
	Delay     *event.BatchDelay
	Schedule  json.RawMessage      // null: none any more
	Instances []record.InstanceRef // resolved; instead of those that it has
}

// Change changes a batch that is a draft, scheduled or paused. The changes are made all or
// none. Errors are ErrNotFound, *table.TransitionError and *InvalidError.
func (e *Engine) Change(ctx context.Context, owner, id uuid.UUID, c Changes) (View, error) {
	window, err := e.checkChanges(&c)
	if err != nil {
		return View{}, err
	}
	return e.act(ctx, owner, id, table.OnChange, c.Instances, func(tx *store.Tx, b *full, states []event.State) error {
		in := table.Input{On: table.OnChange}
		b.edit(c)
		if c.Schedule != nil {
			in.Moved = b.move(c.Schedule, window, e.cfg.Location.String())
		}
		return errors.Join(
			e.step(tx, b, in, states, nil),
			store.PutJSON(tx, record.BucketSpec, id[:], b.spec),
			tx.Put(record.BucketOwner, store.Key(owner, id), record.EncodeRow(b.spec)),
			e.putWords(tx, id, b.spec),
		)
	})
}

// checkChanges validates changes as those fields of a creation.
func (e *Engine) checkChanges(c *Changes) (window *schedule.Schedule, err error) {
	if c.Name != nil {
		err = CheckName(*c.Name)
	}
	if err == nil && c.Delay != nil {
		err = e.checkDelay(*c.Delay)
	}
	if err == nil && c.Instances != nil {
		c.Instances, err = checkInstances(c.Instances)
	}
	if err == nil && c.Schedule != nil {
		window, err = e.checkSchedule(c.Schedule)
	}
	return window, err
}

// edit makes all changes but that of the schedule, on a copy of the constant part.
func (b *full) edit(c Changes) {
	s := *b.spec
	b.spec = &s
	b.Edition++
	if c.Name != nil {
		s.Name = *c.Name
	}
	if c.Delay != nil {
		s.Options.Delay = *c.Delay
	}
	if c.Instances != nil {
		b.use(c.Instances)
	}
}

// use replaces the instances. Those that go keep their share and their name, which items may
// show, unless nothing was tried yet.
func (b *full) use(refs []record.InstanceRef) {
	s := b.spec
	shares := make([]record.Share, len(refs))
	for i, ref := range refs {
		shares[i] = *b.share(ref.ID)
	}
	var former []record.InstanceRef
	if b.Started {
		for _, ref := range s.All() {
			if !slices.ContainsFunc(refs, func(r record.InstanceRef) bool { return r.ID == ref.ID }) {
				former, shares = append(former, ref), append(shares, *b.share(ref.ID))
			}
		}
	}
	s.Instances, s.Former, b.Shares = refs, former, shares
}

// move replaces the schedule, and reports whether it has other windows.
func (b *full) move(raw json.RawMessage, window *schedule.Schedule, zone string) (moved bool) {
	s := b.spec
	if window == nil {
		raw, zone = nil, ""
	}
	moved = !window.Equal(s.Window)
	s.Schedule, s.Zone, s.Window = raw, zone, window
	b.WindowOff = b.WindowOff && !moved
	return moved
}

// CheckName returns an *InvalidError if a batch cannot have that name.
func CheckName(name string) error {
	if n := utf8.RuneCountInString(name); n < 1 || n > MaxName {
		return invalid(InvalidName, fmt.Sprintf("name has %d characters, 1 to %d are allowed", n, MaxName))
	}
	return nil
}

// checkInstances returns the instances without duplicates.
func checkInstances(refs []record.InstanceRef) ([]record.InstanceRef, error) {
	if refs = unique(refs); len(refs) == 0 {
		return nil, invalid(InvalidInstances, "instances must name at least one instance")
	}
	return refs, nil
}

func (e *Engine) checkDelay(d event.BatchDelay) error {
	if most := e.cfg.MaxDelay.Milliseconds(); d.MinMs < 0 || d.MaxMs < d.MinMs || d.MaxMs > most {
		return invalid(InvalidOptions, fmt.Sprintf("options.delay needs 0 <= minMs <= maxMs <= %d", most))
	}
	return nil
}

// checkSchedule parses a schedule, nil for none, whose window must not be over.
func (e *Engine) checkSchedule(raw json.RawMessage) (*schedule.Schedule, error) {
	window, err := schedule.Parse(raw, e.cfg.Location)
	if err != nil {
		return nil, invalid(InvalidSchedule, err.Error())
	}
	if w, _ := window.At(e.now()); w == schedule.Spent {
		return nil, invalid(InvalidSchedule, "schedule: the window is wholly in the past")
	}
	return window, nil
}
