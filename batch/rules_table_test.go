package batch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"postern/batch/table"
	"postern/event"
)

// rowTest drives a batch through one row of the table. Of its commits the one
// with a star is that row, and each commit is one row: what a line tells has
// happened in it and in no other.
type rowTest struct {
	row      string
	commits  string
	items    string // afterwards
	attempts string // afterwards
	idle     bool   // the worker is disabled
	run      func(j *journal)
}

// How far most batches of two come before a test begins.
const (
	sending = "QUEUED created | PROCESSING started | PROCESSING"
	rested  = sending + " | PROCESSING progress"
	parked  = "QUEUED created | WAITING_FOR_INSTANCE waiting-instance"
	before  = "SCHEDULED created scheduled"
	between = rested + " | WAITING_FOR_WINDOW waiting-window"
	off     = "QUEUED created | INTERRUPTED interrupted"
	offRan  = rested + " | INTERRUPTED interrupted"

	todo    = "PENDING PENDING"
	half    = "SUCCESS PENDING"
	given   = "SENDING PENDING"
	giving  = "SUCCESS SENDING"
	doubt   = "UNKNOWN PENDING"
	doubts  = "UNKNOWN SENDING"
	inDoubt = "0/1 UNKNOWN"
	sentOne = "0/1 SUCCESS"
	onIt    = "0/1 SENDING"
	sentTwo = "0/1 SUCCESS, 1/1 SENDING"
	dropped = "0/1 INSTANCE_UNAVAILABLE"
)

func (j *journal) two()  { j.create(request(2)) }
func (j *journal) last() { j.create(request(1)) }

// rests has sent one of two items and waits two hours for the next.
func (j *journal) rests() {
	j.create(delayed(2, 2*time.Hour))
	j.answer(nil)
}

func (j *journal) manual(req CreateRequest) CreateRequest {
	no := false
	req.AutoResume = &no
	return req
}

func (j *journal) draft(schedule []byte) {
	req, no := request(2), false
	req.AutoStart, req.Schedule = &no, schedule
	j.create(req)
}

// daily has a window that begins and ends so long from now.
func (j *journal) daily(req CreateRequest, begins, ends time.Duration) {
	req.Schedule = window(begins, ends, "DAILY")
	j.create(req)
}

// shuts has sent one of two items when its window ended.
func (j *journal) shuts() {
	j.daily(delayed(2, 2*time.Hour), 0, time.Hour)
	j.answer(nil)
	time.Sleep(time.Hour)
}

// parks is a batch that never found an instance.
func (j *journal) parks() {
	j.drops(1, 2)
	j.two()
	j.read()
}

func (j *journal) pause() { j.do(j.e.Pause) }
func (j *journal) start() { j.do(j.e.StartBatch) }
func (j *journal) halt()  { j.do(j.e.StopBatch) }

// pauses and halts ask while an item is on its way.
func (j *journal) pauses() {
	j.two()
	j.read()
	j.pause()
}

func (j *journal) halts() {
	j.two()
	j.read()
	j.halt()
}

// stuck makes the send in flight outlive its lease.
func (j *journal) stuck() {
	j.read()
	time.Sleep(61 * time.Second)
}

// crashes kills the program and starts it again.
func (j *journal) crashes() {
	j.read()
	j.crash()
	j.boot()
}

func rowTests() []rowTest {
	return slices.Concat(birthTests(), workTests(), waitTests(), pauseTests(), startTests(), changeTests(), stopTests(), shutdownTests(), lossTests(), restoreTests())
}

func birthTests() []rowTest {
	return []rowTest{
		{"create inside the window", "*QUEUED created", todo, "", true, (*journal).two},
		{"create before its first window", "*SCHEDULED created scheduled", todo, "", true, func(j *journal) {
			j.daily(request(2), time.Hour, 2*time.Hour)
		}},
		{"create as a draft", "*DRAFT", todo, "", true, func(j *journal) { j.draft(nil) }},
		{"start a draft inside the window", "DRAFT | *QUEUED created", todo, "", true, func(j *journal) {
			j.draft(nil)
			j.start()
		}},
		{"start a draft before its first window", "DRAFT | *SCHEDULED created scheduled", todo, "", true, func(j *journal) {
			j.draft(window(time.Hour, 2*time.Hour, "NONE"))
			j.start()
		}},
		{"stop a draft", "DRAFT | *STOPPED", todo, "", true, func(j *journal) {
			j.draft(nil)
			j.halt()
		}},
		{"window opens", before + " | *QUEUED window-started", todo, "", true, func(j *journal) {
			j.daily(request(2), time.Hour, 2*time.Hour)
			time.Sleep(time.Hour)
		}},
		{"window opens", between + " | *QUEUED window-started | PROCESSING resumed | PROCESSING", giving, sentTwo, false, func(j *journal) {
			j.shuts()
			time.Sleep(23 * time.Hour)
		}},
	}
}

func workTests() []rowTest {
	refused := func(j *journal) { j.answer(event.ErrSendRefused) }
	return []rowTest{
		{"first claim", "QUEUED created | *PROCESSING started | PROCESSING", given, onIt, false, (*journal).two},
		{"later claim", offRan + " | QUEUED recovered | *PROCESSING resumed | PROCESSING", giving, sentTwo, false, func(j *journal) {
			j.rests()
			j.restart(0)
		}},
		{"item given to an instance", "QUEUED created | PROCESSING started | *PROCESSING", given, onIt, false, (*journal).two},
		{"item given to another instance", sending + " | *PROCESSING", given, dropped + ", 0/2 SENDING", false, func(j *journal) {
			j.two()
			j.answer(event.ErrNotConnected)
		}},
		{"item goes back, others go on", sending + " | *PROCESSING", "PENDING SENDING", "0/1 INSTANCE_UNAVAILABLE, 1/1 SENDING", false, func(j *journal) {
			j.two()
			j.read()
			j.f.known[number(1)] = true
			j.locks(time.Hour)
			j.answer(locked())
		}},
		{"part sent, the item goes on", sending + " | *PROCESSING", given, onIt, false, func(j *journal) {
			j.create(threeParts(2))
			j.answer(nil)
		}},
		{"item ended", sending + " | *PROCESSING progress", half, sentOne, false, (*journal).rests},
		{"item ended", sending + " | *PROCESSING progress", giving, sentTwo, false, func(j *journal) {
			j.two()
			j.answer(nil)
		}},
		{"item ended", sending + " | *PROCESSING item.failed progress", "FAILED SENDING", "0/1 FAILED, 1/1 SENDING", false, func(j *journal) {
			j.two()
			refused(j)
		}},
		{"item ended", sending + " | *PROCESSING item.unknown progress", doubts, inDoubt + ", 1/1 SENDING", false, func(j *journal) {
			j.two()
			j.answer(event.ErrOutcomeUnknown)
		}},
		{"item ended", sending + " | *PROCESSING item.failed", "", "", false, func(j *journal) {
			j.create(request(101)) // one of them is no whole percent
			refused(j)
		}},
		{"last item ended well", sending + " | *COMPLETED progress completed", "SUCCESS", sentOne, false, func(j *journal) {
			j.last()
			j.answer(nil)
		}},
		{"last item ended, some badly", sending + " | *COMPLETED_WITH_ERRORS item.failed progress completed-with-errors", "FAILED", "0/1 FAILED", false, func(j *journal) {
			j.last()
			refused(j)
		}},
		{"nothing was left, all well", sending + " | PAUSE_REQUESTED pause-requested | PAUSED paused | QUEUED | PROCESSING resumed | *COMPLETED progress completed", "SUCCESS", sentOne, false, func(j *journal) {
			j.last()
			j.read()
			j.pause()
			j.answer(nil)
			j.start()
		}},
		{"nothing was left, some badly", sending + " | PAUSE_REQUESTED pause-requested | PAUSED item.failed paused | QUEUED | PROCESSING resumed | *COMPLETED_WITH_ERRORS progress completed-with-errors", "FAILED", "0/1 FAILED", false, func(j *journal) {
			j.last()
			j.read()
			j.pause()
			refused(j)
			j.start()
		}},
		{"item skipped, for its recipient opted out", "QUEUED created | PROCESSING started | *PROCESSING progress | PROCESSING", "SKIPPED SENDING", "1/1 SENDING", false, func(j *journal) {
			j.optsOut(0)
			j.two()
		}},
		{"last item skipped, all well", rested + " | *COMPLETED progress completed", "SUCCESS SKIPPED", sentOne, false, func(j *journal) {
			j.optsOut(1)
			j.rests()
			time.Sleep(2 * time.Hour)
		}},
		{"last item skipped, some ended badly", sending + " | PROCESSING item.failed progress | *COMPLETED_WITH_ERRORS progress completed-with-errors", "FAILED SKIPPED", "0/1 FAILED", false, func(j *journal) {
			j.optsOut(1)
			j.create(delayed(2, 2*time.Hour))
			refused(j)
			time.Sleep(2 * time.Hour)
		}},
	}
}

func waitTests() []rowTest {
	return []rowTest{
		{"no instance online", "QUEUED created | *WAITING_FOR_INSTANCE waiting-instance", todo, "", false, (*journal).parks},
		{"no instance online", rested + " | *WAITING_FOR_INSTANCE waiting-instance", half, sentOne, false, func(j *journal) {
			j.rests()
			j.drops(1, 2)
			time.Sleep(2 * time.Hour)
		}},
		{"no instance online", sending + " | *WAITING_FOR_INSTANCE waiting-instance", todo, dropped, false, func(j *journal) {
			j.two()
			j.read()
			j.drops(1, 2)
			j.answer(event.ErrNotConnected)
		}},
		{"an instance comes online, never ran", parked + " | *PROCESSING started | PROCESSING", given, onIt, false, func(j *journal) {
			j.parks()
			j.f.set(j.e, 2, event.Online)
		}},
		{"an instance comes online", rested + " | WAITING_FOR_INSTANCE waiting-instance | *PROCESSING resumed | PROCESSING", giving, sentTwo, false, func(j *journal) {
			j.rests()
			j.drops(1, 2)
			time.Sleep(2 * time.Hour)
			j.read()
			j.f.set(j.e, 2, event.Online)
		}},
		{"window ends with items pending", rested + " | *WAITING_FOR_WINDOW waiting-window", half, sentOne, false, (*journal).shuts},
		{"window ends with items pending", sending + " | *WAITING_FOR_WINDOW waiting-window", todo, dropped, false, func(j *journal) {
			j.daily(request(2), 0, 10*time.Second)
			time.Sleep(10 * time.Second)
			j.answer(event.ErrNotConnected)
		}},
		{"window ends with items pending", parked + " | *WAITING_FOR_WINDOW waiting-window", todo, "", false, func(j *journal) {
			j.drops(1, 2)
			j.daily(request(2), 0, time.Hour)
			time.Sleep(time.Hour)
		}},
	}
}

func pauseTests() []rowTest {
	return []rowTest{
		{"pause while working", sending + " | *PAUSE_REQUESTED pause-requested", given, onIt, false, (*journal).pauses},
		{"pause while working", parked + " | *PAUSE_REQUESTED pause-requested | PAUSED paused", todo, "", false, func(j *journal) {
			j.parks()
			j.pause()
		}},
		{"pause while at rest", "QUEUED created | *PAUSED pause-requested paused", todo, "", true, func(j *journal) {
			j.two()
			j.pause()
		}},
		{"pause while at rest", before + " | *PAUSED pause-requested paused", todo, "", false, func(j *journal) {
			j.daily(request(2), time.Hour, 2*time.Hour)
			j.pause()
		}},
		{"pause while at rest", between + " | *PAUSED pause-requested paused", half, sentOne, false, func(j *journal) {
			j.shuts()
			j.read()
			j.pause()
		}},
		{"safe point of a pause", rested + " | PAUSE_REQUESTED pause-requested | *PAUSED paused", half, sentOne, false, func(j *journal) {
			j.rests()
			j.pause()
		}},
		{"safe point of a pause", sending + " | PAUSE_REQUESTED pause-requested | *PAUSED paused", half, sentOne, false, func(j *journal) {
			j.pauses()
			j.answer(nil)
		}},
		{"safe point of a pause", sending + " | PAUSE_REQUESTED pause-requested | *PAUSED item.failed paused", "FAILED PENDING", "0/1 FAILED", false, func(j *journal) {
			j.pauses()
			j.answer(event.ErrSendRefused)
		}},
		{"safe point of a pause", sending + " | PAUSE_REQUESTED pause-requested | *PAUSED paused", todo, dropped, false, func(j *journal) {
			j.pauses()
			j.answer(event.ErrNotConnected)
		}},
	}
}

// TestEveryRowIsOneCommit drives the real engine through every row of the
// table, from every status that the row begins in.
func TestEveryRowIsOneCommit(t *testing.T) {
	tested := map[string]bool{}
	for _, tc := range rowTests() {
		from, to, events := tc.starred(t)
		tested[tc.row+" from "+string(from)] = true
		t.Run(tc.row+" from "+string(from), func(t *testing.T) {
			tc.fits(t, from, to, events)
			journalled(t, newFleet(1, 2), func(c *Config) { c.Enabled = !tc.idle }, func(j *journal) {
				tc.run(j)
				j.wants(strings.Replace(tc.commits, "*", "", 1))
				items, attempts := j.said()
				if tc.items != "" && (items != tc.items || attempts != tc.attempts) {
					t.Errorf("items %s, attempts %s; want %s and %s", items, attempts, tc.items, tc.attempts)
				}
				j.verify()
			})
		})
	}
	for _, r := range table.Rows() {
		for _, from := range r.From {
			if !tested[r.Name+" from "+string(from)] {
				t.Errorf("no test drives the row %q from %q", r.Name, from)
			}
		}
	}
}

// starred takes the row's commit out of the journal.
func (tc rowTest) starred(t *testing.T) (from, to event.BatchStatus, events []string) {
	t.Helper()
	for line := range strings.SplitSeq(tc.commits, " | ") {
		words := strings.Fields(line)
		if status, ok := strings.CutPrefix(words[0], "*"); ok {
			return from, event.BatchStatus(status), words[1:]
		}
		from = event.BatchStatus(words[0])
	}
	t.Fatalf("no commit of %q has a star", tc.row)
	return from, to, nil
}

// fits checks that the starred commit is what the row says.
func (tc rowTest) fits(t *testing.T, from, to event.BatchStatus, events []string) {
	t.Helper()
	at := slices.IndexFunc(table.Rows(), func(r table.Row) bool { return r.Name == tc.row })
	if at < 0 {
		t.Fatalf("the table has no row %q", tc.row)
	}
	r := table.Rows()[at]
	reported := slices.DeleteFunc(slices.Clone(events), func(e string) bool { return strings.HasPrefix(e, "item.") })
	want := strings.Fields(names(r.Events))
	if !slices.Contains(reported, "progress") {
		want = slices.DeleteFunc(want, func(e string) bool { return e == "progress" })
	}
	if !slices.Contains(r.From, from) || r.To != to || !slices.Equal(reported, want) {
		t.Errorf("from %s to %s reporting %s is not the row %+v", from, to, reported, r)
	}
}
