// Package table is the state machine of batches: what happens to a batch in each status,
// and the events of that. It is pure, and knows no file and no clock.
package table

import (
	"errors"
	"fmt"
	"slices"

	"postern/batch/schedule"
	"postern/event"
)

// Trigger is what happens to a batch.
type Trigger string

// The triggers. They come from API calls, workers and the engine's start and stop.
const (
	OnCreate      Trigger = "create"
	OnDraft       Trigger = "create as draft"
	OnWindowOpens Trigger = "window opens"
	OnClaim       Trigger = "claim"
	OnGive        Trigger = "give item"       // an item becomes SENDING
	OnRegive      Trigger = "give item again" // its instance dropped before the send, another is tried
	OnItemEnded   Trigger = "item ended"      // while PROCESSING
	OnItemBack    Trigger = "item goes back"  // another may be sent before it
	OnPart        Trigger = "part sent"       // and the item has more of them
	OnNothingLeft Trigger = "nothing left"    // claimed, and every item had ended already
	OnOptedOut    Trigger = "item opted out"  // chosen, and its recipient wants no batches: it ends SKIPPED
	OnNoInstance  Trigger = "no instance online"
	OnInstance    Trigger = "instance online"
	OnWindowEnds  Trigger = "window ends"
	OnPause       Trigger = "pause" // API call; so are start and stop
	OnStart       Trigger = "start"
	OnStop        Trigger = "stop"
	OnAppend      Trigger = "append"     // of recipients, by a call
	OnChange      Trigger = "change"     // of name, delay, schedule or instances, by a call
	OnSafePoint   Trigger = "safe point" // the worker has no send in flight
	OnShutdown    Trigger = "graceful shutdown"
	OnLeaseLost   Trigger = "lease expired"  // a send ignored its context
	OnFound       Trigger = "found at start" // the process before this one crashed
	OnRestored    Trigger = "found restored" // the file is from a backup: what was sent since is unknown
	OnRecover     Trigger = "automatic recovery"
)

// OnDelete is the trigger of a *TransitionError when a batch that is not final
// was to be deleted. It is not a row of the table: afterwards there is no batch.
const OnDelete Trigger = "delete"

// OnRetry is the trigger of a *TransitionError when items of a batch that is not final were
// to be retried. It is not a row either: the batch does not change.
const OnRetry Trigger = "retry"

// OnCheck is the same for the dry run of a batch that is not a draft.
const OnCheck Trigger = "check"

// Move is the fate of the item in SENDING in the same commit.
type Move string

// The moves.
const (
	MoveNone    Move = ""
	MoveSuccess Move = "success"
	MoveFailed  Move = "failed"
	MoveSkipped Move = "skipped"
	MoveUnknown Move = "unknown"
	MoveBack    Move = "back to pending" // its bytes never left
)

// Input is one step of a batch.
type Input struct {
	On     Trigger
	Window schedule.Window // matters to create, start and recovery
	Item   Move
	Give   bool // the next item becomes SENDING in this commit
	Moved  bool // a change is one of the schedule
	More   int  // items that an append adds
}

// Counts are a batch's items by status. They always add up to Total.
type Counts struct {
	Total   int
	Pending int
	Sending int
	Success int
	Failed  int
	Skipped int
	Unknown int
}

// Processed returns how many items have ended.
func (c Counts) Processed() int { return c.Success + c.Failed + c.Skipped + c.Unknown }

// Open returns how many items have not ended.
func (c Counts) Open() int { return c.Pending + c.Sending }

// Percent returns the integer progress, 0 to 100.
func (c Counts) Percent() int {
	if c.Total == 0 {
		return 0
	}
	return 100 * c.Processed() / c.Total
}

// Core is the part of a batch that the table decides on.
type Core struct {
	Status     event.BatchStatus // empty before creation
	Counts     Counts
	Started    bool // it was PROCESSING once
	Reported   int  // the percentage of the last progress event
	AutoResume bool
}

// Decision is the result of a step.
type Decision struct {
	Core   Core
	Events []event.Kind // in the order of their emission
	Row    string       // name of the row, "" when the call is accepted and changes nothing
}

// Next applies one step to a batch. It is pure. When the table has no row for
// the step, or the step does not fit the items, it returns a *TransitionError
// and the batch stays as it is.
func Next(c Core, in Input) (Decision, error) {
	if slices.Contains(accepted[in.On], c.Status) {
		return Decision{Core: c}, nil
	}
	refused := &TransitionError{Status: c.Status, Trigger: in.On}
	next := c
	next.Counts.Total, next.Counts.Pending = c.Counts.Total+in.More, c.Counts.Pending+in.More
	if !next.Counts.move(in.On, in.Item) {
		return Decision{}, refused
	}
	r, ok := find(next, in)
	if !ok {
		return Decision{}, refused
	}
	next.Status = r.To
	if r.To == event.BatchProcessing {
		next.Started = true
	}
	if in.Give && !next.give() || (in.On == OnGive) && !in.Give {
		return Decision{}, refused
	}
	if next.Counts.Sending > 0 && !Busy(r.To) {
		return Decision{}, refused
	}
	d := Decision{Row: r.Name, Events: itemEvents(in.Item)}
	for _, kind := range r.Events {
		if kind == event.BatchProgress {
			if next.Counts.Percent() == next.Reported {
				continue
			}
			next.Reported = next.Counts.Percent()
		}
		d.Events = append(d.Events, kind)
	}
	d.Core = next
	return d, nil
}

// find returns the row for the step; the counts are those after the move.
func find(c Core, in Input) (Row, bool) {
	for _, r := range rows {
		if r.On == in.On && slices.Contains(r.From, c.Status) && (r.If == nil || r.If(c, in)) {
			return r, true
		}
	}
	return Row{}, false
}

// Busy reports whether an item may be in SENDING.
func Busy(s event.BatchStatus) bool {
	return s == event.BatchProcessing || s == event.BatchPauseAsked || s == event.BatchStopAsked
}

// Final reports whether a batch in status s never changes again.
func Final(s event.BatchStatus) bool {
	return s == event.BatchIsStopped || s == event.BatchIsCompleted || s == event.BatchIsWithErrors
}

// give turns a pending item into the one being sent.
func (c *Core) give() bool {
	if c.Status != event.BatchProcessing || c.Counts.Sending != 0 || c.Counts.Pending == 0 {
		return false
	}
	c.Counts.Pending--
	c.Counts.Sending++
	return true
}

// move ends the item in SENDING or returns it to PENDING, where the trigger allows it. An
// item that is opted out was not SENDING.
func (c *Counts) move(on Trigger, m Move) bool {
	if on == OnOptedOut {
		if m != MoveNone || c.Sending > 0 || c.Pending == 0 {
			return false
		}
		c.Pending--
		c.Skipped++
		return true
	}
	if m == MoveNone {
		return on != OnItemEnded && on != OnItemBack
	}
	if c.Sending == 0 || !slices.Contains(movers[on], m) {
		return false
	}
	c.Sending--
	switch m {
	case MoveSuccess:
		c.Success++
	case MoveFailed:
		c.Failed++
	case MoveSkipped:
		c.Skipped++
	case MoveUnknown:
		c.Unknown++
	case MoveBack:
		c.Pending++
	case MoveNone:
	}
	return true
}

func itemEvents(m Move) []event.Kind {
	switch m {
	case MoveFailed:
		return []event.Kind{event.BatchItemFailed}
	case MoveUnknown:
		return []event.Kind{event.BatchItemUnknown}
	case MoveNone, MoveSuccess, MoveSkipped, MoveBack:
	}
	return nil
}

// ErrInvalidTransition is wrapped by every *TransitionError.
var ErrInvalidTransition = errors.New("the batch does not allow this now")

// TransitionError means that the table has no row for a trigger in a status.
type TransitionError struct {
	Status  event.BatchStatus
	Trigger Trigger
}

func (e *TransitionError) Error() string {
	if e.Trigger == OnDelete {
		return fmt.Sprintf("a batch that is %s cannot be deleted; stop it first, and wait until it is STOPPED", e.Status)
	}
	if e.Trigger == OnRetry {
		return fmt.Sprintf("a batch that is %s cannot be retried; stop it first, and wait until it is STOPPED", e.Status)
	}
	return fmt.Sprintf("a batch that is %s cannot take %q", e.Status, e.Trigger)
}

// Unwrap returns ErrInvalidTransition.
func (e *TransitionError) Unwrap() error { return ErrInvalidTransition }
