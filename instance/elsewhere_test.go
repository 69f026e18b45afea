package instance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"postern/event"
)

var (
	aSandbox  = event.SandboxNetwork([32]byte{0xab})
	elsewhere = event.Between(event.WhatsApp, aSandbox)
)

// standing returns a rig whose registry gets these standings at each boot.
func standing(t *testing.T, standings map[int64]Standing) *rig {
	t.Helper()
	return newRig(t, func(c *Config) { c.Standings = func() (map[int64]Standing, error) { return standings, nil } }, nil)
}

func TestInstancesOfAnotherNetworkStayOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		standings := map[int64]Standing{}
		r := standing(t, standings)
		foreign, own := r.linked("foreign", event.Online).ID, r.linked("own", event.Online).ID
		banned := r.linked("banned", event.TemporaryBan).ID
		standings[foreign], standings[banned] = Standing{Wrong: elsewhere}, Standing{Wrong: elsewhere}
		r.reboot()
		r.sup.Start()
		synctest.Wait()
		r.wantStatus(foreign, event.Offline)
		r.wantStatus(own, event.Online)
		r.wantStatus(banned, event.TemporaryBan)
		rec := r.record(foreign)
		if !strings.Contains(rec.LastError, "whatsapp") || !strings.Contains(rec.LastError, "sandbox ab000000") || rec.OwnerJID == "" {
			t.Errorf("%+v", rec)
		}
		if got := r.reg.Elsewhere(); len(got) != 1 || got[event.WhatsApp] != 1 {
			t.Errorf("elsewhere: %v", got)
		}
		if s := r.net.session(foreign); s != nil && len(s.dialled()) > 0 {
			t.Error("it was dialled")
		}

		clear(standings)
		r.reboot()
		if rec := r.record(foreign); rec.Status != event.Disconnected || rec.LastError != "" || rec.Elsewhere != "" {
			t.Errorf("on its network again: %+v", rec)
		}
		r.sup.Start()
		synctest.Wait()
		r.wantStatus(foreign, event.Online)
		r.stop()
	})
}

func TestNothingDialsAForeignDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		r := newRig(t, nil, nil)
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.keeper(ctx, id); err != nil {
			t.Fatal(err)
		}
		s := r.net.session(id)
		s.mu.Lock()
		s.wrong = elsewhere
		s.mu.Unlock()
		_, connect := r.sup.Connect(ctx, id, "")
		_, pair := r.sup.PairCode(ctx, id, "4915112345678", "")
		_, passkey := r.sup.Passkey(ctx, id, "")
		_, logout := r.sup.Logout(ctx, id, "")
		for name, err := range map[string]error{"connect": connect, "pair": pair, "passkey": passkey, "logout": logout, "restart": r.sup.Restart(ctx, id, "")} {
			if !errors.Is(err, ErrForget) || !errors.Is(err, event.ErrWrongNetwork) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, send := r.sup.Send(ctx, id, event.Outgoing{})
		_, account := r.sup.Account(ctx, id)
		for name, err := range map[string]error{"send": send, "account": account, "wait": r.sup.AwaitOnline(ctx, id)} {
			if errors.Is(err, ErrForget) || !errors.Is(err, event.ErrWrongNetwork) || !errors.Is(err, event.ErrNotConnected) {
				t.Errorf("%s: %v", name, err)
			}
		}
		r.sup.Resume(id)
		synctest.Wait()
		if n := len(s.dialled()); n > 0 || !s.Paired() {
			t.Errorf("%d dials, linked %t", n, s.Paired())
		}
		r.wantStatus(id, event.Offline)
		r.stop()
	})
}

func TestRejectedDeviceOfUnknownNetworkIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		standings := map[int64]Standing{}
		r := standing(t, standings)
		id := r.linked("a", event.LoggedOut).ID
		standings[id] = Standing{Unknown: true}
		r.reboot()
		r.sup.Start()
		synctest.Wait()
		r.wantStatus(id, event.Online)
		r.stop()
	})
}

func TestLogoutInterruptedByKillIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		id := r.linked("a", event.Online).ID
		r.reboot()
		r.net.pair(id, false)
		if _, err := r.sup.keeper(context.Background(), id); err != nil {
			t.Fatal(err)
		}
		s := r.net.session(id)
		s.mu.Lock()
		s.kept = true
		s.mu.Unlock()
		r.published()
		r.sup.Start()
		synctest.Wait()
		r.wantStatus(id, event.LoggedOut)
		if n := r.one(); n.Kind != event.ConnectionUpdated || r.record(id).OwnerJID != "" {
			t.Errorf("published %s; %+v", n.Kind, r.record(id))
		}
		if err := r.sup.Restart(context.Background(), id, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.wantStatus(id, event.Online)
		r.stop()
	})
}

func TestLogoutRemovesALoggedOutDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		r := newRig(t, nil, nil)
		id := r.create("a").ID
		if _, err := r.sup.Connect(ctx, id, ""); err != nil { // shows a code
			t.Fatal(err)
		}
		s := r.net.session(id)
		s.mu.Lock()
		s.kept = true
		s.mu.Unlock()
		if _, err := r.sup.Logout(ctx, id, ""); err != nil || !s.LoggedOut() {
			t.Errorf("the end of a pairing removed the kept device (%v)", err)
		}
		if err := r.sup.GiveUpPairing(ctx, id, ""); err != nil || !s.LoggedOut() {
			t.Errorf("giving a pairing up removed the kept device (%v)", err)
		}
		if _, err := r.sup.Logout(ctx, id, ""); err != nil || s.LoggedOut() {
			t.Errorf("a logout did not remove the kept device (%v)", err)
		}
		r.stop()
	})
}

func TestGiveUpPairingKeepsALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		id := r.linked("a", event.Disconnected).ID
		if err := r.sup.GiveUpPairing(context.Background(), id, ""); !errors.Is(err, ErrAlreadyPaired) || !r.net.session(id).Paired() {
			t.Errorf("got %v", err)
		}
		r.stop()
	})
}

// TestPairingCutOffBetweenItsCommitsConnects has devices of instances whose records name no account.
func TestPairingCutOffBetweenItsCommitsConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		standings := map[int64]Standing{}
		r := newRig(t, func(c *Config) {
			c.Standings = func() (map[int64]Standing, error) { return standings, nil }
			c.Account = func(id int64) (*event.Link, error) {
				if _, has := standings[id]; !has {
					t.Errorf("instance %d has no device", id)
				}
				return &event.Link{JID: annPhone, LID: annLID}, nil
			}
		}, nil)
		cut, shown, aside, foreign, never := r.create("cut").ID, r.create("shown").ID, r.create("aside").ID, r.create("foreign").ID, r.create("never").ID
		standings[cut], standings[shown], standings[aside], standings[foreign] = Standing{}, Standing{}, Standing{Aside: true}, Standing{Wrong: elsewhere}
		for id := range standings {
			r.net.pair(id, id != aside)
		}
		r.report(cut, event.Fact{Status: event.Pairing})
		r.report(aside, event.Fact{Status: event.QRCodeState}) // shown is as an earlier start left it
		r.reboot()
		for id, want := range map[int64]event.State{cut: event.Disconnected, shown: event.Offline, aside: event.Offline, foreign: event.Offline, never: event.Offline} {
			rec := r.record(id)
			if owner := rec.OwnerJID == annPhone && rec.OwnerLID == annLID; rec.Status != want || owner != (id != aside && id != never) {
				t.Errorf("%s is %s, of %q", rec.Name, rec.Status, rec.OwnerJID)
			}
		}
		r.sup.Start()
		synctest.Wait()
		for id, want := range map[int64]event.State{cut: event.Online, shown: event.Online, aside: event.Offline, foreign: event.Offline, never: event.Offline} {
			r.wantStatus(id, want)
		}
		r.stop()
	})
}
