package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
)

func TestInstancesThatWereLoggedInReconnectAtStart(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		online, never := r.linked("online", event.Online).ID, r.create("never").ID
		gone := r.linked("gone", event.Online).ID
		r.net.pair(gone, false)
		broken := r.linked("broken", event.Disconnected).ID
		out, replaced := r.linked("out", event.LoggedOut).ID, r.linked("replaced", event.StreamReplaced).ID
		outdated := r.linked("outdated", event.ClientOutdated).ID
		r.net.refuse = map[int64]error{broken: errors.New("damaged")}
		r.reboot()
		r.wantStatus(online, event.Disconnected) // true before anything is dialled
		r.sup.Start()
		time.Sleep(time.Second)
		for id, want := range map[int64]event.State{
			online: event.Online, never: event.Offline, gone: event.SessionMissing, broken: event.SessionMissing,
			out: event.LoggedOut, replaced: event.StreamReplaced, outdated: event.Online,
		} {
			r.wantStatus(id, want)
		}
	})
}

func TestOpenCorrectsConnectionStates(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		want := map[int64]event.State{}
		for _, s := range event.States() {
			expect := s
			switch s {
			case event.Online, event.Connecting, event.Reconnecting, event.KeepAliveTimeout, event.Pairing, event.QRCodeState, event.PairingCodeState:
				expect = event.Disconnected
			default:
			}
			want[r.linked("linked-"+string(s), s).ID] = expect
			if expect != s {
				expect = event.Offline
			}
			rec := r.create("new-" + string(s))
			if s != event.Offline {
				r.report(rec.ID, event.Fact{Status: s})
			}
			want[rec.ID] = expect
		}
		r.seen()
		r.reboot()
		for id, s := range want {
			if got := r.record(id); got.Status != s {
				t.Errorf("%s: %s, want %s", got.Name, got.Status, s)
			}
		}
		if s := r.seen(); len(s) != 0 {
			t.Errorf("OnStatus was called while Open ran: %v", s)
		}
	})
}

func TestInstancesShareTheCommitsOfAStart(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	const fleet = 100
	for i := range fleet {
		r.linked(fmt.Sprint("shop-", i), event.Online)
	}
	commits := 0
	r.commit = func(int, time.Duration) { commits++ }
	r.reboot()
	r.commit = nil
	for _, rec := range r.reg.List() {
		if rec.Status != event.Disconnected {
			t.Errorf("%s is %s", rec.Name, rec.Status)
		}
	}
	if commits > fleet/4 {
		t.Errorf("a start with %d instances took %d commits", fleet, commits)
	}
}

func TestStartupConcurrencyBoundsReconnects(t *testing.T) {
	inBubble(t, func(c *SupervisorConfig) { c.StartupConcurrency = 3 }, func(r *rig) {
		for i := range 10 {
			r.linked(fmt.Sprint("i", i), event.Disconnected)
		}
		r.net.onDial(func(_ context.Context, s *session) error {
			time.Sleep(time.Second)
			s.login()
			return nil
		})
		began := time.Now()
		r.sup.Start()
		time.Sleep(4500 * time.Millisecond)
		for _, rec := range r.reg.List() {
			r.wantStatus(rec.ID, event.Online)
		}
		if r.net.most != 3 {
			t.Errorf("%d at a time after %v", r.net.most, time.Since(began))
		}
	})
}

// TestDialsOfAllInstancesAreSpread loses all connections at once, twice. The second time a call asks for one of the
// instances, which does not wait for the others.
func TestDialsOfAllInstancesAreSpread(t *testing.T) {
	const fleet = 200
	inBubble(t, nil, func(r *rig) {
		for i := range fleet {
			r.linked(fmt.Sprint("i", i), event.Disconnected)
		}
		r.sup.Start()
		time.Sleep(2 * time.Minute)
		lose := func() {
			for _, rec := range r.reg.List() {
				r.net.session(rec.ID).forgetDials()
				r.net.session(rec.ID).lose()
			}
		}
		began := time.Now()
		lose()
		time.Sleep(2 * time.Minute)
		var dials []time.Time
		for _, rec := range r.reg.List() {
			r.wantStatus(rec.ID, event.Online)
			dials = append(dials, r.net.session(rec.ID).dialled()...)
		}
		slices.SortFunc(dials, time.Time.Compare)
		if len(dials) != fleet || dials[fleet-1].Sub(began) > 15*time.Second {
			t.Errorf("%d dials, the last after %v", len(dials), dials[len(dials)-1].Sub(began))
		}
		for i := range len(dials) - 41 {
			if within := dials[i+41].Sub(dials[i]); within < time.Second {
				t.Fatalf("42 dials within %v", within)
			}
		}

		lose()
		time.Sleep(3 * time.Second) // more than the pause
		for _, rec := range r.reg.List() {
			if r.net.session(rec.ID).Online() {
				continue
			}
			asked := time.Now()
			if c, err := r.sup.Connect(bg, rec.ID, ""); err != nil || c.Record.Status != event.Online || time.Since(asked) > 0 {
				t.Errorf("a call took %v: %+v, %v", time.Since(asked), c, err)
			}
			return
		}
		t.Error("none waits")
	})
}

func TestWithoutAutoReconnectNothingDials(t *testing.T) {
	inBubble(t, func(c *SupervisorConfig) { c.AutoReconnect = false }, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		r.sup.Start()
		time.Sleep(time.Hour)
		if r.net.session(id) != nil {
			t.Fatal("dialled at start")
		}
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		r.net.session(id).lose()
		time.Sleep(time.Hour)
		r.wantStatus(id, event.Disconnected)
		if n := len(r.net.session(id).dialled()); n != 1 {
			t.Errorf("dialled %d times", n)
		}
	})
}

func TestBackoffDoublesWithJitter(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		r.net.onDial(func(context.Context, *session) error { return errors.New("no route") })
		s := r.net.session(id)
		s.forgetDials()
		lost := time.Now()
		s.lose()
		time.Sleep(10 * time.Minute)
		r.wantStatus(id, event.Reconnecting)
		if got := r.record(id).LastError; got != "no route" {
			t.Errorf("lastError %q", got)
		}
		before, exact := lost, 0
		for i, want := range []time.Duration{2, 4, 8, 16, 32, 60, 60, 60} {
			want *= time.Second
			got := s.dialled()[i].Sub(before)
			before = s.dialled()[i]
			if got > want || got < want/2 {
				t.Errorf("pause %d is %v, want %v less up to a half", i, got, want)
			}
			if got == want {
				exact++
			}
		}
		if exact == 8 {
			t.Error("no jitter")
		}
		r.net.onDial(nil)
		time.Sleep(2 * time.Minute)
		r.wantStatus(id, event.Online)
		s.forgetDials()
		lost = time.Now()
		s.lose()
		time.Sleep(time.Minute)
		if got := s.dialled()[0].Sub(lost); got > 2*time.Second {
			t.Errorf("after a good time online the first pause is %v", got)
		}
	})
}

// TestShortConnectionsAreDialledLessOften: each login succeeds and is lost at once, as on a full disk.
func TestShortConnectionsAreDialledLessOften(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		r.net.onDial(func(_ context.Context, s *session) error {
			s.login()
			s.lose()
			return nil
		})
		r.sup.Start()
		time.Sleep(30 * time.Minute)
		s := r.net.session(id)
		if n := len(s.dialled()); n < 30 || n > 66 { // of pauses of half a minute to a minute, and six shorter ones
			t.Errorf("%d dials in half an hour", n)
		}
		r.net.onDial(nil)
		time.Sleep(3 * time.Minute)
		r.wantStatus(id, event.Online)
		s.forgetDials()
		lost := time.Now()
		s.lose()
		time.Sleep(time.Minute)
		if got := s.dialled()[0].Sub(lost); got > 2*time.Second {
			t.Errorf("after a connection that lasted the first pause is %v", got)
		}
	})
}

func TestLossDuringDialRedials(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		var first atomic.Bool
		first.Store(true)
		r.net.onDial(func(_ context.Context, s *session) error {
			if first.Swap(false) {
				s.lose() // accepted and closed at once
			} else {
				s.login()
			}
			return nil
		})
		r.sup.Start()
		time.Sleep(time.Minute)
		r.wantStatus(id, event.Online)
	})
}

func TestOnlyLossesAndStreamErrorsAreDialledAgain(t *testing.T) {
	for state, c := range map[event.State]struct {
		fact event.Fact
		want event.State
	}{
		"lost":         {connection(event.TypeDisconnected, event.ConnectionClose, event.Reconnecting), event.Online},
		"stream error": {connection(event.TypeStreamError, event.ConnectionClose, event.ConnectionError), event.Online},
		"after pair":   {connection(event.TypeManualReconnect, event.ConnectionConnecting, event.Connecting), event.Online},
		"refused":      {connection(event.TypeConnectFailure, event.ConnectionClose, event.ConnectionError), event.ConnectionError},
		"cat":          {connection(event.TypeCATRefreshError, event.ConnectionClose, event.ConnectionError), event.ConnectionError},
		"replaced":     {connection(event.TypeStreamReplaced, event.ConnectionReplaced, event.StreamReplaced), event.StreamReplaced},
		"outdated":     {event.Fact{Status: event.ClientOutdated}, event.ClientOutdated},
		"banned":       {event.Fact{Status: event.TemporaryBan}, event.TemporaryBan},
		"unlinked":     {event.Fact{Status: event.LoggedOut, Unlink: true}, event.LoggedOut},
	} {
		t.Run(string(state), func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				id := r.linked("a", event.Disconnected).ID
				if _, err := r.sup.Connect(bg, id, ""); err != nil {
					t.Fatal(err)
				}
				s := r.net.session(id)
				s.be(!c.fact.Unlink, false)
				if err := s.tell(c.fact); err != nil {
					t.Fatal(err)
				}
				if c.fact.Status != event.Connecting { // that one is dialled at once
					r.wantStatus(id, c.fact.Status)
				}
				time.Sleep(time.Hour)
				r.wantStatus(id, c.want)
			})
		})
	}
}

func TestStopEndsDialsAndWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble fails when a goroutine stays
		r := newRig(t, nil, func(c *SupervisorConfig) {
			c.KeepLoggedOut = time.Hour
			c.DropLoggedOut = func(context.Context, time.Time) (oldest time.Time, err error) { return oldest, nil }
		})
		dialling, waiting := r.linked("dialling", event.Disconnected).ID, r.linked("waiting", event.Disconnected).ID
		r.net.onDial(func(ctx context.Context, s *session) error {
			if s.id == waiting {
				return errors.New("no route")
			}
			<-ctx.Done()
			return ctx.Err()
		})
		unpaired := r.create("unpaired").ID
		r.sup.Start()
		answered := make(chan error, 1)
		go func() {
			_, err := r.sup.Connect(bg, unpaired, "")
			answered <- err
		}()
		time.Sleep(3 * time.Second)
		began := time.Now()
		if err := r.sup.Stop(bg); err != nil || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if err := <-answered; !errors.Is(err, event.ErrNotConnected) || time.Since(began) != 0 {
			t.Errorf("the waiter got %v after %v", err, time.Since(began))
		}
		if _, err := r.sup.Connect(bg, dialling, ""); !errors.Is(err, event.ErrNotConnected) {
			t.Errorf("connect after Stop: %v", err)
		}
		r.stop()
	})
}

func TestStopWaitsForReportWithoutDeadlock(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		s := r.net.session(id)
		for i := range 50 {
			go func() {
				_ = s.tell(event.Fact{Kind: event.MessagesUpsert, Data: text(fmt.Sprint(i), "1@s.whatsapp.net", false)})
				s.lose()
			}()
		}
		if err := r.sup.Stop(bg); err != nil {
			t.Error(err)
		}
		dials := len(s.dialled())
		time.Sleep(time.Hour)
		if len(s.dialled()) != dials {
			t.Error("dialled after Stop")
		}
	})
}

func TestStatusReflectsTheSocket(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		st, err := r.sup.Status(id)
		if err != nil || !st.Connected || !st.LoggedIn || st.Record.Status != event.Online {
			t.Errorf("online: %+v, %v", st, err)
		}
		r.net.session(id).be(true, false) // closed, and nothing published yet
		if st, _ = r.sup.Status(id); st.Connected || st.Record.Status != event.Reconnecting {
			t.Errorf("socket gone: %+v", st)
		}
	})
}

func TestLastReceivedAndLastSentAreKept(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		received := time.Now()
		if err := r.net.session(id).tell(event.Fact{Kind: event.MessagesUpsert, Data: text("A", "1@s.whatsapp.net", false)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := r.sup.Send(bg, id, event.Outgoing{ID: "B", To: "1@s.whatsapp.net"}); err != nil {
			t.Fatal(err)
		}
		st, err := r.sup.Status(id)
		if err != nil || !st.LastReceivedAt.Equal(received) || !st.LastSentAt.Equal(time.Now()) {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

func TestARefusalEndsADialThatWaits(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		s := r.net.session(id)
		s.be(true, false)
		_ = s.tell(connection(event.TypeStreamError, event.ConnectionClose, event.ConnectionError)) // a dial is due
		s.be(false, false)
		_ = s.tell(event.Fact{Status: event.LoggedOut, Unlink: true})
		time.Sleep(time.Hour)
		r.wantStatus(id, event.LoggedOut)
		if n := len(s.dialled()); n != 1 {
			t.Errorf("%d dials: an unlinked instance began to pair by itself", n)
		}
	})
}

func TestRestoreRespectsEarlierCalls(t *testing.T) {
	inBubble(t, func(c *SupervisorConfig) { c.StartupConcurrency = 1 }, func(r *rig) {
		slow, out := r.linked("slow", event.Disconnected).ID, r.linked("out", event.Disconnected).ID
		r.net.onDial(func(ctx context.Context, s *session) error {
			if s.id == slow {
				<-ctx.Done()
			}
			return errors.New("no route")
		})
		r.sup.Start()
		time.Sleep(time.Second)
		if _, err := r.sup.Logout(bg, out, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := r.sup.Connect(bg, out, ""); err == nil {
			t.Fatal("connected")
		}
		time.Sleep(time.Hour)
		r.wantStatus(out, event.ConnectionTimeout)
	})
}

func TestDevicesArePrunedAtStartAndWhenDue(t *testing.T) {
	const day = 24 * time.Hour
	looks := map[int64][]time.Duration{}
	dues := map[int64][]time.Duration{ // what each look answers: when the next thing is old, after the start
		1: {0, 3 * day, 3*day + time.Minute, 30 * day},
		2: {10 * day, 10 * day, 10 * day, 10 * day},
	}
	inBubble(t, func(c *SupervisorConfig) {
		began := time.Now()
		c.PruneDevice = func(_ context.Context, id int64) (time.Time, error) {
			n := len(looks[id])
			looks[id] = append(looks[id], time.Since(began))
			if n == 0 && id == 1 {
				return time.Time{}, errors.New("one that fails keeps nobody else's")
			}
			return began.Add(dues[id][min(n, 3)]), nil
		}
	}, func(r *rig) {
		r.create("a")
		r.create("b")
		r.sup.Start()
		time.Sleep(6 * day)
		synctest.Wait()
		// After the failure, some hours; then when the first is old, and not again at once
		// when another follows a minute later.
		want := []time.Duration{0, deviceGrace, 3 * day, 3*day + deviceGrace}
		for id := range dues {
			if !slices.Equal(looks[id], want) {
				t.Errorf("device %d was looked at after %v, want %v", id, looks[id], want)
			}
		}
	})
}
