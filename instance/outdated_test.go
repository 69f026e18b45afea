package instance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
)

// versions is a test double of the source of client versions.
type versions struct {
	mu           sync.Mutex
	known, asked bool
	told         []string
}

func (v *versions) outdated(_ int64, version string) (known, asked bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.told = append(v.told, version)
	return v.known, v.asked
}

func (v *versions) answer(known, asked bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known, v.asked = known, asked
}

func refusedClient() event.Fact {
	return event.Fact{
		Kind: event.StatusInstance, Status: event.ClientOutdated, Reason: 405, ClientVersion: "2.3000.1",
		Data: event.InstanceStatus{Type: event.StatusClientOutdated, Status: string(event.ClientOutdated)},
	}
}

// refuseUntil makes the client of every dial be refused until told is true.
func (r *rig) refuseUntil(better *atomic.Bool) {
	r.net.onDial(func(_ context.Context, s *session) error {
		switch {
		case !better.Load():
			time.AfterFunc(time.Millisecond, func() { _ = s.tell(refusedClient()) })
		case s.Paired():
			s.login()
		default:
			s.qr("2@code")
		}
		return nil
	})
}

// withVersions runs fn with clients that are refused until better is set.
func withVersions(t *testing.T, adapt func(*SupervisorConfig), fn func(r *rig, v *versions, better *atomic.Bool)) {
	v, better := &versions{asked: true}, &atomic.Bool{}
	inBubble(t, func(c *SupervisorConfig) {
		c.Outdated = v.outdated
		if adapt != nil {
			adapt(c)
		}
	}, func(r *rig) {
		r.refuseUntil(better)
		fn(r, v, better)
	})
}

func TestConnectOfOutdatedClientReturnsRedialCode(t *testing.T) {
	withVersions(t, nil, func(r *rig, v *versions, better *atomic.Bool) {
		id := r.create("a").ID
		began := time.Now()
		time.AfterFunc(5*time.Second, func() {
			r.wantStatus(id, event.ClientOutdated)
			better.Store(true)
			r.sup.Renew(true)
		})
		got, err := r.sup.Connect(bg, id, "req-1")
		if err != nil || got.Code == nil || got.Code.Code != "2@code" {
			t.Fatalf("%+v, %v", got, err)
		}
		if took := time.Since(began) - 5*time.Second; took < time.Second || took > 2*time.Second {
			t.Errorf("dialled again after %v, the usual delay is 1 to 2 s", took)
		}
		if !slices.Equal(v.told, []string{"2.3000.1"}) {
			t.Errorf("told of %v", v.told)
		}
		notices := r.published()
		if last := notices[len(notices)-1]; last.Kind != event.QRCodeUpdated || last.RequestID != "req-1" {
			t.Errorf("the code carries request id %q", last.RequestID)
		}
	})
}

func TestConnectWithoutNewerVersionReturnsErrOutdated(t *testing.T) {
	withVersions(t, nil, func(r *rig, v *versions, _ *atomic.Bool) {
		unpaired, paired := r.create("a").ID, r.linked("b", event.Disconnected).ID
		for _, id := range []int64{unpaired, paired} {
			began := time.Now()
			time.AfterFunc(5*time.Second, func() { r.sup.Renew(false) })
			_, err := r.sup.Connect(bg, id, "")
			if !errors.Is(err, ErrOutdated) || !errors.Is(err, event.ErrNotConnected) || time.Since(began) != 5*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			r.wantStatus(id, event.ClientOutdated)
		}
		v.answer(false, false) // too soon for another question
		if _, err := r.sup.Connect(bg, unpaired, ""); !errors.Is(err, ErrOutdated) {
			t.Errorf("without a question: %v", err)
		}
		time.Sleep(time.Hour)
		if n := len(r.net.session(paired).dialled()); n != 1 {
			t.Errorf("dialled %d times: nothing has changed", n)
		}
		if got := r.sup.Outdated(); !slices.Equal(got, []int64{unpaired, paired}) {
			t.Errorf("refused are %v", got)
		}
	})
}

func TestOutdatedClientWithoutUpdateIsReportedAtOnce(t *testing.T) {
	better := &atomic.Bool{}
	inBubble(t, nil, func(r *rig) {
		r.refuseUntil(better)
		if _, err := r.sup.Connect(bg, r.create("a").ID, ""); !errors.Is(err, ErrOutdated) {
			t.Error(err)
		}
	})
}

// TestOutdatedInstancesRedialWithNewerVersion, whether or not they were refused in this run,
// paired or not; other instances do not.
func TestOutdatedInstancesRedialWithNewerVersion(t *testing.T) {
	withVersions(t, nil, func(r *rig, _ *versions, better *atomic.Bool) {
		refused := []int64{r.linked("a", event.Disconnected).ID, r.linked("b", event.Disconnected).ID}
		stored, unpaired := r.linked("c", event.ClientOutdated).ID, r.create("d").ID
		r.report(unpaired, refusedClient())
		banned := r.linked("e", event.TemporaryBan).ID
		for _, id := range refused {
			go func() { _, _ = r.sup.Connect(bg, id, "") }()
		}
		time.Sleep(time.Minute)
		better.Store(true)
		r.sup.Renew(true)
		synctest.Wait()
		r.wantStatus(refused[0], event.Reconnecting)
		r.wantStatus(unpaired, event.Connecting)
		time.Sleep(10 * time.Second)
		for _, id := range append(refused, stored) {
			r.wantStatus(id, event.Online)
		}
		r.wantStatus(unpaired, event.QRCodeState)
		r.wantStatus(banned, event.TemporaryBan)
		if len(r.sup.Outdated()) != 0 {
			t.Errorf("still refused: %v", r.sup.Outdated())
		}
	})
}

func TestKnownVersionIsUsedWithoutSearch(t *testing.T) {
	withVersions(t, nil, func(r *rig, v *versions, better *atomic.Bool) {
		id := r.linked("a", event.Disconnected).ID
		v.answer(true, false)
		time.AfterFunc(10*time.Millisecond, func() { better.Store(true) })
		if got, err := r.sup.Connect(bg, id, ""); err != nil || got.Record.Status != event.Online {
			t.Errorf("%+v, %v", got, err)
		}
		if n := len(r.net.session(id).dialled()); n != 2 {
			t.Errorf("dialled %d times", n)
		}
	})
}

func TestPairingByCodeContinuesWithNewerVersion(t *testing.T) {
	withVersions(t, nil, func(r *rig, v *versions, better *atomic.Bool) {
		id := r.create("a").ID
		pair := func(after time.Duration, found bool) (string, error) {
			time.AfterFunc(after, func() {
				better.Store(found)
				r.sup.Renew(found)
			})
			return r.sup.PairCode(bg, id, "4915123456", "req-1")
		}
		if _, err := r.sup.Connect(bg, id, ""); err == nil { // opens the session
			t.Fatal("connected")
		}
		s := r.net.session(id)
		s.pairCode = func(context.Context) (string, error) {
			if better.Load() {
				return "ABCD-EFGH", nil
			}
			_ = s.tell(refusedClient())
			return "", event.ErrNotConnected
		}
		s.forgetDials()
		if _, err := pair(time.Second, false); !errors.Is(err, ErrOutdated) {
			t.Errorf("nothing found: %v", err)
		}
		began := time.Now()
		if code, err := pair(time.Second, true); err != nil || code != "ABCD-EFGH" || time.Since(began) > 4*time.Second {
			t.Errorf("%s, %v after %v", code, err, time.Since(began))
		}
		time.Sleep(time.Minute)
		if n := len(s.dialled()); n != 0 {
			t.Errorf("dialled %d times beside the call", n)
		}
		better.Store(false)
		v.answer(false, false)
		s.pairCode = func(context.Context) (string, error) { return "", event.ErrNotConnected }
		if _, err := r.sup.PairCode(bg, id, "4915123456", ""); err == nil || errors.Is(err, ErrOutdated) {
			t.Errorf("a failure of another kind: %v", err)
		}
	})
}

// TestNewerVersionWithoutAutoReconnectWaitsForCall: if automatic reconnecting is off, the next
// call, or the one that waits, uses a newer version.
func TestNewerVersionWithoutAutoReconnectWaitsForCall(t *testing.T) {
	manual := func(c *SupervisorConfig) { c.AutoReconnect = false }
	withVersions(t, manual, func(r *rig, _ *versions, better *atomic.Bool) {
		idle, called := r.linked("a", event.ClientOutdated).ID, r.linked("b", event.Disconnected).ID
		time.AfterFunc(time.Second, func() {
			better.Store(true)
			r.sup.Renew(true)
		})
		if got, err := r.sup.Connect(bg, called, "req-1"); err != nil || got.Record.Status != event.Online {
			t.Errorf("%+v, %v", got, err)
		}
		time.Sleep(time.Hour)
		r.wantStatus(idle, event.ClientOutdated)
		if _, err := r.sup.Connect(bg, idle, "req-2"); err != nil {
			t.Error(err)
		}
	})
}

func TestLogoutEndsWaitForNewerVersion(t *testing.T) {
	withVersions(t, nil, func(r *rig, _ *versions, better *atomic.Bool) {
		id := r.create("a").ID
		answer := make(chan error)
		go func() {
			_, err := r.sup.Connect(bg, id, "")
			answer <- err
		}()
		time.Sleep(time.Second)
		if _, err := r.sup.Logout(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		if err := <-answer; err == nil || errors.Is(err, ErrOutdated) {
			t.Errorf("connect says %v", err)
		}
		better.Store(true)
		r.sup.Renew(true)
		time.Sleep(time.Minute)
		r.wantStatus(id, event.LoggedOut)
		if n := len(r.net.session(id).dialled()); n != 1 {
			t.Errorf("dialled %d times", n)
		}
	})
}

func TestStartWaitsForNewerVersionBeforeNextInstance(t *testing.T) {
	withVersions(t, func(c *SupervisorConfig) { c.StartupConcurrency = 1 }, func(r *rig, _ *versions, better *atomic.Bool) {
		first, second := r.linked("a", event.ClientOutdated).ID, r.linked("b", event.Disconnected).ID
		r.sup.Start()
		time.Sleep(5 * time.Second)
		if r.net.session(second) != nil {
			t.Error("the second dials while the first waits for a newer version")
		}
		better.Store(true)
		r.sup.Renew(true)
		time.Sleep(10 * time.Second)
		r.wantStatus(first, event.Online)
		r.wantStatus(second, event.Online)
	})
}
