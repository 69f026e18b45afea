package table

import (
	"slices"

	"postern/batch/schedule"
	"postern/event"
)

// Row is one line of the state machine: in one of From, when the trigger occurs
// and If holds (nil: always), the batch goes To and emits Events. The first
// matching row applies. The event of an item that ended FAILED or UNKNOWN in the same
// commit precedes them; progress is reported only when the integer percent
// differs from the last reported one.
type Row struct {
	Name   string
	From   []event.BatchStatus
	On     Trigger
	If     func(Core, Input) bool
	To     event.BatchStatus
	Events []event.Kind
}

// Short names keep a row on a line.
const (
	unborn   event.BatchStatus = ""
	draft                      = event.BatchDraft
	queued                     = event.BatchQueued
	schedul                    = event.BatchIsScheduled
	process                    = event.BatchProcessing
	waitWin                    = event.BatchWaitingForWindow
	pausing                    = event.BatchPauseAsked
	paused                     = event.BatchIsPaused
	waitInst                   = event.BatchWaitingForInstance
	stopping                   = event.BatchStopAsked
	stopped                    = event.BatchIsStopped
	interr                     = event.BatchIsInterrupted
	complete                   = event.BatchIsCompleted
	witherr                    = event.BatchIsWithErrors
)

func in(s ...event.BatchStatus) []event.BatchStatus { return s }

func emit(k ...event.Kind) []event.Kind { return k }

func first(c Core, _ Input) bool     { return !c.Started }
func again(c Core, _ Input) bool     { return c.Started }
func open(_ Core, i Input) bool      { return i.Window == schedule.Open }
func shut(_ Core, i Input) bool      { return i.Window == schedule.Shut }
func notSpent(_ Core, i Input) bool  { return i.Window != schedule.Spent }
func spent(_ Core, i Input) bool     { return i.Window == schedule.Spent }
func moved(_ Core, i Input) bool     { return i.Moved }
func itemsLeft(c Core, _ Input) bool { return c.Counts.Open() > 0 }
func waiting(c Core, _ Input) bool   { return c.Counts.Pending > 0 }
func clean(c Core, _ Input) bool {
	return c.Counts.Open() == 0 && c.Counts.Failed == 0 && c.Counts.Unknown == 0
}
func dirty(c Core, i Input) bool { return c.Counts.Open() == 0 && !clean(c, i) }

func both(f, g func(Core, Input) bool) func(Core, Input) bool {
	return func(c Core, i Input) bool { return f(c, i) && g(c, i) }
}

// rows is the whole state machine. Nothing else changes a batch.
var rows = []Row{
	{"create inside the window", in(unborn), OnCreate, open, queued, emit(event.BatchCreated)},
	{"create before its first window", in(unborn), OnCreate, shut, schedul, emit(event.BatchCreated, event.BatchScheduled)},
	{"create as a draft", in(unborn), OnDraft, notSpent, draft, nil},
	{"start a draft inside the window", in(draft), OnStart, open, queued, emit(event.BatchCreated)},
	{"start a draft before its first window", in(draft), OnStart, shut, schedul, emit(event.BatchCreated, event.BatchScheduled)},
	{"stop a draft", in(draft), OnStop, nil, stopped, nil},

	{"append to a draft", in(draft), OnAppend, nil, draft, nil},
	{"change a draft", in(draft), OnChange, nil, draft, nil},
	{"move the window of a scheduled batch", in(schedul), OnChange, both(moved, shut), schedul, emit(event.BatchScheduled)},
	{"change a scheduled batch", in(schedul), OnChange, nil, schedul, nil},
	{"change a paused batch", in(paused), OnChange, nil, paused, nil},

	{"window opens", in(schedul, waitWin), OnWindowOpens, nil, queued, emit(event.BatchWindowStarted)},
	{"first claim", in(queued), OnClaim, first, process, emit(event.BatchStarted)},
	{"later claim", in(queued), OnClaim, again, process, emit(event.BatchResumed)},
	{"item given to an instance", in(process), OnGive, nil, process, nil},
	{"item given to another instance", in(process), OnRegive, nil, process, nil},
	{"item goes back, others go on", in(process), OnItemBack, nil, process, nil},
	{"part sent, the item goes on", in(process), OnPart, onItsWay, process, nil},
	{"item ended", in(process), OnItemEnded, itemsLeft, process, emit(event.BatchProgress)},
	{"last item ended well", in(process), OnItemEnded, clean, complete, emit(event.BatchProgress, event.BatchCompleted)},
	{"last item ended, some badly", in(process), OnItemEnded, dirty, witherr, emit(event.BatchProgress, event.BatchCompletedWithErrors)},
	{"nothing was left, all well", in(process), OnNothingLeft, clean, complete, emit(event.BatchProgress, event.BatchCompleted)},
	{"nothing was left, some badly", in(process), OnNothingLeft, dirty, witherr, emit(event.BatchProgress, event.BatchCompletedWithErrors)},
	{"item skipped, for its recipient opted out", in(process), OnOptedOut, itemsLeft, process, emit(event.BatchProgress)},
	{"last item skipped, all well", in(process), OnOptedOut, clean, complete, emit(event.BatchProgress, event.BatchCompleted)},
	{"last item skipped, some ended badly", in(process), OnOptedOut, dirty, witherr, emit(event.BatchProgress, event.BatchCompletedWithErrors)},

	{"no instance online", in(queued, process), OnNoInstance, waiting, waitInst, emit(event.BatchWaitingInstance)},
	{"an instance comes online, never ran", in(waitInst), OnInstance, first, process, emit(event.BatchStarted)},
	{"an instance comes online", in(waitInst), OnInstance, again, process, emit(event.BatchResumed)},
	{"window ends with items pending", in(process, waitInst), OnWindowEnds, waiting, waitWin, emit(event.BatchWaitingWindow)},

	{"pause while working", in(process, waitInst), OnPause, nil, pausing, emit(event.BatchPauseRequested)},
	{"pause while at rest", in(queued, schedul, waitWin), OnPause, nil, paused, emit(event.BatchPauseRequested, event.BatchPaused)},
	{"safe point of a pause", in(pausing), OnSafePoint, nil, paused, emit(event.BatchPaused)},
	{"start inside the window", in(paused, interr), OnStart, open, queued, nil},
	{"start with the only window over", in(paused, interr), OnStart, spent, queued, nil},
	{"start before the first window", in(paused, interr), OnStart, both(shut, first), schedul, emit(event.BatchScheduled)},
	{"start between windows", in(paused, interr), OnStart, both(shut, again), waitWin, emit(event.BatchWaitingWindow)},

	{"stop while working", in(process, pausing, waitInst), OnStop, nil, stopping, emit(event.BatchStopRequested)},
	{"safe point of a stop", in(stopping), OnSafePoint, nil, stopped, emit(event.BatchStopped)},
	{"stop while at rest", in(queued, schedul, waitWin, paused, interr), OnStop, nil, stopped, emit(event.BatchStopRequested, event.BatchStopped)},

	{"graceful shutdown", in(queued, process, waitInst), OnShutdown, nil, interr, emit(event.BatchInterrupted)},
	{"graceful shutdown of a pausing batch", in(pausing), OnShutdown, nil, paused, emit(event.BatchPaused)},
	{"graceful shutdown of a stopping batch", in(stopping), OnShutdown, nil, stopped, emit(event.BatchStopped)},
	{"lease expired", in(process), OnLeaseLost, nil, interr, emit(event.BatchInterrupted)},
	{"lease expired while pausing", in(pausing), OnLeaseLost, nil, paused, emit(event.BatchPaused)},
	{"lease expired while stopping", in(stopping), OnLeaseLost, nil, stopped, emit(event.BatchStopped)},
	{"processing found at start", in(process), OnFound, nil, interr, emit(event.BatchInterrupted)},
	{"pausing found at start", in(pausing), OnFound, nil, paused, emit(event.BatchPaused)},
	{"stopping found at start", in(stopping), OnFound, nil, stopped, emit(event.BatchStopped)},
	{"under way in a backup", in(queued, process, waitInst), OnRestored, nil, interr, emit(event.BatchInterrupted)},
	{"between windows in a backup, one of which has opened since", in(schedul, waitWin), OnRestored, nil, interr, emit(event.BatchInterrupted)},
	{"interrupted in a backup", in(interr), OnRestored, nil, interr, nil},
	{"pausing in a backup", in(pausing), OnRestored, nil, paused, emit(event.BatchPaused)},
	{"stopping in a backup", in(stopping), OnRestored, nil, stopped, emit(event.BatchStopped)},
	{"recovery inside the window", in(interr), OnRecover, both(resumes, open), queued, emit(event.BatchRecovered)},
	{"recovery before the first window", in(interr), OnRecover, both(resumes, both(shut, first)), schedul, emit(event.BatchRecovered)},
	{"recovery with the window shut", in(interr), OnRecover, resumes, waitWin, emit(event.BatchRecovered)},
}

func onItsWay(c Core, _ Input) bool { return c.Counts.Sending > 0 }

func resumes(c Core, _ Input) bool { return c.AutoResume }

// Rows returns the rows of the table, in the order in which they are tried.
func Rows() []Row { return slices.Clone(rows) }

// accepted are the calls that are accepted and change nothing.
var accepted = map[Trigger][]event.BatchStatus{
	OnStart: in(queued, schedul, process, waitWin, waitInst),
	OnPause: in(pausing, paused),
	OnStop:  in(stopping, stopped),
	OnFound: in(draft, queued, schedul, waitInst, waitWin, paused, interr),

	OnRestored: in(draft, paused),
}

// movers are the triggers that may end the item in SENDING or return it to PENDING.
var movers = map[Trigger][]Move{
	OnItemEnded:  {MoveSuccess, MoveFailed, MoveSkipped, MoveUnknown},
	OnItemBack:   {MoveBack},
	OnSafePoint:  {MoveSuccess, MoveFailed, MoveSkipped, MoveUnknown, MoveBack},
	OnShutdown:   {MoveUnknown, MoveBack},
	OnLeaseLost:  {MoveUnknown},
	OnFound:      {MoveUnknown, MoveBack},
	OnRestored:   {MoveUnknown},
	OnNoInstance: {MoveBack},
	OnWindowEnds: {MoveBack},
}
