package later

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/instance/pace"
)

func TestSentAtItsTimeAndStored(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		began := time.Now()
		key := r.in(id, 3*time.Hour, func(d *Send) { d.Attributes = event.Attributes(`{"order":5}`) })
		time.Sleep(3*time.Hour - time.Second)
		r.wantQuiet()
		time.Sleep(2 * time.Second)
		all := r.told()
		if len(all) != 1 || all[0].Metadata.ScheduledID != key.String() || string(all[0].ExternalAttributes) != `{"order":5}` || all[0].RequestID != "req-1" {
			t.Errorf("%+v", all)
		}
		if got := r.arrivals(); len(got) != 1 || got[0].at.Sub(began) > 3*time.Hour+10*time.Millisecond || got[0].at.Sub(began) < 3*time.Hour {
			t.Errorf("%+v", got)
		}
		r.wantEmpty()
	})
}

func TestRestartKeepsTheSend(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, time.Hour)
		r.restart()
		time.Sleep(time.Hour + time.Minute)
		r.wantSent(key)
		r.restart()
		time.Sleep(time.Hour)
		if got := r.arrivals(); len(got) != 1 {
			t.Errorf("%+v", got)
		}
		r.wantEmpty()
	})
}

func TestOfflineInstanceSendsWhenItConnects(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", false)
		key := r.in(id, time.Hour)
		time.Sleep(time.Hour + 9*time.Minute)
		r.wantQuiet()
		r.connect(id)
		synctest.Wait()
		r.wantSent(key)
		r.wantEmpty()
	})
}

func TestSendsToAChatKeepTheirOrder(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.onSend = func(ctx context.Context, _ event.Outgoing) error {
			wait(ctx, time.Second)
			return nil
		}
		id := r.instance("a", true)
		var want []string
		for i := range 8 {
			name := fmt.Sprintf("M%d", i)
			want = append(want, name)
			r.in(id, time.Hour, func(d *Send) { d.Out.ID = name })
		}
		time.Sleep(time.Hour + time.Minute)
		var got []string
		for _, a := range r.arrivals() {
			got = append(got, a.id)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%v", got)
		}
	})
}

func TestSlowSendDoesNotDelayOtherChats(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		r.in(id, time.Hour, func(d *Send) { d.Out.Delay = 5 * time.Minute })
		r.in(id, time.Hour+time.Second, to("2@s.whatsapp.net"))
		time.Sleep(time.Hour + 2*time.Second)
		if got := r.arrivals(); len(got) != 1 || got[0].to != "2@s.whatsapp.net" {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Hour)
	})
}

func TestOfflineInstanceDoesNotDelayOthers(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		offline, online := r.instance("a", false), r.instance("b", true)
		for i := range 50 {
			r.in(offline, time.Hour, to(fmt.Sprintf("%d@s.whatsapp.net", i)))
		}
		key := r.in(online, time.Hour+time.Second)
		time.Sleep(time.Hour + 2*time.Second)
		r.wantSent(key)
	})
}

func TestLimitOfTheInstanceIsWaitedFor(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		if _, err := r.sup.SetLimits(bg, id, pace.Limits{PerMinute: new(int64(2))}); err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			r.in(id, time.Hour, to(fmt.Sprintf("%d@s.whatsapp.net", i)))
		}
		time.Sleep(time.Hour + 10*time.Second)
		if got := r.arrivals(); len(got) != 2 {
			t.Errorf("%d left in the first minute", len(got))
		}
		time.Sleep(3 * time.Minute)
		if got := r.arrivals(); len(got) != 6 {
			t.Errorf("%d left", len(got))
		}
		r.wantEmpty()
	})
}

func TestLimitThatLastsEndsTooLate(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		if _, err := r.sup.SetLimits(bg, id, pace.Limits{PerHour: new(int64(1))}); err != nil {
			t.Fatal(err)
		}
		r.in(id, time.Hour, to("2@s.whatsapp.net"))
		key := r.in(id, time.Hour+time.Second)
		time.Sleep(time.Hour + 5*time.Second)
		r.told()
		time.Sleep(10 * time.Minute)
		r.wantFailed(key, event.TooLate)
	})
}

func TestClockThatIsSetForward(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, 3*time.Hour)
		time.Sleep(time.Minute)
		r.skew.Store(int64(3 * time.Hour))
		time.Sleep(time.Minute + time.Second)
		r.wantSent(key)
	})
}

func TestClockThatIsSetBack(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, 3*time.Hour)
		r.skew.Store(-int64(time.Hour))
		time.Sleep(3*time.Hour + 59*time.Minute)
		r.wantQuiet()
		time.Sleep(2 * time.Minute)
		r.wantSent(key)
	})
}

// A clock that is ahead by days would end every send as too late.
func TestUntrustedClockEndsNothing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		key := r.in(id, 3*time.Hour)
		r.stop()
		r.skew.Store(int64(1000 * time.Hour))
		r.boot()
		time.Sleep(time.Hour)
		r.wantQuiet()
		r.skew.Store(0)
		r.s.ring() // as the alarm does, within a minute
		time.Sleep(2*time.Hour + 2*time.Minute)
		r.wantSent(key)
	})
}
