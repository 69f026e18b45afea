package table

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"postern/batch/schedule"
	"postern/event"
)

var allTriggers = []Trigger{
	OnCreate, OnDraft, OnWindowOpens, OnClaim, OnGive, OnRegive, OnItemEnded, OnItemBack, OnPart, OnNothingLeft, OnOptedOut, OnNoInstance,
	OnInstance, OnWindowEnds, OnPause, OnStart, OnStop, OnSafePoint, OnShutdown, OnLeaseLost, OnFound, OnRestored, OnRecover, OnChange, OnAppend,
}

var (
	allWindows = []schedule.Window{schedule.Open, schedule.Shut, schedule.Spent}
	allMoves   = []Move{MoveNone, MoveSuccess, MoveFailed, MoveSkipped, MoveUnknown, MoveBack}
)

func allInputs() []Input {
	var all []Input
	for _, on := range allTriggers {
		for _, w := range allWindows {
			for _, m := range allMoves {
				all = append(all, Input{On: on, Window: w, Item: m}, Input{On: on, Window: w, Item: m, Give: true})
				if on == OnChange {
					all = append(all, Input{On: on, Window: w, Item: m, Moved: true})
				}
			}
		}
	}
	return all
}

func names(kinds []event.Kind) string {
	var short []string
	for _, k := range kinds {
		short = append(short, strings.TrimPrefix(string(k), "message.batch."))
	}
	return strings.Join(short, " ")
}

func TestEveryRowOfTheTable(t *testing.T) {
	two := Counts{Total: 2, Pending: 2}
	sending := Counts{Total: 2, Pending: 1, Sending: 1}
	last := Counts{Total: 2, Sending: 1, Success: 1}
	lastBad := Counts{Total: 2, Sending: 1, Failed: 1}
	lastUnknown := Counts{Total: 2, Sending: 1, Unknown: 1}
	lastSkipped := Counts{Total: 2, Sending: 1, Skipped: 1}
	lastWaits := Counts{Total: 2, Pending: 1, Success: 1}
	lastWaitsBad := Counts{Total: 2, Pending: 1, Failed: 1}
	done := Counts{Total: 2, Success: 2}
	doubt := Counts{Total: 2, Success: 1, Unknown: 1}
	many := Counts{Total: 1000, Pending: 899, Sending: 1, Success: 100}
	on := func(tr Trigger) Input { return Input{On: tr, Window: schedule.Open} }
	shutAt := func(tr Trigger) Input { return Input{On: tr, Window: schedule.Shut} }
	item := func(tr Trigger, m Move) Input { return Input{On: tr, Window: schedule.Open, Item: m} }
	ran := func(s event.BatchStatus, c Counts) Core {
		return Core{Status: s, Counts: c, Started: true, AutoResume: true}
	}
	fresh := func(s event.BatchStatus, c Counts) Core { return Core{Status: s, Counts: c, AutoResume: true} }
	reported := ran(process, many)
	reported.Reported = 10

	for _, tc := range []struct {
		rule   string
		from   Core
		in     Input
		to     event.BatchStatus
		events string
	}{
		{"create without a schedule is queued and tells created", fresh(unborn, two), on(OnCreate), queued, "created"},
		{"create before its first window tells created and scheduled", fresh(unborn, two), shutAt(OnCreate), schedul, "created scheduled"},
		{"create without autoStart tells nothing", fresh(unborn, two), on(OnDraft), draft, ""},
		{"start of a draft acts as create", fresh(draft, two), on(OnStart), queued, "created"},
		{"start of a draft before its window acts as create", fresh(draft, two), shutAt(OnStart), schedul, "created scheduled"},
		{"stop of a draft tells nothing", fresh(draft, two), on(OnStop), stopped, ""},
		{"an append tells nothing", fresh(draft, two), Input{On: OnAppend, Window: schedule.Open, More: 3}, draft, ""},
		{"a change of a draft tells nothing", fresh(draft, two), Input{On: OnChange, Window: schedule.Shut, Moved: true}, draft, ""},
		{"a change of a scheduled batch tells nothing", fresh(schedul, two), shutAt(OnChange), schedul, ""},
		{"a window that moves is reported", fresh(schedul, two), Input{On: OnChange, Window: schedule.Shut, Moved: true}, schedul, "scheduled"},
		{"a window that moves to now opens instead", fresh(schedul, two), Input{On: OnChange, Window: schedule.Open, Moved: true}, schedul, ""},
		{"a change of a paused batch tells nothing", ran(paused, two), Input{On: OnChange, Window: schedule.Shut, Moved: true}, paused, ""},
		{"a window opens on a scheduled batch", fresh(schedul, two), on(OnWindowOpens), queued, "window-started"},
		{"a window opens on a waiting batch", ran(waitWin, two), on(OnWindowOpens), queued, "window-started"},
		{"the first claim tells started", fresh(queued, two), on(OnClaim), process, "started"},
		{"a later claim tells resumed", ran(queued, two), on(OnClaim), process, "resumed"},
		{"giving an item tells nothing", ran(process, two), Input{On: OnGive, Give: true}, process, ""},
		{"giving an item to another instance tells nothing", ran(process, sending), on(OnRegive), process, ""},
		{"an item ended well and the percent changed", ran(process, sending), item(OnItemEnded, MoveSuccess), process, "progress"},
		{"a part is sent and the item goes on", ran(process, sending), Input{On: OnPart}, process, ""},
		{"an item goes back and the others go on", ran(process, sending), item(OnItemBack, MoveBack), process, ""},
		{"an item was skipped and the percent changed", ran(process, sending), item(OnItemEnded, MoveSkipped), process, "progress"},
		{"an item failed", ran(process, sending), item(OnItemEnded, MoveFailed), process, "item.failed progress"},
		{"an item is unknown", ran(process, sending), item(OnItemEnded, MoveUnknown), process, "item.unknown progress"},
		{"an item ended and the percent stayed", reported, item(OnItemEnded, MoveSuccess), process, ""},
		{"an item failed and the percent stayed", reported, item(OnItemEnded, MoveFailed), process, "item.failed"},
		{"the last item ended well", ran(process, last), item(OnItemEnded, MoveSuccess), complete, "progress completed"},
		{"skipped items are no errors", ran(process, lastSkipped), item(OnItemEnded, MoveSkipped), complete, "progress completed"},
		{"the last item failed", ran(process, last), item(OnItemEnded, MoveFailed), witherr, "item.failed progress completed-with-errors"},
		{"the last item ended well after a failure", ran(process, lastBad), item(OnItemEnded, MoveSuccess), witherr, "progress completed-with-errors"},
		{"the last item ended well after an unknown", ran(process, lastUnknown), item(OnItemEnded, MoveSuccess), witherr, "progress completed-with-errors"},
		{"claimed with nothing left", ran(process, done), on(OnNothingLeft), complete, "progress completed"},
		{"claimed with nothing left but doubt", ran(process, doubt), on(OnNothingLeft), witherr, "progress completed-with-errors"},
		{"a recipient opted out", ran(process, two), on(OnOptedOut), process, "progress"},
		{"the last recipient opted out", ran(process, lastWaits), on(OnOptedOut), complete, "progress completed"},
		{"the last recipient opted out after a failure", ran(process, lastWaitsBad), on(OnOptedOut), witherr, "progress completed-with-errors"},
		{"no instance online when queued", fresh(queued, two), on(OnNoInstance), waitInst, "waiting-instance"},
		{"no instance online when processing", ran(process, sending), item(OnNoInstance, MoveBack), waitInst, "waiting-instance"},
		{"an instance comes online", ran(waitInst, two), on(OnInstance), process, "resumed"},
		{"an instance comes online for a batch that never ran", fresh(waitInst, two), on(OnInstance), process, "started"},
		{"the window ends while processing", ran(process, two), on(OnWindowEnds), waitWin, "waiting-window"},
		{"the window ends while waiting for an instance", ran(waitInst, two), on(OnWindowEnds), waitWin, "waiting-window"},
		{"pause while processing", ran(process, sending), on(OnPause), pausing, "pause-requested"},
		{"pause while waiting for an instance", ran(waitInst, two), on(OnPause), pausing, "pause-requested"},
		{"a worker pauses at a safe point", ran(pausing, two), on(OnSafePoint), paused, "paused"},
		{"a worker pauses after its item failed", ran(pausing, sending), item(OnSafePoint, MoveFailed), paused, "item.failed paused"},
		{"a worker pauses and takes its item back", ran(pausing, sending), item(OnSafePoint, MoveBack), paused, "paused"},
		{"pause while queued", fresh(queued, two), on(OnPause), paused, "pause-requested paused"},
		{"pause while scheduled", fresh(schedul, two), on(OnPause), paused, "pause-requested paused"},
		{"pause while waiting for a window", ran(waitWin, two), on(OnPause), paused, "pause-requested paused"},
		{"start of a paused batch", ran(paused, two), on(OnStart), queued, ""},
		{"start of an interrupted batch", ran(interr, two), on(OnStart), queued, ""},
		{"start ignores a spent window", ran(paused, two), Input{On: OnStart, Window: schedule.Spent}, queued, ""},
		{"start before the first window", fresh(paused, two), shutAt(OnStart), schedul, "scheduled"},
		{"start between windows", ran(paused, two), shutAt(OnStart), waitWin, "waiting-window"},
		{"stop while processing", ran(process, sending), on(OnStop), stopping, "stop-requested"},
		{"stop while pausing", ran(pausing, sending), on(OnStop), stopping, "stop-requested"},
		{"stop while waiting for an instance", ran(waitInst, two), on(OnStop), stopping, "stop-requested"},
		{"a worker stops at a safe point", ran(stopping, two), on(OnSafePoint), stopped, "stopped"},
		{"stop while queued", fresh(queued, two), on(OnStop), stopped, "stop-requested stopped"},
		{"stop while scheduled", fresh(schedul, two), on(OnStop), stopped, "stop-requested stopped"},
		{"stop while waiting for a window", ran(waitWin, two), on(OnStop), stopped, "stop-requested stopped"},
		{"stop while paused", ran(paused, two), on(OnStop), stopped, "stop-requested stopped"},
		{"stop while interrupted", ran(interr, two), on(OnStop), stopped, "stop-requested stopped"},
		{"shutdown while queued", fresh(queued, two), on(OnShutdown), interr, "interrupted"},
		{"shutdown while processing", ran(process, two), on(OnShutdown), interr, "interrupted"},
		{"shutdown with a send that outlives it", ran(process, sending), item(OnShutdown, MoveUnknown), interr, "item.unknown interrupted"},
		{"shutdown while waiting for an instance", ran(waitInst, two), on(OnShutdown), interr, "interrupted"},
		{"shutdown while pausing", ran(pausing, two), on(OnShutdown), paused, "paused"},
		{"shutdown while stopping", ran(stopping, two), on(OnShutdown), stopped, "stopped"},
		{"lease expired", ran(process, sending), item(OnLeaseLost, MoveUnknown), interr, "item.unknown interrupted"},
		{"lease expired while pausing", ran(pausing, sending), item(OnLeaseLost, MoveUnknown), paused, "item.unknown paused"},
		{"lease expired while stopping", ran(stopping, sending), item(OnLeaseLost, MoveUnknown), stopped, "item.unknown stopped"},
		{"processing found at start", ran(process, sending), item(OnFound, MoveUnknown), interr, "item.unknown interrupted"},
		{"processing between items found at start", ran(process, two), on(OnFound), interr, "interrupted"},
		{"pausing found at start", ran(pausing, sending), item(OnFound, MoveUnknown), paused, "item.unknown paused"},
		{"stopping found at start", ran(stopping, two), on(OnFound), stopped, "stopped"},
		{"recovery", ran(interr, two), on(OnRecover), queued, "recovered"},
		{"recovery before the first window", fresh(interr, two), shutAt(OnRecover), schedul, "recovered"},
		{"recovery with the window shut", ran(interr, two), shutAt(OnRecover), waitWin, "recovered"},
		{"recovery with the window spent", ran(interr, two), Input{On: OnRecover, Window: schedule.Spent}, waitWin, "recovered"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			d, err := Next(tc.from, tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if d.Core.Status != tc.to || names(d.Events) != tc.events {
				t.Errorf("got %s telling %q, want %s telling %q", d.Core.Status, names(d.Events), tc.to, tc.events)
			}
		})
	}
}

func TestCallsAreTakenWithoutEffectOrRefused(t *testing.T) {
	all := in(draft, queued, schedul, process, waitWin, pausing, paused, waitInst, stopping, stopped, interr, complete, witherr)
	for trigger, want := range map[Trigger]struct{ same, refused []event.BatchStatus }{
		OnStart:    {in(queued, schedul, process, waitWin, waitInst), in(pausing, stopping, stopped, complete, witherr)},
		OnPause:    {in(pausing, paused), in(draft, stopping, stopped, interr, complete, witherr)},
		OnStop:     {in(stopping, stopped), in(complete, witherr)},
		OnChange:   {nil, in(queued, process, waitWin, pausing, waitInst, stopping, stopped, interr, complete, witherr)},
		OnAppend:   {nil, in(queued, schedul, process, waitWin, pausing, paused, waitInst, stopping, stopped, interr, complete, witherr)},
		OnFound:    {in(draft, queued, schedul, waitInst, waitWin, paused, interr), in(stopped, complete, witherr)},
		OnRestored: {in(draft, paused), in(stopped, complete, witherr)},
	} {
		for _, status := range all {
			c := Core{Status: status, Counts: Counts{Total: 2, Pending: 2}}
			d, err := Next(c, Input{On: trigger, Window: schedule.Open})
			if got := errors.Is(err, ErrInvalidTransition); got != slices.Contains(want.refused, status) {
				t.Errorf("%s in %s: refused = %v", trigger, status, got)
			}
			if got := err == nil && d.Row == "" && d.Core == c; got != slices.Contains(want.same, status) {
				t.Errorf("%s in %s: accepted without effect = %v", trigger, status, got)
			}
		}
	}
}

// check states what must hold after every step from one core to another.
func check(t *testing.T, from Core, i Input, d Decision) {
	t.Helper()
	c := d.Core.Counts
	switch {
	case c.Pending < 0 || c.Sending < 0 || c.Sending > 1, c.Open()+c.Processed() != c.Total:
		t.Fatalf("%+v on %+v: counts do not add up: %+v", from, i, c)
	case c.Processed() < from.Counts.Processed():
		t.Fatalf("%+v on %+v: an ended item came back: %+v", from, i, c)
	case c.Sending > 0 && !Busy(d.Core.Status):
		t.Fatalf("%+v on %+v: an item is in SENDING while %s", from, i, d.Core.Status)
	case Final(from.Status) && d.Row != "":
		t.Fatalf("%+v on %+v: a final batch changed to %+v", from, i, d.Core)
	case d.Row == "" && (d.Core != from || len(d.Events) > 0):
		t.Fatalf("%+v on %+v: changed outside of the table: %+v", from, i, d)
	case d.Core.Status == complete && (c.Open() > 0 || c.Failed+c.Unknown > 0):
		t.Fatalf("%+v on %+v: COMPLETED with %+v", from, i, c)
	case d.Core.Status == witherr && (c.Open() > 0 || c.Failed+c.Unknown == 0):
		t.Fatalf("%+v on %+v: COMPLETED_WITH_ERRORS with %+v", from, i, c)
	}
	entered := d.Core.Status == process && from.Status != process
	announced := slices.Contains(d.Events, event.BatchStarted) || slices.Contains(d.Events, event.BatchResumed)
	if entered != announced {
		t.Fatalf("%+v on %+v: entry into PROCESSING announced = %v", from, i, announced)
	}
	if slices.Contains(d.Events, event.BatchStarted) && from.Started {
		t.Fatalf("%+v on %+v: started twice", from, i)
	}
}

// Every state that any sequence of steps can reach keeps the rules of check,
// and every row is reached.
func TestNoSequenceLeavesTheTable(t *testing.T) {
	inputs := allInputs()
	reached := map[string]bool{}
	seen := map[Core]bool{}
	var queue []Core
	for total := 1; total <= 3; total++ {
		for _, auto := range []bool{false, true} {
			queue = append(queue, Core{Counts: Counts{Total: total, Pending: total}, AutoResume: auto})
		}
	}
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		for _, i := range inputs {
			d, err := Next(c, i)
			if err != nil {
				continue
			}
			check(t, c, i, d)
			reached[d.Row] = true
			if !seen[d.Core] {
				seen[d.Core] = true
				queue = append(queue, d.Core)
			}
		}
	}
	for _, r := range rows {
		if !reached[r.Name] {
			t.Errorf("row %q is never reached", r.Name)
		}
	}
	if len(seen) < 200 {
		t.Errorf("only %d states reached", len(seen))
	}
}

func FuzzNext(f *testing.F) {
	f.Add(3, []byte{0, 36, 48, 72})
	inputs := allInputs()
	f.Fuzz(func(t *testing.T, total int, steps []byte) {
		total = 1 + (total%1000+1000)%1000
		c := Core{Counts: Counts{Total: total, Pending: total}, AutoResume: total%2 == 0}
		for k := 0; k+1 < len(steps); k += 2 {
			i := inputs[(int(steps[k])<<8|int(steps[k+1]))%len(inputs)]
			d, err := Next(c, i)
			if err != nil {
				continue
			}
			check(t, c, i, d)
			c = d.Core
		}
	})
}

// TestNoItemIsSkippedDuringASend holds that an opted out item was PENDING, and the only
// change of its step.
func TestNoItemIsSkippedDuringASend(t *testing.T) {
	for _, c := range []Counts{{Total: 2, Pending: 1, Sending: 1}, {Total: 1, Success: 1}} {
		if d, err := Next(Core{Status: process, Counts: c, Started: true}, Input{On: OnOptedOut}); err == nil {
			t.Errorf("%+v: %+v", c, d)
		}
	}
	for _, status := range in(draft, queued, schedul, waitWin, pausing, paused, waitInst, stopping, stopped, interr, complete, witherr) {
		if _, err := Next(Core{Status: status, Counts: Counts{Total: 2, Pending: 2}}, Input{On: OnOptedOut}); err == nil {
			t.Errorf("an item is skipped while %s", status)
		}
	}
}
