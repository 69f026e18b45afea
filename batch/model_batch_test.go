package batch

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// modelBatch is what the rules say about one batch: a plain program without
// store, goroutines and clocks, written down apart from the engine's table. It
// predicts every commit. What the engine may choose (an instance, a message id,
// a delay) is taken from what was observed, once it is known to be allowed.
type modelBatch struct {
	env  *modelEnv
	spec *modelSpec
	id   uuid.UUID
	seen func() *observed // what the engine made of the batch

	status    event.BatchStatus
	items     []modelItem
	shares    []share
	current   int // the item in SENDING, or the one given last
	subject   int // the item that ended last, which the events speak of
	started   bool
	told      int // the percentage of the last progress
	windowOff bool
	reason    string
	former    string // the reason that the last recovery ended
	fence     uint64

	updated, began, completed, pausedAt, stoppedAt, interrupted, recovered, nextRun time.Time

	gone     bool                // removed
	deleting bool                // a call to do so was made and is not looked at yet
	flight   *modelFlight        // the send that nobody answered yet
	rests    time.Time           // end of the delay
	drops    map[int64]modelDrop // instances that could not send, as long as the worker lives

	events  []modelEvent // not compared yet
	commits int          // not compared yet
	trail   *[]*modelBatch
	wrong   string // what was observed and is not allowed
}

// modelSpec is what a batch was created with.
type modelSpec struct {
	number     int
	owner      uuid.UUID
	request    CreateRequest
	window     *modelWindow
	created    time.Time
	inputs     []string // recipients as they were given, without those that came again
	recipients []string // normalised
	auto       bool
	text       string
}

type modelItem struct {
	status  ItemStatus
	tries   []modelTry
	delay   *int64
	changed time.Time // zero: never
	message int64
}

type modelTry struct {
	instance     int64
	id           string
	status       AttemptStatus
	code         string
	began, ended time.Time
}

type modelFlight struct {
	id    string
	began time.Time
}

type modelDrop struct {
	changes int
	pause   time.Duration
	until   time.Time
}

// modelEnv is what all batches share: the time, the process and its instances.
type modelEnv struct {
	now       time.Time
	enabled   bool      // of the worker
	hard      time.Time // when Stop loses its patience; zero: nobody stops
	instances map[int64]*modelInstance
	moves     map[modelMove]int // how often
}

// modelMove is a batch's way from one status to another.
type modelMove struct{ from, to event.BatchStatus }

type modelInstance struct {
	state   event.State // offline when it was deleted
	bench   time.Time
	changes int
	deleted bool
}

func (e *modelEnv) state(id int64) event.State {
	if i := e.instances[id]; i != nil {
		return i.state
	}
	return event.Offline
}

func (m *modelBatch) clone() *modelBatch {
	c := *m
	c.items = slices.Clone(m.items)
	for i := range c.items {
		c.items[i].tries = slices.Clone(m.items[i].tries)
	}
	c.shares, c.drops, c.events = slices.Clone(m.shares), maps.Clone(m.drops), slices.Clone(m.events)
	c.trail = nil
	return &c
}

// commit ends a change of the batch: whatever was done since the one before is
// stored together with these events.
func (m *modelBatch) commit(kinds ...event.Kind) {
	m.commits++
	m.updated = m.env.now
	for _, kind := range kinds {
		m.events = append(m.events, m.tell(kind))
	}
	if m.trail != nil {
		*m.trail = append(*m.trail, m.clone())
	}
}

func (m *modelBatch) refuse(format string, args ...any) {
	if m.wrong == "" {
		m.wrong = fmt.Sprintf(format, args...)
	}
}

// become enters a status and notes its time.
func (m *modelBatch) become(s event.BatchStatus) {
	now := m.env.now
	m.env.moves[modelMove{m.status, s}]++
	m.status, m.nextRun = s, time.Time{}
	switch s {
	case process:
		m.started = true
		if m.began.IsZero() {
			m.began = now
		}
	case schedul, waitWin:
		if open, next := m.open(); !open {
			m.nextRun = next
		}
	case paused:
		m.pausedAt = now
	case stopped:
		m.stoppedAt = now
	case interr:
		m.interrupted = now
	case complete, witherr:
		m.completed = now
	default:
	}
	if s != process {
		m.rests = time.Time{}
	}
	if !slices.Contains(in(process, pausing, stopping, queued, schedul, waitWin, waitInst), s) && (s != interr || !m.spec.auto) {
		m.drops = nil // nobody looks after the batch any more
	}
}

// open tells whether the batch may send, and when that changes; zero: never.
func (m *modelBatch) open() (bool, time.Time) {
	if m.windowOff {
		return true, time.Time{}
	}
	return m.spec.window.at(m.env.now)
}

// count is how many items have one of the statuses.
func (m *modelBatch) count(of ...ItemStatus) (n int) {
	for _, i := range m.items {
		if slices.Contains(of, i.status) {
			n++
		}
	}
	return n
}

func (m *modelBatch) pending() int { return m.count(ItemPending) }

func (m *modelBatch) percent() int {
	return 100 * (len(m.items) - m.count(ItemPending, ItemSending)) / len(m.items)
}

// progress is the event that an ended item owes, if any.
func (m *modelBatch) progress() []event.Kind {
	if m.percent() == m.told {
		return nil
	}
	m.told = m.percent()
	return tell(event.BatchProgress)
}

// able are the instances that could send now.
func (m *modelBatch) able() (ids []int64) {
	for _, ref := range m.spec.request.Instances {
		if m.env.state(ref.ID) == event.Online && !m.barred(ref.ID).After(m.env.now) {
			ids = append(ids, ref.ID)
		}
	}
	return ids
}

// barred tells until when an instance is not asked.
func (m *modelBatch) barred(id int64) time.Time {
	i := m.env.instances[id]
	if d, ok := m.drops[id]; ok && d.changes == i.changes && d.until.After(i.bench) {
		return d.until
	}
	return i.bench
}

// drop notes that an instance could not send although it was asked: it is left
// alone until it changes, or for a pause that doubles.
func (m *modelBatch) drop(id int64, changes int) {
	d := m.drops[id]
	if d.changes != changes {
		d.pause = 0
	}
	d.changes, d.pause = changes, min(max(2*d.pause, time.Second), time.Minute)
	d.until = m.env.now.Add(d.pause)
	if m.drops == nil {
		m.drops = map[int64]modelDrop{}
	}
	m.drops[id] = d
}

// timer tells when the batch next does something by itself; zero: never.
func (m *modelBatch) timer(deadline func(modelFlight) time.Time) (at time.Time) {
	if m.flight != nil {
		return earlier(deadline(*m.flight), m.env.hard)
	}
	if !m.env.hard.IsZero() {
		return at
	}
	_, turn := m.open()
	switch m.status {
	case schedul, waitWin:
		return turn
	case process:
		return earlier(m.rests, turn)
	case waitInst:
		for _, ref := range m.spec.request.Instances {
			if m.env.enabled && m.env.state(ref.ID) == event.Online {
				turn = earlier(turn, m.barred(ref.ID))
			}
		}
		return turn
	default:
		return at
	}
}
