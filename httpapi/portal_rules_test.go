package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"postern/access"
	"postern/httpapi/instances"
	"postern/httpapi/rest"
	"postern/instance"
)

// portalPath returns the path of a link made with a credential.
func (r *rig) portalPath(token string, seconds int) string {
	r.t.Helper()
	res := r.with(token, "POST", "/instance/a/portal-link", fmt.Sprintf(`{"expiresIn":%d}`, seconds))
	if res.StatusCode != http.StatusCreated {
		r.t.Fatalf("POST portal-link: %s", res.Status)
	}
	url := decoded[instances.MadePortalLink](r.t, res).URL
	return url[strings.Index(url, "/portal/"):]
}

func (r *rig) open(method, path string) *http.Response {
	return do(r.h, httptest.NewRequest(method, path, nil))
}

// linkTo returns the path of a link to an instance made with its own token.
func (r *rig) linkTo(rec instance.Record) string {
	r.t.Helper()
	return r.linkUntil(rec, time.Now().Add(time.Hour))
}

func (r *rig) linkUntil(rec instance.Record, end time.Time) string {
	r.t.Helper()
	secret, err := r.api.Access.Links.Make(r.t.Context(), access.Link{Instance: rec.ID, Digest: rest.Instance{Token: rec.Token.Value}.TokenDigest(), ExpiresAt: end})
	if err != nil {
		r.t.Fatal(err)
	}
	return "/portal/" + secret
}

// TestAPortalLinkEndsWithWhatMadeIt, and when it expires.
func TestAPortalLinkEndsWithWhatMadeIt(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.instance("b")
	rotate := func() {
		token = decoded[instances.RotatedToken](t, r.admin("PUT", "/instance/a/token", "")).Token
	}
	keyed := func(end func(id string)) (string, func()) {
		k := r.newKey(`{"name":"k","instances":["a"],"scopes":["pair"]}`)
		return r.portalPath(k.Key, 60), func() { end(k.ID.String()) }
	}
	byToken := r.portalPath(token, 60)
	deleted, drop := keyed(func(id string) { r.admin("DELETE", "/keys/"+id, "") })
	narrowed, narrow := keyed(func(id string) { r.admin("PATCH", "/keys/"+id, `{"instances":["b"]}`) })
	s := r.signIn("apikey", testKey)
	made := decoded[instances.MadePortalLink](t, s.ask("POST", "/instance/a/portal-link", `{"expiresIn":60}`)).URL
	byOperator := made[strings.Index(made, "/portal/"):]
	for path, end := range map[string]func(){
		byToken: rotate, deleted: drop, narrowed: narrow, byOperator: func() { r.api.APIKey = "another key of enough bytes" },
	} {
		if res := r.open("GET", path+"/state"); res.StatusCode != 200 {
			t.Errorf("%s before the end: %s", path, res.Status)
		}
		end()
		wantError(t, r.open("GET", path+"/state"), 404, "PORTAL_NOT_FOUND")
		wantError(t, r.open("GET", path+"/connect"), 404, "PORTAL_NOT_FOUND")
		r.api.APIKey = testKey
	}
	rec, err := r.registry.ByName("a")
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(20 * time.Millisecond)
	short := r.linkUntil(rec, end)
	<-time.After(time.Until(end))
	wantError(t, r.open("GET", short+"/state"), 404, "PORTAL_NOT_FOUND")
}

// TestPortalLinkCannotLogOut: it can cancel a pairing, not unlink an account.
func TestPortalLinkCannotLogOut(t *testing.T) {
	r, token := online(t)
	path := r.portalPath(token, 60)
	wantError(t, r.open("DELETE", path+"/connect"), 409, "ALREADY_CONNECTED")
}

// TestPortalLinkShowsOnlyNameStateAndPairing: not even the linked number.
func TestPortalLinkShowsOnlyNameStateAndPairing(t *testing.T) {
	r, token := online(t)
	rec, err := r.registry.ByName("a")
	if err != nil || rec.OwnerJID == "" {
		t.Fatalf("%+v, %v", rec, err)
	}
	number, _, _ := strings.Cut(rec.OwnerJID, "@")
	path := r.portalPath(token, 60)
	for _, ask := range []struct{ method, path, body string }{
		{"GET", "/state", ""},
		{"GET", "/connect", ""},
		{"POST", "/connect/code", `{"phoneNumber":"4915112345678"}`},
		{"GET", "/connect/passkey/script", ""},
		{"POST", "/connect/passkey/assertion", `{}`},
		{"POST", "/connect/passkey/confirm", ""},
		{"DELETE", "/connect", ""},
	} {
		res := do(r.h, httptest.NewRequest(ask.method, path+ask.path, strings.NewReader(ask.body)))
		if said := text(t, res); strings.Contains(said, number) {
			t.Errorf("%s %s: %s", ask.method, ask.path, said)
		}
	}
	if own := text(t, r.with(token, "GET", "/instance/a/connect", "")); !strings.Contains(own, number) {
		t.Errorf("with the token: %s", own)
	}
}

// TestPortalLinkSaysNothingMeantForTheOperator: why an instance does not connect, and what to do about it.
func TestPortalLinkSaysNothingMeantForTheOperator(t *testing.T) {
	for name, set := range map[string]func(r *rig){
		"a dial that fails": func(r *rig) { r.line.dialErr = errors.New("proxy secret.internal:1080: refused") },
		"another network":   func(r *rig) { r.elsewhere() },
		"moved": func(r *rig) {
			if err := r.registry.Move(r.t.Context(), 1, ""); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			token := r.instance("a")
			path := r.portalPath(token, 60)
			set(r)
			for _, res := range []*http.Response{r.open("GET", path+"/connect"), r.open("GET", path+"/state")} {
				if res.StatusCode != 200 && res.StatusCode != 503 {
					t.Error(res.Status)
				}
				said := text(t, res)
				for _, word := range []string{"secret", "undo", "export", "moved", "whatsapp", "sandbox", "lastError"} {
					if strings.Contains(said, word) {
						t.Errorf("%s in %s", word, said)
					}
				}
				if res.StatusCode == 503 && (!strings.Contains(said, instances.CodePortalNotAvailable) || res.Header.Get("Retry-After") == "") {
					t.Errorf("Retry-After %q, %s", res.Header.Get("Retry-After"), said)
				}
			}
			if own := r.as(token, "GET", "/instance/a/connect", ""); own.StatusCode < 400 || strings.Contains(text(t, own), instances.CodePortalNotAvailable) {
				t.Errorf("with the token: %s", own.Status)
			}
		})
	}
}

// TestPortalExpiryIsASecondToADay
func TestPortalExpiryIsASecondToADay(t *testing.T) {
	r := newRig(t)
	token, other := r.instance("a"), r.instance("b")
	for _, seconds := range []string{"0", "-1", "86401"} {
		wantError(t, r.with(token, "POST", "/instance/a/portal-link", `{"expiresIn":`+seconds+`}`), 422, "INVALID_EXPIRES_IN")
	}
	wantError(t, r.with(token, "POST", "/instance/a/portal-link", `{}`), 400, "MISSING_FIELD")
	for _, seconds := range []int{1, 86400} {
		asked := time.Now().Add(time.Duration(seconds) * time.Second)
		made := decoded[instances.MadePortalLink](t, r.with(other, "POST", "/instance/b/portal-link", fmt.Sprintf(`{"expiresIn":%d}`, seconds)))
		if late := made.ExpiresAt.Sub(asked); late < -time.Second || late > 30*time.Second {
			t.Errorf("asked for %d seconds: it ends %s later than that", seconds, late)
		}
	}
	for range 100 {
		r.portalPath(token, 60)
	}
	wantError(t, r.with(token, "POST", "/instance/a/portal-link", `{"expiresIn":60}`), 429, "LIMIT_REACHED")
}
