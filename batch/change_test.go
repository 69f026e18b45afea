package batch

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
)

func changeTests() []rowTest {
	rename := func(j *journal) { j.change(Changes{Name: new("autumn")}) }
	return []rowTest{
		{"append to a draft", "DRAFT | *DRAFT", todo + " PENDING", "", true, func(j *journal) {
			j.draft(nil)
			j.append("4915170000000")
		}},
		{"change a draft", "DRAFT | *DRAFT", todo, "", true, func(j *journal) {
			j.draft(window(time.Hour, 2*time.Hour, "NONE"))
			j.change(Changes{Schedule: window(2*time.Hour, 3*time.Hour, "NONE")})
		}},
		{"move the window of a scheduled batch", before + " | *SCHEDULED scheduled", todo, "", true, func(j *journal) {
			j.daily(request(2), time.Hour, 2*time.Hour)
			j.change(Changes{Schedule: window(2*time.Hour, 3*time.Hour, "NONE")})
		}},
		{"change a scheduled batch", before + " | *SCHEDULED", todo, "", true, func(j *journal) {
			j.daily(request(2), time.Hour, 2*time.Hour)
			rename(j)
		}},
		{"change a scheduled batch", before + " | *SCHEDULED | QUEUED window-started", todo, "", true, func(j *journal) {
			j.daily(request(2), time.Hour, 2*time.Hour)
			j.change(Changes{Schedule: json.RawMessage("null")})
		}},
		{"change a paused batch", "QUEUED created | PAUSED pause-requested paused | *PAUSED", todo, "", true, func(j *journal) {
			j.two()
			j.pause()
			rename(j)
		}},
	}
}

func (j *journal) change(c Changes) {
	j.Helper()
	j.do(func(ctx context.Context, owner, id uuid.UUID) (View, error) { return j.e.Change(ctx, owner, id, c) })
}

func (j *journal) append(recipients ...string) {
	j.Helper()
	j.do(func(ctx context.Context, owner, id uuid.UUID) (View, error) {
		return j.e.Append(ctx, owner, id, AppendRequest{List: mailing.Numbers(recipients...)})
	})
}

func TestChangesAreMadeAllOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		req := request(2)
		req.Schedule = window(time.Hour, 2*time.Hour, "NONE")
		was := r.create(req)
		all := Changes{
			Name: new("autumn"), Delay: &event.BatchDelay{MinMs: 1, MaxMs: 2},
			Instances: []record.InstanceRef{{ID: 2, Name: "i2"}, {ID: 2, Name: "i2"}}, Schedule: window(3*time.Hour, 4*time.Hour, "DAILY"),
		}
		for name, c := range map[string]struct {
			code string
			bad  func(*Changes)
		}{
			"name":      {InvalidName, func(c *Changes) { c.Name = new("") }},
			"delay":     {InvalidOptions, func(c *Changes) { c.Delay = &event.BatchDelay{MinMs: 2, MaxMs: 1} }},
			"instances": {InvalidInstances, func(c *Changes) { c.Instances = []record.InstanceRef{} }},
			"schedule":  {InvalidSchedule, func(c *Changes) { c.Schedule = window(-2*time.Hour, -time.Hour, "NONE") }},
		} {
			bad := all
			c.bad(&bad)
			_, err := r.e.Change(t.Context(), owner, was.ID, bad)
			if refused, ok := errors.AsType[*InvalidError](err); !ok || refused.Code != c.code {
				t.Errorf("%s: %v", name, err)
			}
			if now := r.view(); now.Name != was.Name || len(now.Instances) != 2 || now.UpdatedAt != was.UpdatedAt {
				t.Errorf("%s: a refused change left %+v", name, now)
			}
		}
		if _, err := r.e.Change(t.Context(), uuid.New(), was.ID, all); !errors.Is(err, ErrNotFound) {
			t.Errorf("a stranger's change: %v", err)
		}
		if _, err := r.e.Change(t.Context(), owner, was.ID, all); err != nil {
			t.Fatal(err)
		}
		r.stop()
		r.boot()
		now := r.view()
		if now.Name != "autumn" || now.Options.Delay.MaxMs != 2 || len(now.Instances) != 1 || now.Instances[0].ID != 2 ||
			string(now.Schedule) != string(all.Schedule) || time.Until(now.NextRunAt.Time) > 3*time.Hour || time.Until(now.NextRunAt.Time) < 2*time.Hour {
			t.Errorf("%+v", now)
		}
		for filter, want := range map[*Filter]int{{InstanceName: "i1"}: 0, {InstanceName: "i2"}: 1, {Name: "autumn"}: 1, {Name: "spring"}: 0} {
			if l, err := r.e.Batches(owner, *filter, Page{Limit: 10}); err != nil || len(l.Records) != want {
				t.Errorf("%+v finds %d: %v", filter, len(l.Records), err)
			}
		}
		time.Sleep(3*time.Hour + time.Second)
		r.status(event.BatchIsCompleted)
		r.reported("created scheduled scheduled window-started started progress progress completed")
	})
}

func TestOnlyBatchesThatWaitTakeChanges(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.two()
		j.read()
		_, err := j.e.Change(j.Context(), owner, j.batch, Changes{Name: new("autumn")})
		if refused, ok := errors.AsType[*table.TransitionError](err); !ok || refused.Status != event.BatchProcessing {
			t.Errorf("%v", err)
		}
		if j.view().Name != "spring" {
			t.Error("it was changed")
		}
	})
}

// An instance that a batch does not use any more has sent some of its items.
func TestRemovedInstancesKeepNameAndShare(t *testing.T) {
	journalled(t, newFleet(1, 2, 3), nil, func(j *journal) {
		req := request(3)
		req.Instances = []record.InstanceRef{{ID: 1, Name: "i1"}}
		j.create(req)
		j.read()
		j.pause()
		j.answer(nil)
		j.change(Changes{Instances: []record.InstanceRef{{ID: 3, Name: "i3"}, {ID: 2, Name: "i2"}}})
		j.start()
		j.answer(nil)
		j.read()
		j.pause()
		j.answer(nil)
		v := j.view()
		if len(v.Instances) != 2 || v.Instances[0].SuccessCount+v.Instances[1].SuccessCount != 2 {
			t.Errorf("%+v", v.Instances)
		}
		if item := j.items()[0]; item.SelectedInstanceName == nil || *item.SelectedInstanceName != "i1" {
			t.Errorf("%+v", item)
		}
		narrow, err := j.e.Shown(owner, func(id int64) bool { return id != 1 }).Items(j.batch, ItemFilter{}, Page{Limit: 10})
		if err != nil || narrow.Records[0].SelectedInstanceName != nil || narrow.Records[1].SelectedInstanceName == nil {
			t.Errorf("what may be seen without the removed instance: %+v, %v", narrow.Records, err)
		}
		if _, err := j.e.Shown(owner, func(id int64) bool { return id == 1 }).Batch(j.batch); !errors.Is(err, ErrNotFound) {
			t.Errorf("the batch by a removed instance: %v", err)
		}
		j.change(Changes{Instances: []record.InstanceRef{{ID: 1, Name: "i1"}}})
		if v := j.view(); v.Instances[0].SuccessCount != 1 || v.Instances[0].SelectedCount != 1 {
			t.Errorf("an instance that comes back: %+v", v.Instances)
		}
		if l, err := j.e.Attempts(owner, j.batch, ItemFilter{}, Page{Limit: 10}); err != nil || l.TotalRecords != 3 {
			t.Errorf("%d attempts, %v", l.TotalRecords, err)
		}
	})
}

func TestAPausedBatchGetsAWindowAgain(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		req := delayed(2, 2*time.Hour)
		req.Schedule = window(0, time.Hour, "NONE")
		j.create(req)
		j.answer(nil)
		time.Sleep(time.Hour) // the window has ended
		j.read()
		j.pause()
		j.change(Changes{Name: new("autumn")})
		j.start() // without the window
		j.read()
		j.pause()
		j.answer(nil)
		if j.change(Changes{Schedule: window(time.Hour, 2*time.Hour, "NONE")}); j.view().Status != event.BatchIsPaused {
			t.Errorf("%+v", j.view())
		}
	})
}

// TestRewrittenScheduleIsNotReported sends the same windows in another order of fields and at another offset. The text is kept.
func TestRewrittenScheduleIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		req := request(1)
		req.Schedule = json.RawMessage(`{"windowStartAt":"2090-03-01T09:00:00Z","windowEndAt":"2090-03-01T10:00:00Z","recurrence":"NONE"}`)
		r.create(req)
		change := func(raw string) {
			t.Helper()
			v, err := r.e.Change(t.Context(), owner, r.batch, Changes{Schedule: json.RawMessage(raw)})
			if err != nil || string(v.Schedule) != raw {
				t.Fatalf("%s, %v", v.Schedule, err)
			}
		}
		change(`{"recurrence":"NONE","windowStartAt":"2090-03-01T10:00:00+01:00","windowEndAt":"2090-03-01T11:00:00+01:00"}`)
		r.reported("created scheduled")
		change(`{"recurrence":"NONE","windowStartAt":"2090-03-01T10:00:00+01:00","windowEndAt":"2090-03-01T11:00:01+01:00"}`)
		r.reported("created scheduled scheduled")
	})
}
