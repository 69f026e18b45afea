package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"postern/event"
	"postern/httpapi/instances"
	"postern/instance/webhooks"
)

// answerOf returns the fields of an answer by name.
func answerOf(t *testing.T, res *http.Response) map[string]json.RawMessage {
	t.Helper()
	return decoded[map[string]json.RawMessage](t, res)
}

func TestInstanceAnswersHaveExactlyTheirFields(t *testing.T) {
	r, token := online(t)
	r.as(token, "PUT", "/instance/a/webhook", `{"url":"https://example.org"}`)
	shape := "connectionStatus createdAt description externalAttributes id name ownerJid phoneLastSeenAt profilePicUrl status updatedAt"
	hook := "createdAt enabled events id instanceId updatedAt url"
	same := func(what string, got map[string]json.RawMessage, want string) {
		t.Helper()
		if diff := cmp.Diff(strings.Fields(want), keys(got)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	inner := func(raw json.RawMessage) (m map[string]json.RawMessage) {
		t.Helper()
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	listed := decoded[[]map[string]json.RawMessage](t, r.admin("GET", "/instance", ""))[0]
	same("list", listed, "Auth Webhook "+strings.Replace(shape, "updatedAt", "tags troubles updatedAt", 1))
	same("Auth of a list", inner(listed["Auth"]), "createdAt id token updatedAt")
	same("Webhook of a list", inner(listed["Webhook"]), hook)
	shown := answerOf(t, r.as(token, "GET", "/instance/a", ""))
	same("show", shown, "Webhook "+shape)
	if string(shown["status"]) != `"ONLINE"` || string(shown["connectionStatus"]) != `"online"` || string(shown["ownerJid"]) == "null" {
		t.Errorf("shown online: %s", shown)
	}
	same("connect", answerOf(t, r.as(token, "GET", "/instance/a/connect", "")),
		"alreadyConnected alreadyConnecting connectionStatus count instanceName ownerJid")
	same("status", answerOf(t, r.as(token, "GET", "/instance/a/connection/status", "")),
		"connected connectionStatus day instanceName lastConnectedAt lastError lastReceivedAt lastSentAt limits loggedIn ownerJid passkey phoneLastSeenAt restriction state statusReason undelivered")
	same("webhook", answerOf(t, r.as(token, "GET", "/instance/a/webhook", "")), hook)
	same("webhook test", answerOf(t, r.as(token, "POST", "/instance/a/webhook/test", `{"event":"call.upsert"}`)), "delivered durationMs error statusCode")
	rotated := answerOf(t, r.admin("PUT", "/instance/a/token", ""))
	same("token", rotated, "createdAt id instanceId token updatedAt")
	_ = json.Unmarshal(rotated["token"], &token)
	refreshed := answerOf(t, r.as(token, "PUT", "/instance/refreshToken/a", `{"oldToken":"`+token+`"}`))
	same("refreshToken", refreshed, "createdAt id instanceId token updatedAt")
	_ = json.Unmarshal(refreshed["token"], &token)
	same("logout", answerOf(t, r.as(token, "DELETE", "/instance/a/logout", "")), "connectionStatus instanceName message state")
	same("delete", answerOf(t, r.as(token, "DELETE", "/instance/a", "")), "deleted forced instanceName message")
	same("user token", answerOf(t, r.admin("POST", "/auth/user-token", `{"expiresIn":1}`)), "expiresAt token userId")
}

func TestConnectReportsARunningLogin(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	if first := decoded[instances.ConnectAnswer](t, r.as(token, "GET", "/instance/a/connect", "")); first.AlreadyConnecting || first.AlreadyConnected || first.OwnerJID != nil {
		t.Errorf("the first: %+v", first)
	} else if *first.Base64 != "data:image/png;base64,iVBORw==" {
		t.Errorf("base64 %q", *first.Base64)
	}
	if again := decoded[instances.ConnectAnswer](t, r.as(token, "GET", "/instance/a/connect", "")); !again.AlreadyConnecting || again.AlreadyConnected {
		t.Errorf("the second: %+v", again)
	}
	if err := r.line.logIn(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := decoded[instances.ConnectAnswer](t, r.as(token, "GET", "/instance/a/connect", ""))
	if !done.AlreadyConnected || done.OwnerJID == nil || *done.OwnerJID != "4915100000000:1@s.whatsapp.net" {
		t.Errorf("online: %+v", done)
	}
}

func TestStatusShowsLastTimesErrorAndReason(t *testing.T) {
	r, token := online(t)
	status := func() instances.StatusAnswer {
		return decoded[instances.StatusAnswer](t, r.as(token, "GET", "/instance/a/connection/status", ""))
	}
	recent := func(name string, at *event.Time) {
		t.Helper()
		if at == nil || time.Since(at.Time).Abs() > time.Minute {
			t.Errorf("%s: %v", name, at)
		}
	}
	if s := status(); s.LastError != nil || s.StatusReason != 0 || s.LastSentAt != nil {
		t.Errorf("online: %+v", s)
	}
	decoded[event.Message](t, r.as(token, "POST", "/instance/a/send/text", textBody(1)))
	message := &event.Message{KeyID: "K", MessageType: "conversation", Content: json.RawMessage(`{}`)}
	_ = r.line.report(t.Context(), event.Fact{Kind: event.MessagesUpsert, Data: message}) // stored or not: it was received
	s := status()
	recent("lastConnectedAt", s.LastConnectedAt)
	recent("lastSentAt", s.LastSentAt)
	recent("lastReceivedAt", s.LastReceivedAt)

	r.line.online.Store(false)
	err := r.line.report(t.Context(), event.Fact{
		Kind: event.ConnectionUpdated, Status: event.ConnectionError, Reason: 503, Error: "WhatsApp is overloaded",
		Data: event.ConnectionUpdate{Type: event.TypeConnectFailure, Connection: event.ConnectionClose, StatusReason: 503},
	})
	if err != nil {
		t.Fatal(err)
	}
	s = status()
	if s.StatusReason != 503 || s.LastError == nil || *s.LastError != "WhatsApp is overloaded" {
		t.Errorf("after a failure: %+v", s)
	}
	if s.State != "close" || s.Connected || !s.LoggedIn {
		t.Errorf("after a failure: %+v", s)
	}
	recent("lastConnectedAt", s.LastConnectedAt)
}

func TestInstanceShowsPictureTimesAndText(t *testing.T) {
	r, token := online(t)
	made := decoded[instances.CreatedInstance](t, r.admin("POST", "/instance", `{"instanceName":"b","description":"front desk"}`))
	if made.Description == nil || *made.Description != "front desk" || made.CreatedAt.IsZero() || made.UpdatedAt != made.CreatedAt {
		t.Errorf("created: %+v", made)
	}
	picture := "https://pps.whatsapp.net/v/x.jpg"
	own := "4915100000000@s.whatsapp.net"
	if err := r.line.report(t.Context(), event.Fact{Kind: event.ProfilePictureUpdate, Picture: &picture, Data: event.PictureUpdate{JID: own}}); err != nil {
		t.Fatal(err)
	}
	shown := decoded[instances.ShownInstance](t, r.as(token, "GET", "/instance/a", ""))
	if shown.ProfilePicURL == nil || *shown.ProfilePicURL != picture {
		t.Errorf("profilePicUrl %v", shown.ProfilePicURL)
	}
	if shown.CreatedAt.IsZero() || shown.UpdatedAt.Before(shown.CreatedAt.Time) || time.Since(shown.UpdatedAt.Time) > time.Minute {
		t.Errorf("created at %v, updated at %v", shown.CreatedAt, shown.UpdatedAt)
	}
}

func TestLogoutReportsFailedUnlink(t *testing.T) {
	r, token := online(t)
	r.line.logoutErr = event.ErrNotConnected
	got := decoded[instances.LogoutAnswer](t, r.as(token, "DELETE", "/instance/a/logout", ""))
	if got.State != "logged_out" || !strings.Contains(got.Message, "remove the linked device on the phone") {
		t.Errorf("got %+v", got)
	}
	r, token = online(t)
	r.line.logoutErr = errors.New("the file is damaged")
	wantError(t, r.as(token, "DELETE", "/instance/a/logout", ""), 500, "INTERNAL_ERROR")
}

func TestUnnamedInstanceGetsAUUIDName(t *testing.T) {
	r := newRig(t)
	made := decoded[instances.CreatedInstance](t, r.admin("POST", "/instance", `{}`))
	if n := strings.TrimPrefix(made.Name, "instance-"); len(n) != 36 || made.ID != 1 || made.Auth.ID != 1 {
		t.Errorf("got %+v", made)
	}
	if res := r.as(made.Auth.Token, "GET", "/instance/"+made.Name, ""); res.StatusCode != http.StatusOK {
		t.Errorf("its token: %s", res.Status)
	}
}

func TestCausedEventsCarryTheRequestID(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	cause := func(name, method, path, body string, want event.Kind) {
		t.Helper()
		r.notices()
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("X-Request-Id", name)
		if res := do(r.h, req); res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", name, res.Status)
		}
		all := r.notices()
		for begun := time.Now(); len(all) == 0 && time.Since(begun) < 10*time.Second; all = r.notices() {
			time.Sleep(time.Millisecond) // a restart goes on behind its answer
		}
		if len(all) == 0 {
			t.Errorf("%s: no event", name)
		}
		for _, n := range all {
			if n.Kind != want || n.RequestID != name {
				t.Errorf("%s: %s with the request id %q", name, n.Kind, n.RequestID)
			}
		}
	}
	cause("connect", "POST", "/instance/a/connect", "", event.QRCodeUpdated)
	r.line.paired.Store(true)
	decoded[instances.LogoutAnswer](t, r.as(token, "DELETE", "/instance/a/logout", ""))
	r.line.paired.Store(true)
	cause("login", "GET", "/instance/a/connect", "", event.ConnectionUpdated)
	cause("restart", "POST", "/instance/a/restart", "", event.ConnectionUpdated)
	cause("send", "POST", "/instance/a/send/text", textBody(1), event.SendMessage)
	cause("logout", "DELETE", "/instance/a/logout/a", "", event.ConnectionUpdated)
}

func TestStatusShowsARestrictionUntilItEnds(t *testing.T) {
	r, token := online(t)
	restricted := func() *instances.Restriction {
		return decoded[instances.StatusAnswer](t, r.as(token, "GET", "/instance/a/connection/status", "")).Restriction
	}
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	tell := func(now event.Restriction) {
		t.Helper()
		now.Type = event.StatusAccountReachoutTimelock
		err := r.line.report(t.Context(), event.Fact{Kind: event.StatusInstance, Restriction: &now, Data: event.InstanceStatus{Type: now.Type}})
		if err != nil {
			t.Fatal(err)
		}
	}
	tell(event.Restriction{Until: until, Reason: "DEFAULT"})
	if got := restricted(); got == nil || got.Kind != "reachout_timelock" || got.Source != "notified" || !got.Until.Equal(until) || got.Reason != "DEFAULT" {
		t.Errorf("restricted: %+v", got)
	}
	tell(event.Restriction{Lifted: true})
	if got := restricted(); got != nil {
		t.Errorf("lifted: %+v", got)
	}
}

func TestChangedWebhookKeepsItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		token := r.instance("a")
		made := decoded[webhooks.Webhook](t, r.as(token, "PUT", "/instance/a/webhook", `{"url":"https://example.org"}`))
		time.Sleep(time.Second) // costs nothing in a bubble
		changed := decoded[webhooks.Webhook](t, r.as(token, "PUT", "/instance/a/webhook", `{"enabled":false}`))
		if changed.ID != made.ID || changed.InstanceID != 1 || changed.CreatedAt != made.CreatedAt || changed.UpdatedAt.Sub(made.UpdatedAt.Time) != time.Second {
			t.Errorf("made %+v, changed %+v", made, changed)
		}
	})
}

func TestPairingCodeLoginCarriesTheRequestID(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	req := httptest.NewRequest("GET", "/instance/a/connect/code/4915112345678", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("X-Request-Id", "typed")
	if res := do(r.h, req); res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	r.notices()
	if err := r.line.logIn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := r.notices(); len(all) != 1 || all[0].RequestID != "typed" {
		t.Errorf("got %+v", all)
	}
}

func TestPairedInstanceIsLoggedInBeforeDialling(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	err := r.registry.Report(t.Context(), 1, event.Fact{
		Kind: event.ConnectionUpdated, Status: event.Disconnected, Link: &event.Link{JID: "4915100000000@s.whatsapp.net"},
		Data: event.ConnectionUpdate{Type: event.TypeDisconnected, Connection: event.ConnectionClose},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := decoded[instances.StatusAnswer](t, r.as(token, "GET", "/instance/a/connection/status", ""))
	if !s.LoggedIn || s.Connected || s.State != "close" {
		t.Errorf("got %+v", s)
	}
}
