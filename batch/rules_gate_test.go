package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch/record"
	"postern/event"
)

// number returns the recipient at a position of request.
func number(position int) string { return fmt.Sprintf("49151%08d", position) }

// locked returns what a send ends in that the gate was open for and the network
// refused.
func locked() error {
	return &event.NotNowError{Code: "REACHOUT_TIMELOCKED", Text: "the account may not write to strangers"}
}

// locks keeps both instances from strangers for so long.
func (j *journal) locks(d time.Duration) {
	for _, id := range []int64{1, 2} {
		j.f.timelock(j.e, id, time.Now().Add(d))
	}
}

// asked is how often the gate was asked.
func (f *scripted) questions() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count()
}

func (f *scripted) count() (n int) {
	for _, times := range f.asked {
		n += times
	}
	return n
}

func TestKnownContactsAreSentDespiteRestriction(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		for _, position := range []int{1, 4} {
			j.f.known[number(position)] = true
		}
		j.locks(time.Hour)
		begin := time.Now()
		j.create(request(6))
		j.answer(nil)
		j.answer(nil)
		j.status(waitInst)
		if items, _ := j.said(); items != "PENDING SUCCESS PENDING PENDING SUCCESS PENDING" {
			t.Errorf("items %s", items)
		}
		time.Sleep(time.Hour - time.Since(begin))
		j.status(process)
		for range 4 {
			j.answer(nil)
		}
		j.status(complete)
	})
}

func TestRefusalOfTheAccountReturnsTheItem(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.create(request(3))
		j.read()
		j.locks(time.Hour)
		j.answer(locked())
		j.wants(sending + " | WAITING_FOR_INSTANCE waiting-instance")
		items, attempts := j.said()
		if items != "PENDING PENDING PENDING" || attempts != "0/1 INSTANCE_UNAVAILABLE" {
			t.Errorf("items %s, attempts %s", items, attempts)
		}
		l, err := j.e.Attempts(owner, j.batch, ItemFilter{}, Page{})
		if err != nil || l.Records[0].ErrorCode == nil || *l.Records[0].ErrorCode != "REACHOUT_TIMELOCKED" {
			t.Errorf("%+v, %v", l.Records, err)
		}
	})
}

func TestAnotherInstanceOfTheBatchTakesOver(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.create(request(3))
		first := j.flying()
		j.f.lock[first] = time.Now().Add(time.Hour)
		j.answer(locked())
		for range 3 {
			if now := j.flying(); now == first {
				t.Fatalf("instance %d goes on", now)
			}
			j.answer(nil)
		}
		j.status(complete)
	})
}

// flying returns the instance of the item in SENDING.
func (j *journal) flying() int64 {
	j.Helper()
	synctest.Wait()
	for _, i := range j.items() {
		if i.Status == record.ItemSending {
			return *i.SelectedInstanceID
		}
	}
	j.Fatal("nothing is on its way")
	return 0
}

// The gate may be behind its own refusal, or wrong: nothing is asked again and
// again.
func TestRefusalBehindOpenGateBacksOff(t *testing.T) {
	journalled(t, newFleet(1), nil, func(j *journal) {
		req := request(1)
		req.Instances = req.Instances[:1]
		j.create(req)
		for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			j.answer(locked())
			time.Sleep(pause - time.Nanosecond)
			j.status(waitInst)
			time.Sleep(time.Nanosecond)
			j.status(process)
		}
	})
}

// A message that did not leave after all makes room at the limits of its instance.
// That is no reason to send it again at once.
func TestFailedInstanceIsNotRetriedForFreedLimits(t *testing.T) {
	journalled(t, newFleet(1), nil, func(j *journal) {
		tries := 0
		j.f.send = func(context.Context, int64, event.Outgoing) error {
			if tries++; tries > 50 {
				return nil // that is enough
			}
			j.e.GateChanged(1, event.Online)
			return event.ErrNotConnected
		}
		req := request(1)
		req.Instances = req.Instances[:1]
		j.create(req)
		time.Sleep(7*time.Second - time.Nanosecond)
		if j.status(waitInst); tries != 3 { // at once, after 1 s, after 2 s more
			t.Errorf("tried %d times", tries)
		}
	})
}

func TestDelayFollowsANetworkRefusal(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.f.known[number(1)] = true
		j.create(delayed(2, 10*time.Second))
		j.read()
		j.locks(time.Hour)
		j.answer(locked())
		time.Sleep(10*time.Second - time.Nanosecond)
		if items, _ := j.said(); items != todo {
			t.Errorf("items %s", items)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if items, _ := j.said(); items != "PENDING SENDING" {
			t.Errorf("items %s", items)
		}
	})
}

func TestABatchOfStrangersIsGoneThroughOnce(t *testing.T) {
	const many = 5000
	f := newFleet(1, 2)
	journalled(t, f, nil, func(j *journal) {
		j.locks(24 * time.Hour)
		f.known[number(many-1)] = true
		j.create(request(many))
		j.answer(nil)
		j.status(waitInst)
		if n := f.questions(); n > 2*(many+10) {
			t.Errorf("asked %d times about %d by two instances", n, many)
		}
		before := f.questions()
		time.Sleep(23 * time.Hour)
		if n := f.questions() - before; n != 0 {
			t.Errorf("asked %d times in a day", n)
		}
	})
}

func TestNewlyKnownContactIsSent(t *testing.T) {
	f := newFleet(1, 2)
	journalled(t, f, nil, func(j *journal) {
		j.locks(time.Hour)
		j.create(request(300))
		j.status(waitInst)
		f.learns(j.e, 2, number(200))
		j.status(process)
		if items := j.items(); items[200].Status != record.ItemSending || *items[200].SelectedInstanceID != 2 {
			t.Errorf("item 200 is %+v", items[200])
		}
		f.learns(j.e, 1, number(3)) // while another is on its way
		j.answer(nil)
		j.answer(nil)
		j.status(waitInst)
		if items := j.items(); items[3].Status != record.ItemSuccess {
			t.Errorf("item 3 is %+v", items[3])
		}
	})
}

func TestLiftedRestrictionResumesInRecipientOrder(t *testing.T) {
	f := newFleet(1, 2)
	journalled(t, f, nil, func(j *journal) {
		f.known[number(2)] = true
		j.locks(time.Hour)
		j.create(request(5))
		j.answer(nil)
		j.status(waitInst)
		f.timelock(j.e, 1, time.Time{})
		for _, want := range []string{"SENDING PENDING SUCCESS", "SUCCESS SENDING SUCCESS PENDING", "SUCCESS SUCCESS SUCCESS SENDING"} {
			synctest.Wait()
			if items, _ := j.said(); !strings.HasPrefix(items, want) {
				t.Errorf("items %s, want %s", items, want)
			}
			j.answer(nil)
		}
		j.answer(nil)
		j.status(complete)
	})
}

func TestRestartKeepsItemsSentOutOfOrder(t *testing.T) {
	f := newFleet(1, 2)
	journalled(t, f, nil, func(j *journal) {
		for n := 1; n < 40; n += 2 {
			f.known[number(n)] = true
		}
		j.locks(time.Hour)
		j.create(request(40))
		for range 13 {
			j.answer(nil)
		}
		j.crashes()
		j.answer(nil)
		j.restart(0)
		for range 4 {
			j.answer(nil)
		}
		j.status(waitInst)
		j.locks(0)
		for range 20 {
			j.answer(nil)
		}
		v := j.status(witherr)
		if v.Counts.Success != 38 || v.Counts.Unknown != 2 { // one on its way at each end
			t.Errorf("%+v", v.Counts)
		}
	})
}

func TestBlockedInstanceIsNotAskedPerRecipient(t *testing.T) {
	f := newFleet(1, 2)
	journalled(t, f, nil, func(j *journal) {
		until := time.Now().Add(time.Hour)
		f.restrict(j.e, 1, until)
		f.restrict(j.e, 2, until)
		j.create(request(2000))
		j.status(waitInst)
		if n := f.questions(); n > 20 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestWhenRestrictedWaitSendsNothing(t *testing.T) {
	f := newFleet(1, 2)
	journalled(t, f, nil, func(j *journal) {
		f.known[number(1)] = true
		j.locks(time.Hour)
		req := request(2)
		req.Options.WhenRestricted = event.RestrictedWait
		j.create(req)
		j.status(waitInst)
		held := j.e.Held(j.view())
		if len(held) != 2 || held[0].Reason != "LOCKED" || held[0].StrangersOnly || held[1].InstanceName != "i2" {
			t.Errorf("held %+v", held)
		}
		time.Sleep(time.Hour)
		j.status(process)
		if held := j.e.Held(j.view()); len(held) != 0 {
			t.Errorf("held %+v", held)
		}
	})
}

func TestWhenRestrictedIsKnownOrWait(t *testing.T) {
	bubble(t, newFleet(1), func(r *rig) {
		for _, value := range []event.WhenRestricted{"send", "KNOWN", " wait"} {
			req := request(1)
			req.Options.WhenRestricted = value
			_, err := r.e.Create(t.Context(), owner, req)
			if bad, ok := errors.AsType[*InvalidError](err); !ok || bad.Code != InvalidOptions || !strings.Contains(bad.Messages[0], "options.whenRestricted") {
				t.Errorf("%q: %v", value, err)
			}
		}
	})
}

// The longest batch that the program takes: its worker does nothing else
// meanwhile, but a stop does not wait for it.
func TestStopInterruptsALongPass(t *testing.T) {
	f := newFleet(1, 2)
	slow := &slowGate{scripted: f}
	journalled(t, f, func(c *Config) { c.Fleet = slow }, func(j *journal) {
		j.locks(24 * time.Hour)
		begin := time.Now()
		j.create(request(20_000))
		time.Sleep(time.Second)
		j.stop()
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("it took %s", took)
		}
		j.boot()
		time.Sleep(time.Minute)
		if v := j.status(waitInst); v.Counts.Pending != 20_000 {
			t.Errorf("%+v", v.Counts)
		}
	})
}

// Strangers are kept back for an hour, and everyone for a minute: the one item that
// went back is not forgotten when the minute has ended, though all others are strangers.
func TestReturnedItemKeepsItsTimeAmongStrangers(t *testing.T) {
	f := newFleet(1)
	gate := &fullMinute{scripted: f}
	journalled(t, f, func(c *Config) { c.Fleet = gate }, func(j *journal) {
		f.known[number(1)] = true
		j.locks(time.Hour)
		req := request(3)
		req.Instances = req.Instances[:1]
		j.create(req)
		synctest.Wait()
		gate.room = time.Now().Add(time.Minute)
		j.answer(locked())
		time.Sleep(time.Minute - time.Nanosecond)
		j.status(waitInst)
		time.Sleep(time.Nanosecond)
		j.status(process)
		j.answer(nil)
		j.status(waitInst)
		if items, _ := j.said(); items != "PENDING SUCCESS PENDING" {
			t.Errorf("items %s", items)
		}
	})
}

// fullMinute has a limit behind the gate of the restrictions.
type fullMinute struct {
	*scripted
	room time.Time
}

func (f *fullMinute) Gate(q Question) Gate {
	if g := f.scripted.Gate(q); g.Shut(time.Now()) {
		return g
	}
	return Gate{Until: f.room}
}

// slowGate takes its time for each answer.
type slowGate struct{ *scripted }

func (f *slowGate) Gate(q Question) Gate {
	time.Sleep(time.Millisecond)
	return f.scripted.Gate(q)
}

// The second pass begins in the same look: nothing reports a wait that is none.
func TestNewlyKnownContactIsSentAtOnce(t *testing.T) {
	f := newFleet(1, 2)
	journalled(t, f, nil, func(j *journal) {
		f.known[number(5)] = true
		j.locks(time.Hour)
		j.create(request(8))
		j.read()
		f.learns(j.e, 1, number(2)) // the instances went by
		j.answer(nil)
		j.wants(sending + " | PROCESSING progress")
		if items, _ := j.said(); items != "PENDING PENDING SENDING PENDING PENDING SUCCESS PENDING PENDING" {
			t.Errorf("items %s", items)
		}
	})
}
