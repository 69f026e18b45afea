package httpapi

import (
	"strings"
	"testing"

	"postern/httpapi/rest"
)

// The whole table of features that are not offered, with every method that a client may use.
func TestNotOfferedIs501ByEveryMethod(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	paths := []string{"/message/sendButtons/a", "/message/SENDLIST/a", "/message/reviewOrder/a", "/call/a", "/call/offer/a"}
	for end := range notOffered() {
		paths = append(paths, "/instance/a/send/"+end, "/instance/a/send/"+end+"/")
	}
	for _, path := range paths {
		for _, method := range []string{"POST", "PATCH", "PUT"} {
			if e := wantError(t, r.as(token, method, path, `{"number":"4915112345678"}`), 501, codeNotOffered); !strings.Contains(e.Messages[0], "instead") && !strings.Contains(path, "/call/") {
				t.Errorf("%s %s does not say what to use: %s", method, path, e.Messages)
			}
			wantError(t, r.as("", method, path, ""), 401, rest.CodeUnauthorized)
		}
		if !strings.HasPrefix(path, "/call/") {
			res := r.as(token, "GET", path, "")
			wantError(t, res, 405, rest.CodeMethodNotAllowed)
			if got := res.Header.Get("Allow"); got != "PATCH, POST, PUT" {
				t.Errorf("GET %s: Allow is %q", path, got)
			}
		}
	}
}

func TestNotOfferedIs501ForEveryValidCredential(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["metrics"],"recipients":["4915112345678"]}`).Key
	r.api.KeyOpensInstances = true
	for _, path := range []string{"/instance/a/send/buttons", "/message/sendList/a", "/call/offer/a"} {
		wantError(t, r.with(key, "POST", path, `{}`), 501, codeNotOffered)
		wantError(t, r.admin("POST", path, `{}`), 501, codeNotOffered)
		wantError(t, r.with(key+"x", "POST", path, `{}`), 401, rest.CodeUnauthorized)
	}
	for _, name := range []string{"b", "nobody"} {
		if e := wantError(t, r.with(key, "POST", "/instance/"+name+"/send/buttons", `{}`), 403, rest.CodeScope); strings.Contains(e.Messages[0], "scope") {
			t.Errorf("another instance: %s", e.Messages)
		}
	}
	r.api.KeyOpensInstances = false
	wantError(t, r.admin("POST", "/call/offer/a", `{}`), 401, rest.CodeUnauthorized)
}
