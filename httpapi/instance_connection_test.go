package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"postern/event"
	"postern/httpapi/instances"
	"postern/instance"
)

func TestConnectTellsTheCodeOnEveryPath(t *testing.T) {
	for _, path := range []string{"/instance/a/connect", "/instance/connect/a"} {
		for _, method := range []string{"GET", "POST"} {
			r := newRig(t)
			token := r.instance("a")
			got := decoded[instances.ConnectAnswer](t, r.as(token, method, path, ""))
			if got.Count != 1 || got.Code == nil || *got.Code != "2@x" || got.ConnectionStatus != "QR_CODE" || got.InstanceName != "a" {
				t.Errorf("%s %s: got %+v", method, path, got)
			}
		}
	}
}

func TestConnectWhenOnlineHasNoCode(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.line.paired.Store(true)
	decoded[instances.ConnectAnswer](t, r.as(token, "GET", "/instance/a/connect", ""))
	got := decoded[map[string]json.RawMessage](t, r.as(token, "GET", "/instance/a/connect", ""))
	for field, want := range map[string]string{
		"code": "", "base64": "", "count": "0", "alreadyConnected": "true", "connectionStatus": `"ONLINE"`,
	} {
		if string(got[field]) != want {
			t.Errorf("%s is %s, want %s", field, got[field], want)
		}
	}
	wantError(t, r.as(token, "GET", "/instance/a/connect/code/4915112345678", ""), 409, "ALREADY_CONNECTED")
}

func TestConnectIs408WhenNoCodeComes(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.line.silent.Store(true)
	wantError(t, r.as(token, "POST", "/instance/a/connect", ""), 408, "CONNECT_TIMEOUT")
}

func TestPairingCodeByPathAndByBody(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	for _, c := range [][3]string{
		{"GET", "/instance/a/connect/code/4915112345678", ""},
		{"GET", "/instance/connect/a/code/+49%20151-12345678", ""},
		{"POST", "/instance/a/connect/code", `{"phoneNumber":"+49 151 12345678"}`},
		{"POST", "/instance/connect/a/code", `{"phoneNumber":"4915112345678"}`},
	} {
		r.line.phone = ""
		got := decoded[map[string]string](t, r.as(token, c[0], c[1], c[2]))
		if got["code"] != "ABCD-EFGH" || r.line.phone != "4915112345678" {
			t.Errorf("%s: got %v for %q", c[1], got, r.line.phone)
		}
	}
	wantError(t, r.as(token, "POST", "/instance/a/connect/code", `{"phoneNumber":"12"}`), 422, "INVALID_RECIPIENT")
	wantError(t, r.as(token, "POST", "/instance/a/connect/code", `{"phoneNumber":"123@lid"}`), 422, "INVALID_RECIPIENT")
	wantError(t, r.as(token, "POST", "/instance/a/connect/code", `{}`), 400, "MISSING_FIELD")
}

func TestStatusTellsTheSocketsTruth(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	status := func() instances.StatusAnswer {
		return decoded[instances.StatusAnswer](t, r.as(token, "GET", "/instance/connectionState/a", ""))
	}
	if s := status(); s.State != "close" || s.ConnectionStatus != "OFFLINE" || s.Connected || s.LoggedIn || s.StatusReason != 0 {
		t.Errorf("before: %+v", s)
	}
	r.line.paired.Store(true)
	decoded[instances.ConnectAnswer](t, r.as(token, "GET", "/instance/a/connect", ""))
	if s := status(); s.State != "open" || s.ConnectionStatus != "ONLINE" || !s.Connected || !s.LoggedIn || s.OwnerJID == nil {
		t.Errorf("online: %+v", s)
	}
	r.line.online.Store(false)
	if s := status(); s.State != "connecting" || s.Connected {
		t.Errorf("the socket is gone: %+v", s)
	}
}

func TestEveryStateHasItsSocketWord(t *testing.T) {
	want := map[event.State]string{
		event.Online: "open", event.Connecting: "connecting", event.QRCodeState: "connecting",
		event.PairingCodeState: "connecting", event.Pairing: "connecting", event.Reconnecting: "connecting",
	}
	for _, s := range event.States() {
		w, listed := want[s]
		if !listed {
			w = "close"
		}
		if got := instances.SocketState(s); got != w {
			t.Errorf("%s: got %s, want %s", s, got, w)
		}
	}
}

func TestLogoutHasThreePaths(t *testing.T) {
	for _, path := range []string{"/instance/a/logout", "/instance/a/logout/a", "/instance/logout/a"} {
		r := newRig(t)
		token := r.instance("a")
		never := decoded[instances.LogoutAnswer](t, r.as(token, "DELETE", path, ""))
		if never.State != "logged_out" || never.ConnectionStatus != "LOGGED_OUT" {
			t.Errorf("%s, never paired: got %+v", path, never)
		}
		r.line.paired.Store(true)
		decoded[instances.ConnectAnswer](t, r.as(token, "GET", "/instance/a/connect", ""))
		got := decoded[instances.LogoutAnswer](t, r.as(token, "DELETE", path, ""))
		if got.State != "logged_out" || got.ConnectionStatus != "LOGGED_OUT" || got.InstanceName != "a" || got.Message == "" {
			t.Errorf("%s: got %+v", path, got)
		}
		wantError(t, r.as(token, "DELETE", "/instance/a/logout/b", ""), 404, "NOT_FOUND")
	}
}

func TestRestartOfUnpairedInstanceIs503(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	wantError(t, r.as(token, "POST", "/instance/a/restart", ""), 503, "INSTANCE_NOT_CONNECTED")
	r.line.paired.Store(true)
	decoded[instances.StatusAnswer](t, r.as(token, "POST", "/instance/a/restart", ""))
}

// online returns a rig with one connected instance and its token.
func online(t *testing.T) (*rig, string) {
	t.Helper()
	r := newRig(t)
	token := r.instance("a")
	r.line.paired.Store(true)
	decoded[instances.ConnectAnswer](t, r.as(token, "GET", "/instance/a/connect", ""))
	return r, token
}

func textBody(n int) string {
	return `{"number":"4915112345678","textMessage":{"text":"` + strings.Repeat("é", n) + `"}}`
}

func TestSendTextAnswersWithTheStoredMessage(t *testing.T) {
	r, token := online(t)
	for _, field := range []string{"number", "chat", "recipient"} {
		body := `{"` + field + `":"+49 151 12345678","textMessage":{"text":"hi"},"options":{"externalAttributes":{"o":1}}}`
		got := decoded[event.Message](t, r.as(token, "POST", "/instance/a/send/text", body))
		if got.ID == 0 || got.InstanceID != 1 || got.KeyID != r.line.sent.ID || string(got.ExternalAttributes) != `{"o":1}` {
			t.Errorf("%s: got %+v", field, got)
		}
		if r.line.sent.To != "4915112345678@s.whatsapp.net" || r.line.sent.Content.Text.Text != "hi" {
			t.Errorf("%s: sent %+v", field, r.line.sent)
		}
	}
	group := `{"number":"1-2@g.us","textMessage":{"text":"hi"}}`
	decoded[event.Message](t, r.as(token, "POST", "/message/sendText/a", group))
	decoded[event.Message](t, r.as(token, "POST", "/instance/a/send/text", textBody(event.MaxText)))
}

func TestABadTextIsRefused(t *testing.T) {
	r, token := online(t)
	for _, c := range []struct {
		body   string
		status int
		code   string
	}{
		{textBody(event.MaxText + 1), 422, "INVALID_MESSAGE"},
		{textBody(0), 422, "INVALID_MESSAGE"},
		{`{"number":"12","textMessage":{"text":"x"}}`, 422, "INVALID_RECIPIENT"},
		{`{"number":"4915112345678","chat":"4915112345678","textMessage":{"text":"x"}}`, 400, "ONE_RECIPIENT"},
		{`{"textMessage":{"text":"x"}}`, 400, "ONE_RECIPIENT"},
		{`{"number":"4915112345678"}`, 400, "MISSING_FIELD"},
		{`{"number":"4915112345678","textMessage":{"Text":"x"}}`, 400, "UNKNOWN_FIELD"},
		{`{"number":4915112345678,"textMessage":{"text":"x"}}`, 400, "INVALID_TYPE"},
	} {
		wantError(t, r.as(token, "POST", "/instance/a/send/text", c.body), c.status, c.code)
	}
}

func TestEachOutcomeOfASendHasItsStatus(t *testing.T) {
	r, token := online(t)
	for err, want := range map[error]int{
		event.ErrNotConnected: 503, event.ErrNotOnWhatsApp: 422, event.ErrSendRefused: 422,
		event.ErrOutcomeUnknown: 408, errors.New("else"): 500,
	} {
		r.line.sendErr = fmt.Errorf("send: %w", err)
		if got := r.as(token, "POST", "/instance/a/send/text", textBody(1)).StatusCode; got != want {
			t.Errorf("%v: status %d, want %d", err, got, want)
		}
	}
	r.line.online.Store(false)
	wantError(t, r.as(token, "POST", "/instance/a/send/text", textBody(1)), 503, "INSTANCE_NOT_CONNECTED")
}

func TestTwiceWrappedErrorHasTheOuterStatus(t *testing.T) {
	for _, m := range errorTable() {
		if r, _ := answerTo(fmt.Errorf("%w: %w", instance.ErrNotStored, m.err)); r.Status != 406 {
			t.Errorf("sent, then not stored because %v: status %d", m.err, r.Status)
		}
	}
}
