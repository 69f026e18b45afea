package batch

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postern/batch/record"
	"postern/event"
	"postern/store"
)

func TestItemReturnsAfterEachInstanceFailed(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.two()
		j.answer(event.ErrNotConnected)
		j.answer(event.ErrNotConnected) // both are still said to be online
		j.wants(sending + " | PROCESSING | WAITING_FOR_INSTANCE waiting-instance")
		items, attempts := j.said()
		if items != todo || attempts != dropped+", 0/2 INSTANCE_UNAVAILABLE" {
			t.Errorf("items %s, attempts %s", items, attempts)
		}
		l, err := j.e.Attempts(owner, j.batch, ItemFilter{}, Page{})
		if err != nil || l.Records[0].InstanceID == l.Records[1].InstanceID {
			t.Errorf("attempts %+v, %v", l.Records, err)
		}
	})
}

func TestMessageWithoutDiskSpaceIsRetried(t *testing.T) {
	journalled(t, newFleet(1), nil, func(j *journal) {
		j.two()
		j.answer(fmt.Errorf("%w: %w", event.ErrSendRefused, store.ErrDiskFull))
		j.status(waitInst)
		time.Sleep(dropRetry)
		j.status(process)
		j.answer(nil)
		if items, _ := j.said(); !strings.Contains(items, "SUCCESS") {
			t.Errorf("items %s", items)
		}
	})
}

func TestStatusChangeWakesAWaitingBatch(t *testing.T) {
	for _, tc := range []struct {
		rule string
		park func(*journal)
	}{
		{"never ran", (*journal).parks},
		{"parked at an item", func(j *journal) {
			j.two()
			j.read()
			j.drops(1, 2)
			j.answer(event.ErrNotConnected)
		}},
		{"refused although online", func(j *journal) {
			j.two()
			j.answer(event.ErrNotConnected)
			j.answer(event.ErrNotConnected)
			j.drops(1, 2) // only now it is reported
		}},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			journalled(t, newFleet(1, 2), nil, func(j *journal) {
				tc.park(j)
				j.status(waitInst)
				begin := time.Now()
				j.f.set(j.e, 2, event.Online)
				j.status(process)
				if took := time.Since(begin); took != 0 {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// returning brings an instance back while a worker, which saw it offline,
// is about to wait for it.
type returning struct {
	*scripted
	looks  atomic.Int32
	engine func() *Engine
}

func (f *returning) Instance(id int64) (string, event.State, bool) {
	name, state, ok := f.scripted.Instance(id)
	if f.looks.Add(1) == 4 { // twice for creation and claim, once for the reported states, then before the rest
		f.set(f.engine(), id, event.Online)
	}
	return name, state, ok
}

func TestReturnDuringParkingIsNotMissed(t *testing.T) {
	f := &returning{scripted: newFleet(1)}
	f.states[1] = event.Offline
	journalled(t, f.scripted, func(c *Config) { c.Fleet = f }, func(j *journal) {
		f.engine = func() *Engine { return j.e }
		req := request(2)
		req.Instances = []record.InstanceRef{{ID: 1, Name: "i1"}}
		j.create(req)
		j.wants(parked + " | PROCESSING started | PROCESSING")
		if f.looks.Load() < 4 {
			t.Errorf("only %d looks", f.looks.Load())
		}
	})
}

// asking counts how often a batch looks at its instances.
type asking struct {
	*scripted
	asked atomic.Int32
}

func (f *asking) Instance(id int64) (string, event.State, bool) {
	f.asked.Add(1)
	return f.scripted.Instance(id)
}

func TestAWaitingBatchDoesNotPoll(t *testing.T) {
	f := &asking{scripted: newFleet(1, 2)}
	journalled(t, f.scripted, func(c *Config) { c.Fleet = f }, func(j *journal) {
		f.bench[2] = time.Now().Add(48 * time.Hour)
		j.drops(1)
		j.two()
		j.status(waitInst)
		before := f.asked.Load()
		time.Sleep(24 * time.Hour)
		if n := f.asked.Load() - before; n != 0 {
			t.Errorf("it looked %d times in a day", n)
		}
	})
}

// An instance whose state is wrong would hold a batch for good: it is tried
// again, less and less often.
func TestRefusingInstanceBacksOff(t *testing.T) {
	f := newFleet(1)
	var tries []time.Duration
	journalled(t, f, nil, func(j *journal) {
		begin := time.Now()
		f.send = func(context.Context, int64, event.Outgoing) error {
			tries = append(tries, time.Since(begin))
			return event.ErrNotConnected
		}
		j.two()
		time.Sleep(10 * time.Minute)
		j.status(waitInst)
	})
	want := []time.Duration{0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363, 423, 483, 543}
	if len(tries) != len(want) {
		t.Fatalf("tries at %v", tries)
	}
	for i, at := range want {
		if tries[i] != at*time.Second {
			t.Errorf("try %d at %s, want %s", i, tries[i], at*time.Second)
		}
	}
}

func TestInstanceBackoffResetsAfterSuccess(t *testing.T) {
	for _, tc := range []struct {
		rule string
		then func(*journal)
	}{
		{"sent", func(j *journal) { j.answer(nil) }},
		{"changed", func(j *journal) {
			j.drops(1)
			j.answer(event.ErrNotConnected)
			j.f.set(j.e, 1, event.Online)
		}},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			journalled(t, newFleet(1), nil, func(j *journal) {
				j.create(request(3))
				for _, pause := range []time.Duration{time.Second, 2 * time.Second} {
					j.answer(event.ErrNotConnected)
					time.Sleep(pause)
				}
				j.status(process)
				tc.then(j)
				j.answer(event.ErrNotConnected)
				time.Sleep(time.Second - time.Nanosecond)
				j.status(waitInst)
				time.Sleep(time.Nanosecond)
				j.status(process)
			})
		})
	}
}

func TestARestrictionBenchesItsInstanceForEveryBatch(t *testing.T) {
	f := newFleet(1, 2)
	f.send = func(context.Context, int64, event.Outgoing) error { return nil }
	bubble(t, f, func(r *rig) {
		f.restrict(r.e, 1, time.Now().Add(time.Hour))
		for range 2 {
			r.create(request(20))
			v := r.status(complete)
			if v.Instances[0].SelectedCount != 0 || v.Instances[1].SuccessCount != 20 {
				t.Errorf("shares %+v", v.Instances)
			}
			f.sent = map[string]int{}
		}
	})
}

func TestBatchWaitsForTheFirstBenchedInstance(t *testing.T) {
	for _, tc := range []struct {
		rule       string
		bench, add time.Duration // of instance 1, from the start and when half of it has ended
		other      time.Duration // of instance 2
		want       time.Duration
	}{
		{"until the time it names", 90 * time.Minute, 0, 24 * time.Hour, 90 * time.Minute},
		{"of two, the first", 24 * time.Hour, 0, 90*time.Minute + time.Millisecond, 90*time.Minute + time.Millisecond},
		{"made longer", time.Hour, time.Hour, 24 * time.Hour, 2 * time.Hour},
		{"lifted early", time.Hour, -time.Hour, 24 * time.Hour, 30 * time.Minute},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			journalled(t, newFleet(1, 2), nil, func(j *journal) {
				begin := time.Now()
				j.f.restrict(j.e, 1, begin.Add(tc.bench))
				j.f.restrict(j.e, 2, begin.Add(tc.other))
				j.two()
				j.status(waitInst)
				time.Sleep(min(tc.bench, tc.want) / 2)
				if tc.add != 0 {
					time.Sleep(tc.bench/2 - time.Since(begin))
					j.f.restrict(j.e, 1, begin.Add(tc.bench+tc.add))
				}
				if left := tc.want - time.Since(begin); left > 0 {
					time.Sleep(left - time.Nanosecond)
					j.wants(parked)
					time.Sleep(time.Nanosecond)
				}
				j.wants(parked + " | PROCESSING started | PROCESSING")
			})
		})
	}
}

func TestABenchOutlivesARestart(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		begin := time.Now()
		j.f.restrict(j.e, 1, begin.Add(time.Hour))
		j.f.restrict(j.e, 2, begin.Add(time.Hour))
		j.two()
		j.read()
		j.crashes()
		j.wants(parked)
		time.Sleep(time.Hour - time.Since(begin))
		j.wants(parked + " | PROCESSING started | PROCESSING")
	})
}

func TestRestrictionParksAfterTheItemInFlight(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.two()
		j.read()
		until := time.Now().Add(10 * time.Second)
		j.f.restrict(j.e, 1, until)
		j.f.restrict(j.e, 2, until)
		j.answer(nil)
		j.wants(rested + " | WAITING_FOR_INSTANCE waiting-instance")
		time.Sleep(10 * time.Second)
		j.wants(rested + " | WAITING_FOR_INSTANCE waiting-instance | PROCESSING resumed | PROCESSING")
	})
}

func TestOfflineBenchedInstanceSetsNoAlarm(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.drops(1, 2)
		j.f.restrict(j.e, 1, time.Now().Add(time.Hour))
		j.two()
		time.Sleep(2 * time.Hour)
		j.wants(parked)
		j.f.set(j.e, 1, event.Online)
		j.wants(parked + " | PROCESSING started | PROCESSING")
	})
}
