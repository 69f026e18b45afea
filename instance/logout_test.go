package instance

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
)

func TestLogoutStoresAndReportsLoggedOut(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		r.published()
		notified, err := r.sup.Logout(bg, id, "req-9")
		if err != nil || !notified {
			t.Fatal(notified, err)
		}
		r.wantStatus(id, event.LoggedOut)
		n := r.one()
		body := fields(t, n.Body)
		snapshot, data := body["instance"].(map[string]any), body["data"].(map[string]any)
		if n.RequestID != "req-9" || n.OwnerJID != "" || snapshot["ownerJid"] != nil || snapshot["connectionStatus"] != "logged_out" ||
			data["type"] != "logged.out" || data["connection"] != "close" {
			t.Errorf("%+v\n%s", n, n.Body)
		}
		if notified, err := r.sup.Logout(bg, id, ""); err != nil || !notified || len(r.published()) != 0 {
			t.Errorf("a second logout must change nothing: %t, %v", notified, err)
		}
	})
}

// TestLogoutOfUnpairedInstanceEndsPairing, without notice: no link was removed.
func TestLogoutOfUnpairedInstanceEndsPairing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		if notified, err := r.sup.Logout(bg, id, ""); err != nil || !notified {
			t.Errorf("%t, %v", notified, err)
		}
		r.wantStatus(id, event.LoggedOut)
		pairing := r.create("b").ID
		if _, err := r.sup.Connect(bg, pairing, ""); err != nil {
			t.Fatal(err)
		}
		r.wantStatus(pairing, event.QRCodeState)
		r.published()
		if notified, err := r.sup.Logout(bg, pairing, ""); err != nil || !notified {
			t.Errorf("%t, %v", notified, err)
		}
		r.wantStatus(pairing, event.LoggedOut)
		if all := r.published(); len(all) != 0 {
			t.Errorf("published %+v", all)
		}
		if _, err := r.sup.Connect(bg, pairing, ""); err != nil {
			t.Errorf("it cannot be paired any more: %v", err)
		}
	})
}

func TestLogoutWithoutWhatsAppUnlinksLocally(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		ctx, cancel := context.WithCancel(bg)
		cancel() // the caller is gone: the link must not stay half cut
		notified, err := r.sup.Logout(ctx, id, "")
		if err != nil || notified || r.net.session(id).Paired() {
			t.Errorf("%t, %v", notified, err)
		}
		r.wantStatus(id, event.LoggedOut)
	})
}

func TestLogoutDuringBackoffIsImmediateAndFinal(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		r.net.onDial(func(context.Context, *session) error { return errors.New("no route to host") })
		r.sup.Start()
		time.Sleep(time.Minute)
		began := time.Now()
		if _, err := r.sup.Logout(bg, id, ""); err != nil || time.Since(began) != 0 {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		dials := len(r.net.session(id).dialled())
		time.Sleep(time.Hour)
		r.wantStatus(id, event.LoggedOut)
		if n := len(r.net.session(id).dialled()); n != dials {
			t.Errorf("dialled %d times more", n-dials)
		}
	})
}

func TestTwoLogoutsAtOnceTellOneEvent(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		r.published()
		for range 2 {
			go func() {
				if _, err := r.sup.Logout(bg, id, ""); err != nil {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		time.Sleep(time.Second)
		r.one()
	})
}

func TestFailedLogoutCanBeRepeated(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		s := r.net.session(id)
		s.logout, s.forget = event.ErrNotConnected, errors.New("disk")
		if _, err := r.sup.Logout(bg, id, ""); err == nil {
			t.Fatal("the logout succeeded")
		}
		r.wantStatus(id, event.Disconnected)
		s.forget = nil
		if _, err := r.sup.Logout(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		r.wantStatus(id, event.LoggedOut)
	})
}
