package receivers

import (
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

const hook = "https://hooks.example.org/in"

// clinic is a Health with a clock that the test moves.
type clinic struct {
	*Health
	now time.Time
}

func newClinic() *clinic {
	c := &clinic{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	c.Health = NewHealth(func() time.Time { return c.now })
	return c
}

func (c *clinic) attempt(status int) {
	a := Attempt{At: c.now, Took: 10 * time.Millisecond, URL: hook, Status: status, Accepted: status/100 == 2}
	if !a.Accepted {
		a.Error = "receiver answered"
	}
	c.Note("1:webhook", a)
}

// TestFailingLastsUntilAnAttemptIsAccepted, or for 24 hours without an attempt while nothing waits.
func TestFailingLastsUntilAnAttemptIsAccepted(t *testing.T) {
	c := newClinic()
	is := func(want State) Standing {
		t.Helper()
		st := c.Standing("1:webhook", hook, false)
		if st.State != want {
			t.Errorf("%+v, want %s", st, want)
		}
		return st
	}
	is(Idle)
	c.attempt(200)
	c.attempt(503)
	c.attempt(404)
	if st := is(OK); st.Failures != 2 {
		t.Errorf("%d failures", st.Failures)
	}
	c.now = c.now.Add(time.Minute)
	c.attempt(0)
	if st := is(Failing); !st.Since.Equal(c.now.Add(10*time.Millisecond-time.Minute)) || st.Status != 0 || st.Success.IsZero() {
		t.Errorf("failing: %+v", st)
	}
	c.now = c.now.Add(24*time.Hour + time.Second)
	is(Idle)
	if st := c.Standing("1:webhook", hook, true); st.State != Failing {
		t.Errorf("while something waits: %+v", st)
	}
	c.attempt(200)
	if st := is(OK); st.Failures != 0 || !st.Since.Equal(c.now.Add(10*time.Millisecond)) {
		t.Errorf("accepted: %+v", st)
	}
	if st := c.Standing("1:webhook", hook+"2", false); st.State != Idle {
		t.Errorf("at another URL: %+v", st)
	}
}

// TestLostEventsAreReportedForAnHour, also after a change of the URL.
func TestLostEventsAreReportedForAnHour(t *testing.T) {
	c := newClinic()
	c.Lose("1:webhook", 2)
	began := c.now
	c.now = c.now.Add(30 * time.Minute)
	c.attempt(200)
	c.Lose("1:webhook", 1)
	if st := c.Standing("1:webhook", hook, false); st.Lost != 3 || !st.LostSince.Equal(began) {
		t.Errorf("%+v", st)
	}
	c.Reset("1:webhook")
	c.now = c.now.Add(time.Hour - time.Second)
	if st := c.Standing("1:webhook", hook+"2", false); st.Lost != 3 {
		t.Errorf("after a reset: %+v", st)
	}
	c.now = c.now.Add(time.Second)
	if st := c.Standing("1:webhook", hook, false); st.Lost != 0 {
		t.Errorf("an hour after the last: %+v", st)
	}
	c.Lose("1:webhook", 1)
	if st := c.Standing("1:webhook", hook, false); st.Lost != 1 || !st.LostSince.Equal(c.now) {
		t.Errorf("lost again: %+v", st)
	}
}

// TestDayForgetsWhatIsOlder than 24 hours.
func TestDayForgetsWhatIsOlder(t *testing.T) {
	c := newClinic()
	c.attempt(200)
	c.attempt(500)
	c.now = c.now.Add(23 * time.Hour)
	c.attempt(200)
	d, by := c.Day("1:webhook", hook), c.Hours("1:webhook", hook)
	if d.Delivered != 2 || d.Failed != 1 || d.Average != 10*time.Millisecond || len(by) != 24 || by[23].Delivered != 1 || by[0].Failed != 1 {
		t.Errorf("%+v %+v", d, by)
	}
	c.now = c.now.Add(time.Hour)
	if d = c.Day("1:webhook", hook); d.Delivered != 1 || d.Failed != 0 || !d.Since.Equal(c.now.Add(-24*time.Hour)) {
		t.Errorf("an hour later: %+v", d)
	}
}

// TestIDsNameTheirLanes and no other text is one.
func TestIDsNameTheirLanes(t *testing.T) {
	for _, lane := range []delivery.Lane{
		{Flow: delivery.FlowInstance, Instance: 7, Target: event.TargetWebhook},
		{Flow: delivery.FlowInstance, Instance: 7, Target: event.TargetEndpoint, Endpoint: "a.b-c_d"},
		delivery.GlobalLane,
	} {
		if id := Of(lane); !slices.Contains(id.lanes(), lane) {
			t.Errorf("%s leads to %+v", id, id.lanes())
		}
	}
	for _, text := range []ID{"", "x", "7", "7:", "7:webhook:x", "07:webhook", "-1:webhook", "0:webhook", "7:endpoint:", "global:", "+7:webhook"} {
		if _, ok := text.parts(); ok {
			t.Errorf("%q is an id", text)
		}
	}
}

// TestPauseEndsAtItsTime, and with its destination.
func TestPauseEndsAtItsTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(store.Options{Path: path, Buckets: Buckets(), NoSync: true, MinFree: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		status := delivery.Ready
		var changed int
		p, err := OpenPauses(s, func([]delivery.Lane) { changed++ }, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		p.Start()
		defer func() { _ = p.Stop(t.Context()) }()
		lane := delivery.Lane{Flow: delivery.FlowInstance, Instance: 7, Target: event.TargetWebhook}
		resolve := p.Resolve(func(delivery.Lane) (event.Destination, delivery.Status) { return event.Destination{URL: hook}, status })
		want := func(what string, is delivery.Status) {
			t.Helper()
			if _, now := resolve(lane); now != is {
				t.Errorf("%s: %v, want %v", what, now, is)
			}
		}
		if _, err := p.Pause(t.Context(), Of(lane), time.Hour); err != nil {
			t.Fatal(err)
		}
		want("paused", delivery.Paused)
		time.Sleep(30 * time.Minute)
		if _, err := p.Pause(t.Context(), Of(lane), time.Hour); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Minute)
		want("with a new end", delivery.Paused)
		again, err := OpenPauses(s, func([]delivery.Lane) {}, slog.New(slog.DiscardHandler))
		if err != nil || again.Until(Of(lane)).IsZero() {
			t.Errorf("opened again: %v %v", again.Until(Of(lane)), err)
		}
		time.Sleep(2 * time.Minute)
		want("after its end", delivery.Ready)
		if changed != 3 {
			t.Errorf("its lanes changed %d times", changed)
		}
		if _, err := p.Pause(t.Context(), Of(lane), time.Hour); err != nil {
			t.Fatal(err)
		}
		status = delivery.Gone
		p.Check(resolve, []delivery.Lane{lane})
		if !p.Until(Of(lane)).IsZero() {
			t.Error("the pause outlived its destination")
		}
	})
}
