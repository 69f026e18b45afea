package httpapi

import (
	"net/http"
	"testing"

	"postern/event"
	"postern/httpapi/instances"
	"postern/httpapi/rest"
)

// elsewhere makes the account of the rig's session belong to WhatsApp, and the program to a sandbox.
func (r *rig) elsewhere() {
	r.line.paired.Store(true)
	r.line.wrong.Store(&event.NetworkError{Device: event.WhatsApp, Program: event.SandboxNetwork([32]byte{1})})
}

func TestWrongNetworkHasItsStatus(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.elsewhere()
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/instance/a/connect", "", 409},
		{"GET", "/instance/a/connect?number=49151", "", 409},
		{"POST", "/instance/connect/a", "", 409},
		{"GET", "/instance/a/connect/code/4915112345678", "", 409},
		{"POST", "/instance/a/connect/code", `{"phoneNumber":"4915112345678"}`, 409},
		{"POST", "/instance/a/connect/passkey/challenge", "", 409},
		{"GET", "/instance/a/qr.png", "", 409},
		{"POST", "/instance/a/restart", "", 409},
		{"DELETE", "/instance/a/logout", "", 409},
		{"DELETE", "/instance/logout/a", "", 409},
		{"POST", "/instance/a/send/text", `{"number":"4915112345678","textMessage":{"text":"x"}}`, 503},
		{"GET", "/instance/a/groups", "", 503},
	} {
		res := r.as(token, c.method, c.path, c.body)
		wait := res.Header.Get("Retry-After")
		wantError(t, res, c.status, "WRONG_NETWORK")
		if (wait != "") != (c.status == 503) {
			t.Errorf("%s %s: Retry-After %q", c.method, c.path, wait)
		}
	}
	for _, path := range []string{"/instance/a/connect?network=other", "/instance/a/connect?network=forget&network=forget", "/instance/a/connect/code/49?network="} {
		wantError(t, r.as(token, "GET", path, ""), 400, rest.CodeInvalidQuery)
	}
	if r.line.wrong.Load() == nil {
		t.Error("the account was removed")
	}
}

func TestForgetIsForWrongNetworkOnly(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.line.paired.Store(true)
	if got := decoded[instances.ConnectAnswer](t, r.as(token, "GET", "/instance/a/connect?network=forget", "")); got.ConnectionStatus != "ONLINE" || !r.line.Paired() {
		t.Errorf("an account of this network: %+v, linked %t", got, r.line.Paired())
	}
}

func TestForgetNeedsTheScopeManage(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.elsewhere()
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["pair"]}`)
	wantError(t, r.with(key.Key, "GET", "/instance/a/connect?network=forget", ""), http.StatusForbidden, rest.CodeScope)
	wantError(t, r.with(key.Key, "GET", "/instance/a/connect", ""), 409, rest.CodeWrongNetwork)
	both := r.newKey(`{"name":"k2","instances":["a"],"scopes":["pair","manage"]}`)
	if got := decoded[instances.ConnectAnswer](t, r.with(both.Key, "GET", "/instance/a/connect?network=forget", "")); got.Code == nil {
		t.Errorf("got %+v", got)
	}
}

func TestPortalLinkCannotForget(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	path := r.portalPath(token, 60)
	r.elsewhere()
	wantError(t, r.with("", "GET", path+"/connect?network=forget", ""), 503, instances.CodePortalNotAvailable)
	if r.line.wrong.Load() == nil {
		t.Error("the account was removed")
	}
}
