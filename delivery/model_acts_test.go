package delivery

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"postern/event"
	"postern/store"
)

// What happens to deliveries other than attempts.

func (m *model) expireSome() {
	time.Sleep(time.Duration(m.rng.IntN(40)) * time.Minute)
	now := time.Now()
	over := map[uint64]*modelRecord{}
	for _, r := range m.pending(false) {
		if !now.Before(r.expires) {
			over[r.id] = r
		}
	}
	for again := true; again; {
		var ended []Ended
		var next time.Time
		m.update(func(tx *store.Tx) (err error) {
			ended, next, err = m.l.Expire(tx, now, 1+m.rng.IntN(10))
			return err
		})
		for _, e := range ended {
			r := over[e.Record.ID]
			if r == nil {
				m.t.Errorf("record %d is not over, or twice", e.Record.ID)
				continue
			}
			delete(over, r.id)
			m.ended(r, Expired, e.Follows, e.Record)
		}
		again = !next.IsZero() && !next.After(now)
		if m.rng.IntN(5) == 0 {
			m.kill()
		}
	}
	for id := range over {
		m.t.Errorf("record %d is over and still waits", id)
	}
	m.checkEvents(true)
}

func (m *model) cancelSome() {
	r := m.any(m.pending(false))
	if r == nil || m.rng.IntN(4) > 0 {
		return
	}
	limit := 1 + m.rng.IntN(20)
	var ended []Ended
	var more bool
	m.update(func(tx *store.Tx) (err error) {
		ended, more, err = m.l.CancelLane(tx, r.lane, ReasonRemoved, limit)
		return err
	})
	waiting := 0
	for _, other := range m.pending(false) {
		if other.lane == r.lane {
			waiting++
		}
	}
	if len(ended) != min(limit, waiting) || more != (waiting > limit) {
		m.t.Errorf("%d of %d ended, limit %d, more: %v", len(ended), waiting, limit, more)
	}
	m.cancelled(ended, r.lane)
}

func (m *model) cancelled(ended []Ended, lane Lane) {
	for _, e := range ended {
		c := m.records[e.Record.ID]
		if c == nil || c.state != Pending || c.lane != lane || m.first(c) != c {
			m.t.Errorf("cancelled %+v", e.Record)
			continue
		}
		m.ended(c, Cancelled, e.Follows, e.Record)
	}
}

// shedSome makes room, and checks each choice against the instance with the largest backlog.
func (m *model) shedSome() {
	var ended []Ended
	for more := true; more; {
		var some []Ended
		m.update(func(tx *store.Tx) (err error) {
			some, more, err = m.l.shedSome(tx, 1+m.rng.IntN(5))
			return err
		})
		ended = append(ended, some...)
	}
	for _, e := range ended {
		held, all := m.held()
		if all <= m.cfg.DurableMaxBytes {
			m.t.Errorf("record %d was cancelled although %d bytes wait", e.Record.ID, all)
		}
		most := slices.MaxFunc(slices.Collect(maps.Keys(held)), func(a, b int64) int { return cmp.Or(cmp.Compare(held[a], held[b]), cmp.Compare(b, a)) })
		for _, r := range m.pending(false) {
			if r.instance == most {
				if r.id != e.Record.ID || e.Record.LastError != ReasonCapacity {
					m.t.Errorf("cancelled %d with %q, want %d", e.Record.ID, e.Record.LastError, r.id)
				}
				break
			}
		}
		if r := m.records[e.Record.ID]; r != nil {
			m.ended(r, Cancelled, e.Follows, e.Record)
		}
	}
	if _, all := m.held(); all > m.cfg.DurableMaxBytes {
		m.t.Errorf("%d bytes wait", all)
	}
}

func (m *model) held() (by map[int64]int64, all int64) {
	by = map[int64]int64{}
	for _, r := range m.pending(false) {
		by[r.instance] += int64(r.bytes)
		all += int64(r.bytes)
	}
	return by, all
}

func (m *model) retrySome() {
	r := m.any(slices.Collect(maps.Values(m.records)))
	if r == nil {
		return
	}
	var got Record
	var due *Due
	var kept bool
	err := m.s.Update(context.Background(), func(tx *store.Tx) (err error) {
		kept = tx.Has(events, store.Key(r.event))
		got, due, err = m.l.Retry(tx, r.id)
		return err
	})
	now := time.Now().UTC().Truncate(time.Millisecond)
	switch {
	case r.state == Pending:
		first := m.first(r)
		first.due = now
		if err != nil || due == nil || due.Record != first.id || got.ID != r.id {
			m.t.Errorf("retry of the pending %d: %+v, %v, %v", r.id, got, due, err)
		}
	case !kept:
		if !errors.Is(err, ErrBodyGone) {
			m.t.Errorf("retry without a body: %v", err)
		}
	default:
		r.former, r.state, r.once, r.line, r.due, r.expires = r.state, Pending, true, "", now, now.Add(retryWait)
		if err != nil || due == nil || due.Record != r.id || got.State != Pending || got.Former != r.former {
			m.t.Errorf("retry of %d: %+v, %v, %v", r.id, got, due, err)
		}
	}
}

// repeatSome makes a further delivery of an emitted event, as a replay does. The delivery needs
// its own copy of the body.
func (m *model) repeatSome() {
	o := m.any(slices.Collect(maps.Values(m.records)))
	if o == nil || m.events[o.event] == nil {
		return
	}
	r := &modelRecord{
		id: m.l.NextID(), lane: o.lane, instance: o.instance, event: o.event, bytes: o.bytes, state: Pending, once: m.rng.IntN(2) == 0,
		due: time.Now().UTC().Truncate(time.Millisecond), expires: time.Now().UTC().Truncate(time.Millisecond).Add(time.Duration(1+m.rng.IntN(200)) * time.Minute),
	}
	made := false
	m.update(func(tx *store.Tx) error {
		old, _, err := Find(tx, o.id)
		if err != nil || !KeepsBody(tx, old) {
			return err
		}
		made = true
		_, err = m.l.addPending(tx, Record{
			ID: r.id, EventID: old.EventID, Event: old.Event, Lane: o.lane, Instance: o.instance, State: Pending, Bytes: o.bytes,
			Once: r.once, CreatedAt: tx.Now(), ExpiresAt: r.expires, EventSeq: o.event, ReplayOf: o.id,
		}, nil)
		return err
	})
	if made {
		m.records[r.id] = r
		m.events[o.event].records = append(m.events[o.event].records, r.id)
	}
}

// undone emits, settles and cancels in a transaction that fails.
func (m *model) undone() {
	failed := errors.New("failed")
	r := m.any(m.pending(true))
	err := m.s.Update(context.Background(), func(tx *store.Tx) error {
		_, err := m.l.Emit(tx, testEvent(m.instances[0], ana), true, []event.Destination{hook(event.OrderChat), global(event.OrderInstance)})
		if r != nil {
			_, _, errSettle := m.l.Settle(tx, r.id, Attempt{Status: 200}, true, time.Time{})
			_, _, errCancel := m.l.CancelLane(tx, r.lane, ReasonRemoved, 10)
			err = errors.Join(err, errSettle, errCancel)
		}
		return errors.Join(failed, err)
	})
	if !errors.Is(err, failed) {
		m.t.Error(err)
	}
}

// forgetOne deletes an instance, step by step with kills in between, and makes another.
func (m *model) forgetOne() {
	i := m.rng.IntN(len(m.instances))
	gone := m.instances[i]
	m.instances[i] = slices.Max(m.instances) + 1
	m.update(func(tx *store.Tx) error { return m.l.ForgetInstance(tx, gone) })
	for more := true; more; {
		m.update(func(tx *store.Tx) error {
			for _, r := range m.records {
				if _, _, found, err := m.l.Load(tx, r.id); r.instance == gone && (found || err != nil) {
					m.t.Errorf("record %d of a deleted instance is sent, %v", r.id, err)
				}
			}
			if err := m.l.sweepInstance(tx, gone, 1+m.rng.IntN(8)); err != nil {
				return err
			}
			instance, err := forgotten(tx)
			more = instance != 0
			return err
		})
		if m.rng.IntN(4) == 0 {
			m.kill()
		}
	}
	maps.DeleteFunc(m.records, func(_ uint64, r *modelRecord) bool { return r.instance == gone })
	maps.DeleteFunc(m.events, func(_ uint64, e *modelEvent) bool { return e.instance == gone })
	m.forgotten[gone] = true
}
