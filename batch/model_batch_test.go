package batch

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/delivery/outbox"
	"postern/event"
)

// modelBatch is what the rules say about one batch: a plain program without
// store, goroutines and clocks, written down apart from the engine's table. It
// predicts every commit. What the engine may choose (an instance, a message id,
// a delay) is taken from what was observed, once it is known to be allowed.
type modelBatch struct {
	env    *modelEnv
	spec   *modelSpec
	id     uuid.UUID
	seen   func() *observed      // what the engine made of the batch
	news   func() []outbox.Entry // what it reported and was not compared yet
	rivals func(id int64) bool   // whether another batch may send from an instance

	status    event.BatchStatus
	items     []modelItem
	shares    []record.Share
	removed   map[int64]record.Share // of instances that it sent from once
	current   int                    // the item in SENDING, or the one given last
	subject   int                    // the item that ended last, which the events speak of
	started   bool
	shown     int // the percentage of the last progress event
	windowOff bool
	reason    string
	former    string // the reason that the last recovery ended
	fence     uint64

	updated, began, completed, pausedAt, stoppedAt, interrupted, recovered, nextRun time.Time

	gone     bool                           // removed
	deleting bool                           // a call to do so was made and is not looked at yet
	draw     func(n int64, sends int) int64 // the engine's chance, so many sends ago
	flight   *modelFlight                   // the send without a result
	rests    time.Time                      // end of the delay
	eye      time.Time                      // when the batch last looked at the clock for its alarm
	look     time.Time                      // when it does next, since the clock was set; zero: at the time of the alarm
	stops    []time.Time                    // when it may look before that
	ends     time.Time                      // of the window in which a delay began, on the wall; zero: in none
	spare    int                            // commits that it may have made besides
	drops    map[int64]modelDrop            // instances that could not send, as long as the worker lives

	events  []modelEvent // not compared yet
	commits int          // not compared yet
	passed  *int         // how many items were skipped, of all batches
	trail   *[]*modelBatch
	wrong   string // what was observed and is not allowed
}

// modelSpec is what a batch was created with.
type modelSpec struct {
	number     int
	family     int        // the number of the batch that it goes back to by retries; its own without one
	retryOf    *uuid.UUID // nil: it is no retry
	owner      uuid.UUID
	request    CreateRequest
	window     *modelWindow
	created    time.Time
	inputs     []string // recipients as they were given, without those that came again
	recipients []string // normalised
	auto       bool
	text       string
	added      int        // recipients that were given later, those that came again included
	more       int        // messages after the first one that each recipient gets
	own        []modelOwn // what each recipient has, of a batch with templates; nil: nothing
}

// modelOwn is what one recipient has besides its number, and the text that it gets.
type modelOwn struct {
	externalID string
	variables  map[string]string
	text       string
}

// textOf returns the text that an item sends as one of its messages.
func (s *modelSpec) textOf(at, part int) string {
	text := s.text
	if s.own != nil {
		text = s.own[at].text
	}
	if part > 0 {
		text = fmt.Sprint("more ", part)
		if s.request.List != nil {
			text += s.own[at].variables["code"]
		}
	}
	return text
}

type modelItem struct {
	status  record.ItemStatus
	out     bool // ended because its recipient opted out
	tries   []modelTry
	delay   *int64
	changed time.Time // zero: never
	message int64
	sent    []modelTry // its messages that were sent, but for the last one
	met     bool       // one of them by this batch
}

type modelTry struct {
	instance     int64
	id           string
	status       record.AttemptStatus
	code         string
	began, ended time.Time
	sent         int // messages of the item that were sent by then, but for the last one
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
	now       time.Time     // by the time awake
	skew      time.Duration // by how much the clock on the wall was set
	enabled   bool          // of the worker
	hard      time.Time     // when Stop gives up waiting; zero: not stopping
	instances map[int64]*modelInstance
	learned   map[string]bool   // numbers that wrote to the accounts
	optedOut  map[string]bool   // numbers that the owner of their batch may not write to
	made      int               // message ids of a process that died, while what it did is followed; 0: all
	moves     map[modelMove]int // how often
}

// modelMove is a batch's way from one status to another.
type modelMove struct{ from, to event.BatchStatus }

type modelInstance struct {
	state   event.State // offline when it was deleted
	bench   time.Time
	lock    time.Time       // strangers may not be written to before
	refused map[string]bool // numbers that were, although they should be known
	streak  map[string]bool // whom a message was refused to, in a row
	changes int
	deleted bool
	book    *modelBook
}

func newModelInstance() *modelInstance {
	return &modelInstance{state: event.Online, refused: map[string]bool{}, streak: map[string]bool{}, book: &modelBook{}}
}

// knows reports whether the accounts know someone: a third of all from the
// beginning, others once they wrote.
func (e *modelEnv) knows(number string) bool {
	return e.learned[number] || number[len(number)-1]%3 == 0
}

// wall returns what the clock on the wall shows.
func (e *modelEnv) wall() time.Time { return e.now.Add(e.skew) }

// awake returns when, by the time awake, the clock on the wall shows a time, as it is
// set now; zero: never.
func (e *modelEnv) awake(wall time.Time) time.Time {
	if wall.IsZero() {
		return wall
	}
	return wall.Add(-e.skew)
}

// shut reports whether WhatsApp keeps an instance from sending to a number at a
// time awake; wait is the option of the batch.
func (e *modelEnv) shut(id int64, number string, wait bool, at time.Time) bool {
	i, wall := e.instances[id], at.Add(e.skew)
	return i.bench.After(wall) || (wait || !e.knows(number) || i.refused[number]) && i.lock.After(wall)
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
		c.items[i].tries, c.items[i].sent = slices.Clone(m.items[i].tries), slices.Clone(m.items[i].sent)
	}
	c.shares, c.drops, c.events = slices.Clone(m.shares), maps.Clone(m.drops), slices.Clone(m.events)
	c.trail = nil
	return &c
}

// commit ends a change of the batch: whatever was done since the one before is
// stored together with these events.
func (m *modelBatch) commit(kinds ...event.Kind) {
	m.commits++
	m.report(kinds...)
	if m.trail != nil {
		*m.trail = append(*m.trail, m.clone())
	}
}

// report reports events with the batch as it is now, in the commit under way.
func (m *modelBatch) report(kinds ...event.Kind) {
	m.updated = m.env.wall()
	for _, kind := range kinds {
		m.events = append(m.events, m.event(kind))
	}
}

func (m *modelBatch) refuse(format string, args ...any) {
	if m.wrong == "" {
		m.wrong = fmt.Sprintf(format, args...)
	}
}

// become enters a status and notes its time.
func (m *modelBatch) become(s event.BatchStatus) {
	now := m.env.wall()
	m.env.moves[modelMove{m.status, s}]++
	m.status, m.nextRun = s, time.Time{}
	m.looks()
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
		m.drops = nil // no worker owns the batch any more
	}
}

// open reports whether the batch may send, and when that changes; zero: never.
func (m *modelBatch) open() (bool, time.Time) {
	if m.windowOff {
		return true, time.Time{}
	}
	return m.spec.window.at(m.env.wall())
}

// count returns how many items have one of the statuses.
func (m *modelBatch) count(of ...record.ItemStatus) (n int) {
	for _, i := range m.items {
		if slices.Contains(of, i.status) {
			n++
		}
	}
	return n
}

func (m *modelBatch) pending() int { return m.count(record.ItemPending) }

func (m *modelBatch) percent() int {
	return 100 * (len(m.items) - m.count(record.ItemPending, record.ItemSending)) / len(m.items)
}

// progress returns the event that an ended item owes, if any.
func (m *modelBatch) progress() []event.Kind {
	if m.percent() == m.shown {
		return nil
	}
	m.shown = m.percent()
	return emit(event.BatchProgress)
}

// able returns the instances that could send an item that waits now.
func (m *modelBatch) able() (ids []int64) {
	for _, ref := range m.spec.request.Instances {
		if slices.ContainsFunc(m.spec.recipients, func(to string) bool {
			at := slices.Index(m.spec.recipients, to)
			return m.items[at].status == record.ItemPending && m.may(ref.ID, at)
		}) {
			ids = append(ids, ref.ID)
		}
	}
	return ids
}

// may reports whether an instance may send an item now. Where limits let it leave
// is seen when it does: then there is no room any more.
func (m *modelBatch) may(id int64, at int) bool {
	return m.allowed(id, at, m.env.now) && (m.env.room(id, m.spec.recipients[at], m.env.now) || m.went(id, at))
}

// allowed is may at a time awake but for limits.
func (m *modelBatch) allowed(id int64, at int, when time.Time) bool {
	return m.env.state(id) == event.Online && !m.notBefore(id).After(when) &&
		!m.env.shut(id, m.spec.recipients[at], m.waits(), when)
}

// went reports whether an item was seen to be given to an instance next.
func (m *modelBatch) went(id int64, at int) bool {
	tries := m.seen().items[at].Attempts
	n := len(m.items[at].tries)
	return n < len(tries) && tries[n].InstanceID == id
}

// contended reports whether another batch may have asked one of the batch's
// instances for the same room in the same moment: then either may have it, and
// the one that goes away empty may be reported before the opposite is.
func (m *modelBatch) contended() bool {
	return slices.ContainsFunc(m.spec.request.Instances, func(r record.InstanceRef) bool {
		return m.env.instances[r.ID].book.limited() && m.rivals(r.ID)
	})
}

// unsure reports whether an instance may have had room that is not seen any more: another batch asked for
// it too, or the process died since and counts what it had in flight as sent.
func (m *modelBatch) unsure() bool { return m.contended() || m.env.made > 0 }

// uses reports whether an instance is one of the batch's.
func (m *modelBatch) uses(id int64) bool {
	return slices.ContainsFunc(m.spec.request.Instances, func(r record.InstanceRef) bool { return r.ID == id })
}

// peek returns what the batch reported next; empty: nothing more.
func (m *modelBatch) peek() event.Kind {
	if all := m.news(); len(all) > len(m.events) {
		return all[len(m.events)].Kind
	}
	return ""
}

// waits reports whether the batch waits with all while strangers are forbidden.
func (m *modelBatch) waits() bool {
	return m.spec.request.Options.WhenRestricted == event.RestrictedWait
}

// notBefore reports until when an instance is not asked.
func (m *modelBatch) notBefore(id int64) time.Time {
	i := m.env.instances[id]
	if d, ok := m.drops[id]; ok && d.changes == i.changes {
		return d.until
	}
	return time.Time{}
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
