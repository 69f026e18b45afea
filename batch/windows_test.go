package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// scheduled returns a request with a window; zone is Berlin's.
func scheduled(n int, delay time.Duration, start, end time.Time, recurrence string) CreateRequest {
	req := delayed(n, delay)
	req.Schedule = fmt.Appendf(nil, `{"windowStartAt":%q,"windowEndAt":%q,"recurrence":%q,"timezone":"Europe/Berlin"}`,
		start.Format(time.RFC3339), end.Format(time.RFC3339), recurrence)
	return req
}

// eventTimes returns the times and next runs of the events of one kind, by Berlin's
// clock.
func (r *rig) eventTimes(kind event.Kind) (at, next []string) {
	r.Helper()
	zone := zoneNamed(r, "Europe/Berlin")
	for _, e := range r.entries() {
		if e.Kind != kind {
			continue
		}
		var reported struct {
			Data struct {
				Batch struct{ NextRunAt *time.Time }
			}
		}
		if err := json.Unmarshal(e.Body, &reported); err != nil {
			r.Fatal(err)
		}
		at = append(at, e.CreatedAt.In(zone).Format("01-02 15:04:05 MST"))
		if n := reported.Data.Batch.NextRunAt; n != nil {
			next = append(next, n.In(zone).Format("01-02 15:04:05 MST"))
		}
	}
	return at, next
}

// A bubble begins on 1 January 2000; Berlin's clock is set forward on 26 March.
func TestDailyBatchKeepsItsLocalTime(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		start := time.Date(2000, 3, 24, 2, 30, 0, 0, zoneNamed(t, "Europe/Berlin"))
		r.create(scheduled(8, 40*time.Minute, start, start.Add(time.Hour), "DAILY"))
		time.Sleep(time.Until(start.AddDate(0, 0, 5)))
		r.status(complete)
		opened, _ := r.eventTimes(event.BatchWindowStarted)
		ended, next := r.eventTimes(event.BatchWaitingWindow)
		// On the 26th the clock jumps from 2 to 3, and 30 minutes are left: one item.
		for _, tc := range []struct {
			what      string
			got, want []string
		}{
			{"window-started", opened, []string{"03-24 02:30:00 CET", "03-25 02:30:00 CET", "03-26 03:00:00 CEST", "03-27 02:30:00 CEST", "03-28 02:30:00 CEST"}},
			{"waiting-window", ended, []string{"03-24 03:30:00 CET", "03-25 03:30:00 CET", "03-26 03:30:00 CEST", "03-27 03:30:00 CEST"}},
			{"nextRunAt", next, []string{"03-25 02:30:00 CET", "03-26 03:00:00 CEST", "03-27 02:30:00 CEST", "03-28 02:30:00 CEST"}},
		} {
			if !slices.Equal(tc.got, tc.want) {
				t.Errorf("%s\n got %v\nwant %v", tc.what, tc.got, tc.want)
			}
		}
	})
}

func TestSendBeyondTheWindowWaitsForTheNext(t *testing.T) {
	for _, recurrence := range []string{"DAILY", "NONE"} {
		t.Run(recurrence, func(t *testing.T) {
			f := newFleet(1)
			f.send = func(context.Context, int64, event.Outgoing) error {
				time.Sleep(20 * time.Second)
				return nil
			}
			bubble(t, f, func(r *rig) {
				now := time.Now()
				r.create(scheduled(2, 23*time.Hour, now, now.Add(10*time.Second), recurrence))
				time.Sleep(21 * time.Second)
				if v := r.status(waitWin); v.Counts.Success != 1 {
					t.Errorf("%+v", v.Counts)
				}
			})
		})
	}
}

func TestWholeDayWindowKeepsDelays(t *testing.T) {
	bubble(t, newFleet(1), func(r *rig) {
		now := time.Now()
		r.create(scheduled(2, 10*time.Hour, now.Add(-18*time.Hour), now.Add(6*time.Hour), "DAILY"))
		time.Sleep(10*time.Hour - time.Second)
		if v := r.status(process); v.Counts.Success != 1 {
			t.Errorf("the second item went out within the delay: %+v", v.Counts)
		}
		time.Sleep(2 * time.Second)
		r.status(complete)
	})
}

// The program is down over a whole window: the next one counts, and REST says
// so although nothing was committed.
func TestAWindowMissedWhileTheProgramWasDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1), nil)
		start := time.Now().Add(time.Hour)
		r.create(scheduled(1, 0, start, start.Add(time.Hour), "DAILY"))
		r.stop()
		time.Sleep(5 * time.Hour)
		r.boot()
		if v := r.status(schedul); v.NextRunAt == nil || !v.NextRunAt.Equal(start.AddDate(0, 0, 1)) {
			t.Errorf("next run %v, want %v", v.NextRunAt, start.AddDate(0, 0, 1))
		}
		time.Sleep(time.Until(start.AddDate(0, 0, 1)))
		r.status(complete)
		r.reported("created scheduled window-started started progress completed")
		r.stop()
	})
}

func TestWindowMissedWhileDownIsSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1), nil)
		start := time.Now().Add(time.Hour)
		r.create(scheduled(1, 0, start, start.Add(time.Hour), "NONE"))
		r.stop()
		time.Sleep(5 * time.Hour)
		r.boot()
		if v := r.status(schedul); v.NextRunAt != nil {
			t.Errorf("next run %v of a window that is over", v.NextRunAt)
		}
		r.do(r.e.Pause)
		r.do(r.e.StartBatch)
		r.status(complete)
		r.reported("created scheduled pause-requested paused started progress completed")
		r.stop()
	})
}

// A start that does not come up because one record is wrong would take the
// whole gateway down.
func TestInvalidStoredScheduleIsDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1), nil)
		start := time.Now().Add(time.Hour)
		id := r.create(scheduled(1, 0, start, start.Add(time.Hour), "DAILY")).ID
		err := r.s.Update(t.Context(), func(tx *store.Tx) error {
			s, err := record.LoadSpec(tx, id)
			if err != nil {
				return err
			}
			s.Schedule = json.RawMessage(`{"windowStartAt":"2000-01-01T00:00:00Z","windowEndAt":"2000-01-01T01:00:00Z","recurrence":"DAILY","timezone":"Mars"}`)
			return store.PutJSON(tx, record.BucketSpec, id[:], s)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.e.Batch(owner, id); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("read: %v", err)
		}
		r.stop()
		r.boot()
		r.stop()
	})
}

func TestInvalidScheduleRefusesTheCreation(t *testing.T) {
	bubble(t, newFleet(1), func(r *rig) {
		now := time.Now()
		unknownZone := scheduled(1, 0, now, now.Add(time.Hour), "DAILY")
		unknownZone.Schedule = []byte(strings.Replace(string(unknownZone.Schedule), "Berlin", "Atlantis", 1))
		for rule, req := range map[string]CreateRequest{
			"unknown zone":              unknownZone,
			"NONE wholly in the past":   scheduled(1, 0, now.Add(-2*time.Hour), now.Add(-time.Hour), "NONE"),
			"NONE that ends now":        scheduled(1, 0, now.Add(-time.Hour), now, "NONE"),
			"DAILY over 24 hours":       scheduled(1, 0, now, now.Add(24*time.Hour+time.Second), "DAILY"),
			"an end at the start":       scheduled(1, 0, now, now, "NONE"),
			"an end before the start":   scheduled(1, 0, now, now.Add(-time.Second), "DAILY"),
			"another recurrence":        scheduled(1, 0, now, now.Add(time.Hour), "WEEKLY"),
			"a recurrence in lowercase": scheduled(1, 0, now, now.Add(time.Hour), "daily"),
		} {
			var refused *InvalidError
			if _, err := r.e.Create(t.Context(), owner, req); !errors.As(err, &refused) || refused.Code != InvalidSchedule {
				t.Errorf("%s: %v", rule, err)
			}
		}
		if l, err := r.e.Batches(owner, Filter{}, Page{}); err != nil || l.TotalRecords != 0 {
			t.Errorf("%d batches were left, %v", l.TotalRecords, err)
		}
	})
}

// A first window that lies in the past gives its times of day, and no more.
func TestOldDailyScheduleCountsFromToday(t *testing.T) {
	bubble(t, newFleet(1), func(r *rig) {
		now := time.Now()
		start := now.AddDate(-20, 0, 0).Add(time.Hour)
		v := r.create(scheduled(1, 0, start, start.Add(time.Hour), "DAILY"))
		if v.Status != schedul || !v.NextRunAt.Equal(now.Add(time.Hour)) {
			t.Errorf("%s, next run %v", v.Status, v.NextRunAt)
		}
		time.Sleep(time.Hour)
		r.status(complete)
	})
}

func zoneNamed(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}
