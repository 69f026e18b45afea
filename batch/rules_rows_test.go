package batch

import (
	"encoding/json"
	"time"

	"postern/event"
)

func startTests() []rowTest {
	return []rowTest{
		{"start inside the window", "QUEUED created | PAUSED pause-requested paused | *QUEUED", todo, "", true, func(j *journal) {
			j.two()
			j.pause()
			j.start()
		}},
		{"start inside the window", off + " | *QUEUED", todo, "", true, func(j *journal) {
			j.create(j.manual(request(2)))
			j.restart(0)
			j.start()
		}},
		{"start with the only window over", "QUEUED created | PAUSED pause-requested paused | *QUEUED", todo, "", true, func(j *journal) {
			j.once(time.Hour)
			j.pause()
			time.Sleep(2 * time.Hour)
			j.start()
		}},
		{"start with the only window over", off + " | *QUEUED", todo, "", true, func(j *journal) {
			j.once(time.Hour)
			j.restart(2 * time.Hour)
			j.start()
		}},
		{"start before the first window", before + " | PAUSED pause-requested paused | *SCHEDULED scheduled", todo, "", false, func(j *journal) {
			j.daily(request(2), time.Hour, 2*time.Hour)
			j.pause()
			j.start()
		}},
		{"start before the first window", off + " | *SCHEDULED scheduled", todo, "", true, func(j *journal) {
			j.daily(j.manual(request(2)), 0, time.Hour)
			j.restart(2 * time.Hour)
			j.start()
		}},
		{"start between windows", between + " | PAUSED pause-requested paused | *WAITING_FOR_WINDOW waiting-window", half, sentOne, false, func(j *journal) {
			j.shuts()
			j.read()
			j.pause()
			j.start()
		}},
		{"start between windows", offRan + " | *WAITING_FOR_WINDOW waiting-window", half, sentOne, false, func(j *journal) {
			j.daily(j.manual(delayed(2, 2*time.Hour)), 0, time.Hour)
			j.answer(nil)
			j.restart(2 * time.Hour)
			j.start()
		}},
	}
}

// once has a window that ends so long from now and never comes again, and is
// not recovered by itself.
func (j *journal) once(ends time.Duration) {
	req := j.manual(request(2))
	req.Schedule = window(0, ends, "NONE")
	j.create(req)
}

func stopTests() []rowTest {
	return []rowTest{
		{"stop while working", sending + " | *STOP_REQUESTED stop-requested", given, onIt, false, (*journal).halts},
		{"stop while working", sending + " | PAUSE_REQUESTED pause-requested | *STOP_REQUESTED stop-requested", given, onIt, false, func(j *journal) {
			j.pauses()
			j.halt()
		}},
		{"stop while working", parked + " | *STOP_REQUESTED stop-requested | STOPPED stopped", todo, "", false, func(j *journal) {
			j.parks()
			j.halt()
		}},
		{"safe point of a stop", sending + " | STOP_REQUESTED stop-requested | *STOPPED stopped", half, sentOne, false, func(j *journal) {
			j.halts()
			j.answer(nil)
		}},
		{"safe point of a stop", sending + " | STOP_REQUESTED stop-requested | *STOPPED stopped", todo, dropped, false, func(j *journal) {
			j.halts()
			j.answer(event.ErrNotConnected)
		}},
		{"stop while at rest", "QUEUED created | *STOPPED stop-requested stopped", todo, "", true, func(j *journal) {
			j.two()
			j.halt()
		}},
		{"stop while at rest", before + " | *STOPPED stop-requested stopped", todo, "", false, func(j *journal) {
			j.daily(request(2), time.Hour, 2*time.Hour)
			j.halt()
		}},
		{"stop while at rest", between + " | *STOPPED stop-requested stopped", half, sentOne, false, func(j *journal) {
			j.shuts()
			j.read()
			j.halt()
		}},
		{"stop while at rest", "QUEUED created | PAUSED pause-requested paused | *STOPPED stop-requested stopped", todo, "", true, func(j *journal) {
			j.two()
			j.pause()
			j.halt()
		}},
		{"stop while at rest", off + " | *STOPPED stop-requested stopped", todo, "", true, func(j *journal) {
			j.create(j.manual(request(2)))
			j.restart(0)
			j.halt()
		}},
	}
}

func shutdownTests() []rowTest {
	return []rowTest{
		{"graceful shutdown", "QUEUED created | *INTERRUPTED interrupted", todo, "", true, func(j *journal) {
			j.create(j.manual(request(2)))
			j.restart(0)
		}},
		{"graceful shutdown", rested + " | *INTERRUPTED interrupted", half, sentOne, false, func(j *journal) {
			j.create(j.manual(delayed(2, 2*time.Hour)))
			j.answer(nil)
			j.restart(0)
		}},
		{"graceful shutdown", sending + " | *INTERRUPTED item.unknown interrupted", doubt, inDoubt, false, func(j *journal) {
			j.create(j.manual(request(2)))
			j.read()
			j.restart(0)
		}},
		{"graceful shutdown", sending + " | *INTERRUPTED interrupted", todo, dropped, false, func(j *journal) {
			j.create(j.manual(request(2)))
			j.read()
			go func(stopping <-chan struct{}) {
				<-stopping
				j.answers <- event.ErrNotConnected
			}(j.e.stop)
			j.restart(0)
		}},
		{"graceful shutdown", parked + " | *INTERRUPTED interrupted", todo, "", false, func(j *journal) {
			j.drops(1, 2)
			j.create(j.manual(request(2)))
			j.read()
			j.restart(0)
		}},
		{"graceful shutdown of a pausing batch", sending + " | PAUSE_REQUESTED pause-requested | *PAUSED item.unknown paused", doubt, inDoubt, false, func(j *journal) {
			j.pauses()
			j.restart(0)
		}},
		{"graceful shutdown of a stopping batch", sending + " | STOP_REQUESTED stop-requested | *STOPPED item.unknown stopped", doubt, inDoubt, false, func(j *journal) {
			j.halts()
			j.restart(0)
		}},
	}
}

func lossTests() []rowTest {
	const lost = sending + " | INTERRUPTED item.unknown interrupted"
	return []rowTest{
		{"lease expired", sending + " | *INTERRUPTED item.unknown interrupted", doubt, inDoubt, false, func(j *journal) {
			j.deaf()
			j.create(j.manual(request(2)))
			j.stuck()
		}},
		{"lease expired while pausing", sending + " | PAUSE_REQUESTED pause-requested | *PAUSED item.unknown paused", doubt, inDoubt, false, func(j *journal) {
			j.deaf()
			j.pauses()
			j.stuck()
		}},
		{"lease expired while stopping", sending + " | STOP_REQUESTED stop-requested | *STOPPED item.unknown stopped", doubt, inDoubt, false, func(j *journal) {
			j.deaf()
			j.halts()
			j.stuck()
		}},
		{"processing found at start", sending + " | *INTERRUPTED item.unknown interrupted", doubt, inDoubt, false, func(j *journal) {
			j.create(j.manual(request(2)))
			j.crashes()
		}},
		{"processing found at start", rested + " | *INTERRUPTED interrupted", half, sentOne, false, func(j *journal) {
			j.create(j.manual(delayed(2, 2*time.Hour)))
			j.answer(nil)
			j.crashes()
		}},
		{"pausing found at start", sending + " | PAUSE_REQUESTED pause-requested | *PAUSED item.unknown paused", doubt, inDoubt, false, func(j *journal) {
			j.pauses()
			j.crashes()
		}},
		{"stopping found at start", sending + " | STOP_REQUESTED stop-requested | *STOPPED item.unknown stopped", doubt, inDoubt, false, func(j *journal) {
			j.halts()
			j.crashes()
		}},
		{"recovery inside the window", lost + " | *QUEUED recovered | PROCESSING resumed | PROCESSING", doubts, inDoubt + ", 1/1 SENDING", false, func(j *journal) {
			j.two()
			j.crashes()
		}},
		{"recovery inside the window", lost + " | *QUEUED recovered | PROCESSING resumed | PROCESSING", doubts, inDoubt + ", 1/1 SENDING", false, func(j *journal) {
			j.deaf()
			j.two()
			j.stuck()
		}},
		{"recovery before the first window", off + " | *SCHEDULED recovered", todo, "", true, func(j *journal) {
			j.daily(request(2), 0, time.Hour)
			j.restart(2 * time.Hour)
		}},
		{"recovery with the window shut", offRan + " | *WAITING_FOR_WINDOW recovered", half, sentOne, false, func(j *journal) {
			j.daily(delayed(2, 2*time.Hour), 0, time.Hour)
			j.answer(nil)
			j.restart(2 * time.Hour)
		}},
	}
}

// verify checks the values that an event owes to those before it, in all
// events of the batch.
func (j *journal) verify() {
	j.Helper()
	var interrupted, recovered, reason bool
	var last event.Kind
	for _, e := range j.entries() {
		if e.Kind == event.BatchItemFailed || e.Kind == event.BatchItemUnknown {
			continue
		}
		interrupted = interrupted || e.Kind == event.BatchInterrupted
		recovered = recovered || e.Kind == event.BatchRecovered
		switch e.Kind {
		case event.BatchStopRequested, event.BatchStopped:
			reason = reason && last != event.BatchRecovered
		default:
			reason = e.Kind == event.BatchInterrupted || e.Kind == event.BatchRecovered
		}
		last = e.Kind
		var body struct {
			Data      struct{ Batch map[string]any }
			Timestamp string
		}
		if err := json.Unmarshal(e.Body, &body); err != nil {
			j.Fatal(err)
		}
		b := body.Data.Batch
		for key, want := range map[string]bool{
			"lastInterruptedAt": interrupted, "lastRecoveredAt": recovered, "interruptionReason": reason,
			"nextRunAt": nextRun(e.Kind, b["nextRunAt"]),
		} {
			if got := b[key] != nil; got != want {
				j.Errorf("%s: %s is %v", e.Kind, key, b[key])
			}
		}
		if b["updatedAt"] != body.Timestamp {
			j.Errorf("%s: updated at %v, reported at %s", e.Kind, b["updatedAt"], body.Timestamp)
		}
		counts := b["counts"].(map[string]any)
		sum := counts["success"].(float64) + counts["failed"].(float64) + counts["skipped"].(float64) + counts["unknown"].(float64)
		total := counts["total"].(float64)
		if counts["processed"] != sum || sum+counts["pending"].(float64)+counts["sending"].(float64) != total || b["progress"] != float64(int(100*sum/total)) {
			j.Errorf("%s: counts %v with progress %v", e.Kind, counts, b["progress"])
		}
	}
}

// nextRun reports whether an event has a nextRunAt; got is what it has. A batch
// that is created or recovered may have to wait for its window or not.
func nextRun(kind event.Kind, got any) bool {
	switch kind {
	case event.BatchScheduled, event.BatchWaitingWindow:
		return true
	case event.BatchCreated, event.BatchRecovered:
		return got != nil
	default:
		return false
	}
}
