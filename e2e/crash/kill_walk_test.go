package crash

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"postern/delivery/outbox"
	"postern/event"
)

// leg is what one event says about its batch: where the batch may have been
// before, and where it is then. It is written down from what users are
// promised, not from package batch.
type leg struct {
	from []event.BatchStatus
	to   []event.BatchStatus
}

func legs() map[event.Kind]leg {
	const unborn event.BatchStatus = ""
	set := func(s ...event.BatchStatus) []event.BatchStatus { return s }
	working := set(event.BatchProcessing)
	sending := set(event.BatchProcessing, event.BatchPauseAsked, event.BatchStopAsked)
	unfinished := set(event.BatchQueued, event.BatchIsScheduled, event.BatchProcessing, event.BatchWaitingForWindow, event.BatchPauseAsked,
		event.BatchIsPaused, event.BatchWaitingForInstance, event.BatchIsInterrupted)
	return map[event.Kind]leg{
		event.BatchCreated:             {set(unborn), set(event.BatchQueued)},
		event.BatchScheduled:           {set(event.BatchQueued, event.BatchIsPaused, event.BatchIsInterrupted), set(event.BatchIsScheduled)},
		event.BatchStarted:             {set(event.BatchQueued, event.BatchWaitingForInstance), working},
		event.BatchResumed:             {set(event.BatchQueued, event.BatchWaitingForInstance), working},
		event.BatchWindowStarted:       {set(event.BatchIsScheduled, event.BatchWaitingForWindow), set(event.BatchQueued)},
		event.BatchWaitingWindow:       {set(event.BatchProcessing, event.BatchWaitingForInstance, event.BatchIsPaused, event.BatchIsInterrupted), set(event.BatchWaitingForWindow)},
		event.BatchWaitingInstance:     {set(event.BatchQueued, event.BatchProcessing), set(event.BatchWaitingForInstance)},
		event.BatchProgress:            {working, working},
		event.BatchItemFailed:          {sending, nil},
		event.BatchItemUnknown:         {sending, nil},
		event.BatchPauseRequested:      {set(event.BatchQueued, event.BatchIsScheduled, event.BatchWaitingForWindow, event.BatchProcessing, event.BatchWaitingForInstance), set(event.BatchPauseAsked)},
		event.BatchPaused:              {set(event.BatchPauseAsked), set(event.BatchIsPaused)},
		event.BatchStopRequested:       {unfinished, set(event.BatchStopAsked)},
		event.BatchStopped:             {set(event.BatchStopAsked), set(event.BatchIsStopped)},
		event.BatchInterrupted:         {set(event.BatchQueued, event.BatchProcessing, event.BatchWaitingForInstance), set(event.BatchIsInterrupted)},
		event.BatchRecovered:           {set(event.BatchIsInterrupted), set(event.BatchQueued, event.BatchIsScheduled, event.BatchWaitingForWindow)},
		event.BatchCompleted:           {working, set(event.BatchIsCompleted)},
		event.BatchCompletedWithErrors: {working, set(event.BatchIsWithErrors)},
	}
}

// walk follows the events of one batch and returns the statuses that it can be
// in after them, or what is wrong with them.
func walk(entries []outbox.Entry) (at []event.BatchStatus, err error) {
	at = []event.BatchStatus{""}
	percent, started := 0, false
	for _, e := range entries {
		l, ok := legs()[e.Kind]
		if !ok {
			return nil, fmt.Errorf("%s is no event of a batch", e.Kind)
		}
		// A start of a batch that rests tells nothing.
		if slices.Contains(at, event.BatchIsPaused) || slices.Contains(at, event.BatchIsInterrupted) {
			at = append(slices.Clone(at), event.BatchQueued)
		}
		before := slices.DeleteFunc(slices.Clone(at), func(s event.BatchStatus) bool { return !slices.Contains(l.from, s) })
		if len(before) == 0 {
			return nil, fmt.Errorf("%s while %v", e.Kind, at)
		}
		if at = before; l.to != nil {
			at = l.to
		}
		var body struct {
			Data struct{ Batch struct{ Progress int } }
		}
		if err := json.Unmarshal(e.Body, &body); err != nil {
			return nil, err
		}
		progress := body.Data.Batch.Progress
		switch e.Kind {
		case event.BatchStarted, event.BatchResumed:
			if started != (e.Kind == event.BatchResumed) {
				return nil, fmt.Errorf("%s, and it had run before: %v", e.Kind, started)
			}
			started = true
		case event.BatchProgress:
			if progress <= percent {
				return nil, fmt.Errorf("progress %d after %d", progress, percent)
			}
			percent = progress
		case event.BatchCompleted, event.BatchCompletedWithErrors:
			if percent != 100 {
				return nil, fmt.Errorf("%s at %d %%", e.Kind, percent)
			}
		default:
		}
	}
	return at, nil
}

func TestUnknownTransitionIsFound(t *testing.T) {
	entry := func(kind event.Kind, progress int) outbox.Entry {
		return outbox.Entry{Kind: kind, Body: fmt.Appendf(nil, `{"data":{"batch":{"progress":%d}}}`, progress)}
	}
	created, started, resumed := entry(event.BatchCreated, 0), entry(event.BatchStarted, 0), entry(event.BatchResumed, 0)
	half, whole, done := entry(event.BatchProgress, 50), entry(event.BatchProgress, 100), entry(event.BatchCompleted, 100)
	interrupted, recovered := entry(event.BatchInterrupted, 50), entry(event.BatchRecovered, 50)
	for name, c := range map[string]struct {
		ok      bool
		entries []outbox.Entry
	}{
		"whole":                  {true, []outbox.Entry{created, started, half, whole, done}},
		"with a crash":           {true, []outbox.Entry{created, started, half, interrupted, recovered, resumed, whole, done}},
		"started by hand":        {true, []outbox.Entry{created, started, half, interrupted, resumed, whole, done}},
		"completed is missing":   {true, []outbox.Entry{created, started, half, whole}}, // its end is PROCESSING, which verify compares
		"created is missing":     {false, []outbox.Entry{started, half, whole, done}},
		"progress is missing":    {false, []outbox.Entry{created, started, half, done}},
		"progress twice":         {false, []outbox.Entry{created, started, half, half, whole, done}},
		"recovered is missing":   {false, []outbox.Entry{created, started, interrupted, half, whole, done}},
		"interrupted is missing": {false, []outbox.Entry{created, started, half, recovered, resumed, whole, done}},
		"started twice":          {false, []outbox.Entry{created, started, interrupted, recovered, started, whole, done}},
		"after the end":          {false, []outbox.Entry{created, started, whole, done, interrupted}},
	} {
		if at, err := walk(c.entries); (err == nil) != c.ok {
			t.Errorf("%s: %v, %v", name, at, err)
		}
	}
}
