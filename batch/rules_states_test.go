package batch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/event"
)

func TestClaimBeforeInstancesAreOnline(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.rests()
		j.stop()
		j.f.states[1], j.f.states[2] = event.Disconnected, event.Disconnected
		j.boot()
		j.read()
		j.f.set(j.e, 1, event.Online)
		j.wants(offRan + " | QUEUED recovered | WAITING_FOR_INSTANCE waiting-instance | PROCESSING resumed | PROCESSING")
	})
}

func TestEachStartOfProcessingIsReportedOnce(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.create(delayed(4, time.Hour))
		first := time.Now()
		j.answer(nil)
		j.pause()
		j.read()
		j.start() // resumed
		j.answer(nil)
		j.drops(1, 2)
		time.Sleep(time.Hour)
		j.read()
		j.f.set(j.e, 1, event.Online) // resumed
		j.answer(nil)
		j.restart(0) // resumed
		j.answer(nil)
		if v := j.status(complete); !v.StartedAt.Equal(first) {
			t.Errorf("started at %s, want %s", v.StartedAt, first)
		}
		entries, announced := 0, 0
		was := ""
		for line := range strings.SplitSeq(j.read(), " | ") {
			words := strings.Fields(line)
			if words[0] == string(process) && was != words[0] {
				entries++
			}
			for _, w := range words[1:] {
				if w == "started" || w == "resumed" {
					announced++
				}
			}
			was = words[0]
		}
		if entries != 4 || announced != 4 {
			t.Errorf("%d entries, %d announcements:\n%s", entries, announced, j.read())
		}
		for _, kind := range []event.Kind{event.BatchStarted, event.BatchResumed, event.BatchProgress} {
			if at := payloads(j.rig)[kind]["batch"].(map[string]any)["startedAt"]; at != event.At(first).String() {
				t.Errorf("%s tells startedAt %v", kind, at)
			}
		}
	})
}

func TestFinalBatchNeverChanges(t *testing.T) {
	for _, end := range []struct {
		status event.BatchStatus
		items  string
		reach  func(*journal)
	}{
		{stopped, half, func(j *journal) { j.halts(); j.answer(nil) }},
		{complete, "SUCCESS", func(j *journal) { j.last(); j.answer(nil) }},
		{witherr, "FAILED", func(j *journal) { j.last(); j.answer(event.ErrSendRefused) }},
	} {
		t.Run(string(end.status), func(t *testing.T) {
			journalled(t, newFleet(1, 2), nil, func(j *journal) {
				end.reach(j)
				j.status(end.status)
				before := j.read()
				j.f.set(j.e, 1, event.Online)
				j.e.wake(j.batch)
				time.Sleep(48 * time.Hour)
				j.crashes()
				j.restart(time.Hour)
				j.wants(before)
				if items, _ := j.said(); items != end.items {
					t.Errorf("items %s", items)
				}
			})
		})
	}
}

// The event of the commit tells that nothing is on its way any more.
func TestUnsentItemIsPendingWhenInterrupted(t *testing.T) {
	for _, tc := range []struct {
		rule string
		kind event.Kind
		ask  func(*journal)
	}{
		{"pauses", event.BatchPaused, (*journal).pause},
		{"stops", event.BatchStopped, (*journal).halt},
		{"parks without an instance", event.BatchWaitingInstance, func(j *journal) { j.drops(1, 2) }},
		{"parks outside of the window", event.BatchWaitingWindow, func(*journal) { time.Sleep(10 * time.Second) }},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			journalled(t, newFleet(1, 2), nil, func(j *journal) {
				j.daily(request(2), 0, 10*time.Second)
				j.read()
				tc.ask(j)
				j.answer(fmt.Errorf("send: %w", event.ErrNotConnected))
				j.toldCounts(tc.kind, 2)
			})
		})
	}
	t.Run("interrupts", func(t *testing.T) {
		journalled(t, newFleet(1, 2), nil, func(j *journal) {
			j.create(j.manual(request(2)))
			j.read()
			go func(stopping <-chan struct{}) {
				<-stopping
				j.answers <- event.ErrNotConnected
			}(j.e.stop)
			j.restart(0)
			j.toldCounts(event.BatchInterrupted, 2)
		})
	})
}

func (j *journal) toldCounts(kind event.Kind, pending int) {
	j.Helper()
	b, _ := payloads(j.rig)[kind]["batch"].(map[string]any)
	counts, _ := b["counts"].(map[string]any)
	if counts["pending"] != float64(pending) || counts["sending"] != 0.0 {
		j.Errorf("%s tells counts %v", kind, counts)
	}
}

func TestSendBeyondShutdownTimeoutIsUnknown(t *testing.T) {
	adapt := func(c *Config) { c.ShutdownTimeout = 3 * time.Second }
	journalled(t, newFleet(1, 2), adapt, func(j *journal) {
		j.create(j.manual(request(2)))
		j.read()
		begin := time.Now()
		j.restart(0)
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("the shutdown took %s", took)
		}
		j.wants(sending + " | INTERRUPTED item.unknown interrupted")
		if v := j.status(interr); *v.InterruptionReason != "GRACEFUL_SHUTDOWN" {
			t.Errorf("reason %s", *v.InterruptionReason)
		}
	})
}

func TestSendWithinShutdownTimeoutIsCertain(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.create(j.manual(request(2)))
		j.read()
		go func(stopping <-chan struct{}) {
			<-stopping
			time.Sleep(14 * time.Second)
			j.answers <- nil
		}(j.e.stop)
		j.restart(0)
		j.wants(rested + " | INTERRUPTED interrupted")
	})
}

func TestProgressIsReportedWhenThePercentageChanges(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.create(request(250))
		j.read()
		var reported []int
		for n := range 10 {
			if n == 4 {
				j.pause()
			}
			j.answer(nil) // the fifth ends while the batch is pausing
			if n == 4 {
				j.start()
			}
		}
		for _, e := range j.entries() {
			var body struct {
				Data struct{ Batch event.BatchView }
			}
			if e.Kind != event.BatchProgress {
				continue
			}
			if err := json.Unmarshal(e.Body, &body); err != nil {
				t.Fatal(err)
			}
			reported = append(reported, body.Data.Batch.Counts.Processed)
			if body.Data.Batch.Status != process || body.Data.Batch.CurrentItem == nil {
				t.Errorf("progress of %+v", body.Data.Batch)
			}
		}
		// The percent changed with the 3rd, the 5th, the 8th and the 10th.
		if want := []int{3, 6, 8, 10}; !slices.Equal(reported, want) {
			t.Errorf("progress after %v items, want %v", reported, want)
		}
	})
}

func TestClaimCompletesAfterUnknownLastItem(t *testing.T) {
	for _, instances := range []string{"online", "offline"} {
		t.Run("with instances "+instances, func(t *testing.T) {
			journalled(t, newFleet(1, 2), nil, func(j *journal) {
				j.last()
				j.read()
				j.crash()
				if instances == "offline" {
					j.f.states[1], j.f.states[2] = event.Offline, event.Offline
				}
				j.boot()
				j.wants(sending + " | INTERRUPTED item.unknown interrupted | QUEUED recovered | PROCESSING resumed | COMPLETED_WITH_ERRORS progress completed-with-errors")
			})
		})
	}
}

func TestBatchAfterItsOnlyWindowWaits(t *testing.T) {
	spent := func(j *journal) {
		req := delayed(2, 2*time.Hour)
		req.Schedule = window(0, time.Hour, "NONE")
		j.create(req)
		j.answer(nil)
		time.Sleep(1000 * time.Hour)
		if v := j.status(waitWin); v.NextRunAt != nil {
			j.Errorf("next run at %s", v.NextRunAt)
		}
		j.start() // taken, and without effect
		j.wants(between)
	}
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		spent(j)
		j.pause()
		j.start()
		j.answer(nil)
		j.wants(between + " | PAUSED pause-requested paused | QUEUED | PROCESSING resumed | PROCESSING | COMPLETED progress completed")
	})
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		spent(j)
		j.halt()
		j.wants(between + " | STOPPED stop-requested stopped")
	})
}
