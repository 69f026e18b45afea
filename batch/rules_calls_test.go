package batch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch/table"
	"postern/event"
)

// stance is a batch in one of the statuses, however it came there.
type stance struct {
	status event.BatchStatus
	idle   bool // the worker is disabled
	reach  func(*journal)

	// What the call leads to: a status, "same" when it is taken without
	// effect, "refused" when it is not allowed.
	start, pause, stop event.BatchStatus
}

const (
	same    event.BatchStatus = "same"
	refused event.BatchStatus = "refused"
)

func stances() []stance {
	return []stance{
		{draft, true, func(j *journal) { j.draft(nil) }, queued, refused, stopped},
		{queued, true, (*journal).two, same, paused, stopped},
		{schedul, false, func(j *journal) { j.daily(request(2), time.Hour, 2*time.Hour) }, same, paused, stopped},
		{process, false, (*journal).two, same, pausing, stopping},
		{waitWin, false, (*journal).shuts, same, paused, stopped},
		{waitInst, false, (*journal).parks, same, pausing, stopping},
		{pausing, false, (*journal).pauses, refused, same, stopping},
		{paused, false, func(j *journal) {
			j.pauses()
			j.answer(nil)
		}, queued, same, stopped},
		{stopping, false, (*journal).halts, refused, refused, same},
		{stopped, false, func(j *journal) {
			j.halts()
			j.answer(nil)
		}, refused, refused, same},
		{interr, false, func(j *journal) {
			j.create(j.manual(request(2)))
			j.crashes()
		}, queued, refused, stopped},
		{complete, false, func(j *journal) {
			j.last()
			j.answer(nil)
		}, refused, refused, refused},
		{witherr, false, func(j *journal) {
			j.last()
			j.answer(event.ErrSendRefused)
		}, refused, refused, refused},
	}
}

func TestStartPauseAndStopFromEveryStatus(t *testing.T) {
	seen := map[event.BatchStatus]bool{}
	for _, s := range stances() {
		seen[s.status] = true
		for on, want := range map[table.Trigger]event.BatchStatus{table.OnStart: s.start, table.OnPause: s.pause, table.OnStop: s.stop} {
			t.Run(string(on)+" in "+string(s.status)+" is "+string(want), func(t *testing.T) {
				journalled(t, newFleet(1, 2), func(c *Config) { c.Enabled = !s.idle }, func(j *journal) {
					s.reach(j)
					j.calls(s.status, on, want)
				})
			})
		}
	}
	for _, status := range in(draft, queued, schedul, process, waitWin, pausing, paused, waitInst, stopping, stopped, interr, complete, witherr) {
		if !seen[status] {
			t.Errorf("no call was made in %s", status)
		}
	}
}

// calls makes a call in a status, twice: a repeated call is as good as one.
func (j *journal) calls(status event.BatchStatus, on table.Trigger, want event.BatchStatus) {
	j.Helper()
	call := map[table.Trigger]func(context.Context, uuid.UUID, uuid.UUID) (View, error){
		table.OnStart: j.e.StartBatch, table.OnPause: j.e.Pause, table.OnStop: j.e.StopBatch,
	}[on]
	j.status(status)
	before := j.read()
	v, err := call(j.Context(), owner, j.batch)
	added := strings.TrimPrefix(strings.TrimPrefix(j.read(), before), " | ")
	var refusal *table.TransitionError
	switch want {
	case refused:
		if !errors.As(err, &refusal) || refusal.Status != status || refusal.Trigger != on || !errors.Is(err, ErrInvalidTransition) {
			j.Errorf("answered %s, %v", v.Status, err)
		}
	case same:
		if err != nil || v.Status != status {
			j.Errorf("answered %s, %v", v.Status, err)
		}
	default:
		first, _, _ := strings.Cut(added, " ")
		if err != nil || v.Status != want || first != string(want) {
			j.Errorf("answered %s, %v after %s", v.Status, err, added)
		}
		if _, err := call(j.Context(), owner, j.batch); err != nil {
			j.Errorf("the same call again: %v", err)
		}
	}
	if (want == same || want == refused) && added != "" {
		j.Errorf("the call changed the batch: %s", added)
	}
}

func TestACallOnAnotherUsersBatchFindsNothing(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.two()
		before := j.read()
		stranger := uuid.New()
		for _, call := range []func(context.Context, uuid.UUID, uuid.UUID) (View, error){j.e.StartBatch, j.e.Pause, j.e.StopBatch} {
			if _, err := call(j.Context(), stranger, j.batch); !errors.Is(err, ErrNotFound) {
				t.Errorf("error %v", err)
			}
		}
		j.wants(before)
	})
}

func TestRestartKeepsABatchAtRest(t *testing.T) {
	for _, s := range stances() {
		if table.Busy(s.status) {
			continue
		}
		t.Run(string(s.status), func(t *testing.T) {
			enabled := !s.idle
			journalled(t, newFleet(1, 2), func(c *Config) { c.Enabled = enabled }, func(j *journal) {
				s.reach(j)
				v := j.status(s.status)
				before := j.read()
				enabled = false
				j.crashes()
				if after := j.status(s.status); !after.UpdatedAt.Equal(v.UpdatedAt.Time) || after.Counts.Pending != v.Counts.Pending {
					t.Errorf("before %+v, after %+v", v, after)
				}
				j.wants(before)
			})
		})
	}
}
