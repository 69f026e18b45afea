package sandbox

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types/events"

	"postern/sandbox/network"
)

// lets a linked client's phone act, and returns when the client has seen it.
func lets[E any](t *testing.T, body string, match func(E) bool) {
	t.Helper()
	s, _, c := paired(t)
	c.RefreshCAT = func(context.Context) error { return errNoToken }
	does(t, s, ownNumber, body)
	wait(c, 1, match)
}

var errNoToken = errors.New("there are no tokens")

func TestRefusedLoginsFollowTheAct(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"temporary ban": func(t *testing.T) {
			lets(t, `{"do":"temp-ban","code":104,"expire":90}`, func(e *events.TemporaryBan) bool {
				return e.Code == events.TempBanSentTooManySameMessage && e.Expire == 90*time.Second
			})
		},
		"usual temporary ban": func(t *testing.T) {
			lets(t, `{"do":"temp-ban"}`, func(e *events.TemporaryBan) bool {
				return e.Code == events.TempBanSentToTooManyPeople && e.Expire == time.Hour
			})
		},
		"outdated client": func(t *testing.T) { lets(t, `{"do":"client-outdated"}`, every[*events.ClientOutdated]) },
		"failure": func(t *testing.T) {
			lets(t, `{"do":"connect-failure","reason":409,"message":"no more"}`, func(e *events.ConnectFailure) bool {
				return e.Reason == 409 && e.Message == "no more" && e.Raw != nil
			})
		},
		"bad gateway": func(t *testing.T) {
			lets(t, `{"do":"connect-failure","reason":501}`, func(e *events.ConnectFailure) bool {
				return e.Reason == events.ConnectFailureExperimental
			})
		},
		"invalid token": func(t *testing.T) {
			lets(t, `{"do":"cat-refresh-error"}`, func(e *events.CATRefreshError) bool { return errors.Is(e.Error, errNoToken) })
		},
		"expired token": func(t *testing.T) {
			lets(t, `{"do":"cat-refresh-error","reason":414}`, func(e *events.CATRefreshError) bool { return errors.Is(e.Error, errNoToken) })
		},
	} {
		t.Run(name, test)
	}
}

func TestUnavailableServerIsTriedAgain(t *testing.T) {
	s, _, c := paired(t)
	does(t, s, ownNumber, `{"do":"connect-failure","reason":503}`)
	wait(c, 2, every[*events.Connected])
	if n := count(c, every[*events.ConnectFailure]); n != 0 {
		t.Errorf("%d failures were reported, a restart is none", n)
	}
}

func TestLogoutIsSentOrFoundAtLogin(t *testing.T) {
	lets(t, `{"do":"logout"}`, func(e *events.LoggedOut) bool { return !e.OnConnect && e.Reason == 401 })
	for _, reason := range []string{"401", "403", "406"} {
		lets(t, `{"do":"logout","reason":`+reason+`}`, func(e *events.LoggedOut) bool {
			return e.OnConnect && e.Reason.NumberString() == reason
		})
	}
}

func TestStreamsEndAsAsked(t *testing.T) {
	lets(t, `{"do":"stream-replaced"}`, every[*events.StreamReplaced])
	lets(t, `{"do":"stream-error","code":599}`, func(e *events.StreamError) bool { return e.Code == "599" && e.Raw != nil })
	lets(t, `{"do":"stream-error","code":413}`, func(e *events.CATRefreshError) bool { return errors.Is(e.Error, errNoToken) })
	lets(t, `{"do":"stream-error","code":503}`, every[*events.Disconnected])
}

func TestRestartedStreamComesBack(t *testing.T) {
	for _, body := range []string{`{"do":"stream-error","code":503}`, `{"do":"manual-reconnect"}`, `{"do":"drop"}`} {
		s, _, c := paired(t)
		does(t, s, ownNumber, body)
		wait(c, 2, every[*events.Connected])
	}
}

func TestReconnectIsLeftToTheClient(t *testing.T) {
	s, _, c := paired(t)
	c.DisableLoginAutoReconnect = true
	does(t, s, ownNumber, `{"do":"manual-reconnect"}`)
	wait(c, 1, every[*events.ManualLoginReconnect])
}

func TestIgnoredPingsHealAfterTheirTime(t *testing.T) {
	s, _, c := paired(t)
	other := newClient(t, s, nil)
	other.pairByQR(addPhone(t, s, anneNumber))
	does(t, s, ownNumber, `{"do":"keepalive-timeout","seconds":2}`)
	if e := wait(c, 1, every[*events.KeepAliveTimeout]); e.ErrorCount != 1 || e.LastSuccess.IsZero() {
		t.Errorf("timeout %+v", e)
	}
	wait(c, 1, every[*events.KeepAliveRestored])
	if n := count(other, every[*events.KeepAliveTimeout]); n != 0 {
		t.Errorf("another account missed %d pings", n)
	}
}

func TestFaultSwallowsPingsUntilItIsHealed(t *testing.T) {
	s, _, c := paired(t)
	var answer faultFields
	if got := call(t, s, "POST", "/sandbox/faults", `{"swallowPings":true}`, &answer); got != http.StatusOK || !answer.SwallowPings {
		t.Fatalf("%d %+v", got, answer)
	}
	wait(c, 2, every[*events.KeepAliveTimeout])
	call(t, s, "POST", "/sandbox/faults", `{}`, &answer)
	wait(c, 1, every[*events.KeepAliveRestored])
}

func TestFaultsDelayRefuseAndLoseMessages(t *testing.T) {
	s, _, anne, c := withContacts(t)
	set := func(body string) {
		var answer faultFields
		if got := call(t, s, "POST", "/sandbox/faults", body, &answer); got != http.StatusOK {
			t.Fatalf("%s: %d", body, got)
		}
	}
	send := func(text string) error {
		_, err := c.SendMessage(t.Context(), anne.JID(), &waE2E.Message{Conversation: &text}, whatsmeow.SendRequestExtra{Timeout: patience})
		return err
	}
	set(`{"sendError":463}`)
	if err := send("refused"); !errors.Is(err, whatsmeow.ErrServerReturnedError) {
		t.Errorf("refused message: %v", err)
	}
	set(`{"ackDelayMs":300}`)
	before := time.Now()
	if err := send("slow"); err != nil || time.Since(before) < 300*time.Millisecond {
		t.Errorf("slow message: %v after %v", err, time.Since(before))
	}
	set(`{"dropAfter":1}`)
	// The library sends a message again when its connection comes back.
	if err := send("lost at first"); err != nil {
		t.Errorf("lost message: %v", err)
	}
	wait(c, 1, every[*events.Disconnected])
	if r := receive(t, anne, "lost at first"); r.Count != 1 {
		t.Errorf("received %+v", r)
	}
}

func TestHealingEndsWhatActsLeft(t *testing.T) {
	s := openServer(t, Config{})
	own := addPhone(t, s, ownNumber)
	does(t, s, ownNumber, `{"do":"pair-error"}`)
	does(t, s, ownNumber, `{"do":"temp-ban"}`)
	does(t, s, ownNumber, `{"do":"keepalive-timeout","seconds":3600}`)
	var answer faultFields
	call(t, s, "POST", "/sandbox/faults", `{}`, &answer)
	c := newClient(t, s, nil)
	c.pairByQR(own)
	if !s.Healthy() {
		t.Error("something is left")
	}
}

func TestBadFaultsChangeNothing(t *testing.T) {
	s, own, c := paired(t)
	var answer controlError
	for _, body := range []string{
		`{"mediaError":1}`, `{"mediaError":-500}`, `{"mediaError":600}`, `{"ackDelayMs":-1}`, `{"ackDelayMs":3600001}`, `{"sendError":-1}`, `{"sendError":1000}`, `{"dropAfter":-1}`, `{"dropAfter":1000001}`,
	} {
		if got := call(t, s, "POST", "/sandbox/faults", body, &answer); got != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", body, got)
		}
	}
	for _, body := range []string{
		`{"do":"logout","reason":402}`,
		`{"do":"stream-error"}`,
		`{"do":"stream-error","code":1000}`,
		`{"do":"connect-failure"}`,
		`{"do":"connect-failure","reason":600}`,
		`{"do":"temp-ban","code":-1}`,
		`{"do":"temp-ban","expire":-1}`,
		`{"do":"temp-ban","expire":31536001}`,
		`{"do":"cat-refresh-error","reason":415}`,
		`{"do":"keepalive-timeout","seconds":-1}`,
		`{"do":"keepalive-timeout","seconds":3601}`,
		`{"do":"offline-preview","count":-1}`,
		`{"do":"offline-preview","count":1001}`,
		`{"do":"pair-error","kind":"mood"}`,
	} {
		if got := refusedAct(t, s, ownNumber, body); got != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", body, got)
		}
	}
	if _, devices := s.Devices(own.JID()); !s.Healthy() || len(devices) != 1 || !c.IsConnected() {
		t.Errorf("healthy %v, devices %v, connected %v", s.Healthy(), devices, c.IsConnected())
	}
}

func TestOfflinePreviewCountsWhatCameMeanwhile(t *testing.T) {
	for _, test := range []struct {
		body string
		want int
	}{{`{"do":"offline-preview"}`, 3}, {`{"do":"offline-preview","count":40}`, 40}} {
		s, own, c := paired(t)
		wait(c, 1, every[*events.OfflineSyncCompleted]) // of the login, which comes after Connected
		eventually(t, "acknowledgements", func() bool { return queuedFor(s, own) == 0 })
		does(t, s, ownNumber, test.body)
		if e := wait(c, 2, every[*events.OfflineSyncPreview]); e.Total != test.want || e.Notifications != test.want || e.Messages != 0 || e.Receipts != 0 {
			t.Errorf("%s: preview %+v", test.body, e)
		}
		if e := wait(c, 2, every[*events.OfflineSyncCompleted]); e.Count != test.want {
			t.Errorf("%s: completed %+v", test.body, e)
		}
		eventually(t, "acknowledgements", func() bool { return queuedFor(s, own) == 0 })
	}
}

func TestWronglySignedLinkIsRefusedOnce(t *testing.T) {
	for kind, want := range map[string]error{
		`"hmac"`:      whatsmeow.ErrPairInvalidDeviceIdentityHMAC,
		`"signature"`: whatsmeow.ErrPairInvalidDeviceSignature,
		`""`:          whatsmeow.ErrPairInvalidDeviceIdentityHMAC,
	} {
		s := openServer(t, Config{})
		own := addPhone(t, s, ownNumber)
		does(t, s, ownNumber, `{"do":"pair-error","kind":`+kind+`}`)
		c := newClient(t, s, nil)
		c.connect()
		code := wait(c, 1, every[*events.QR]).Codes[0]
		if err := own.Scan(t.Context(), code); !errors.Is(err, network.ErrPairing) {
			t.Errorf("%s: the phone received %v", kind, err)
		}
		if e := wait(c, 1, every[*events.PairError]); !errors.Is(e.Error, want) || e.ID.User != ownNumber || e.LID.User != own.LID().User || e.Platform != "android" {
			t.Errorf("%s: %+v", kind, e)
		}
		second := newClient(t, s, nil)
		second.pairByQR(own)
	}
}

func TestDowngradeReachesWaitingClients(t *testing.T) {
	s, _, c := paired(t)
	waiting := newClient(t, s, nil)
	waiting.connect()
	wait(waiting, 1, every[*events.QR])
	var answer map[string]int
	call(t, s, "POST", "/sandbox/phones/"+ownNumber+"/act", `{"do":"downgrade"}`, &answer)
	wait(waiting, 1, every[*events.QRScannedWithoutMultidevice])
	if n := count(c, every[*events.QRScannedWithoutMultidevice]); n != 0 || answer["told"] != 1 {
		t.Errorf("notified %v, the linked client %d times", answer, n)
	}
}
