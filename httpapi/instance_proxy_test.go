package httpapi

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"postern/httpapi/instances"
	"postern/httpapi/rest"
	"postern/whatsapp/proxy"
)

func TestAProxyIsSetShownTriedAndDeleted(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	wantError(t, r.as(token, "GET", "/instance/a/proxy", ""), 404, "PROXY_NOT_FOUND")
	wantError(t, r.as(token, "POST", "/instance/a/proxy/test", ""), 404, "PROXY_NOT_FOUND")
	const shown = "http://someone:***@proxy.example.org:3128"
	for body, uses := range map[string][]proxy.Use{
		`{"url":"http://someone:pa55word@proxy.example.org:3128"}`:                          proxy.Uses(),
		`{"url":"http://someone:pa55word@proxy.example.org:3128","for":null}`:               proxy.Uses(),
		`{"url":"http://someone:pa55word@proxy.example.org:3128","for":["media"]}`:          {proxy.Media},
		`{"url":"http://someone:pa55word@proxy.example.org:3128","for":["socket"]}`:         {proxy.Socket},
		`{"for":["media","socket"],"url":"http://someone:pa55word@proxy.example.org:3128"}`: proxy.Uses(),
	} {
		set := decoded[instances.ProxyView](t, r.as(token, "PUT", "/instance/a/proxy", body))
		got := decoded[instances.ProxyView](t, r.as(token, "GET", "/instance/a/proxy", ""))
		if set.URL != shown || got.URL != shown || !slices.Equal(set.For, uses) || !slices.Equal(got.For, uses) {
			t.Errorf("%s: set %+v, shown %+v", body, set, got)
		}
	}
	if got := decoded[instances.ProxyTrial](t, r.as(token, "POST", "/instance/a/proxy/test", "")); !got.OK || got.Step != nil || got.Error != nil {
		t.Errorf("a proxy that works: %+v", got)
	}
	r.line.probeErr = proxy.Failed(proxy.Auth, context.DeadlineExceeded)
	got := decoded[instances.ProxyTrial](t, r.as(token, "POST", "/instance/a/proxy/test", "{}"))
	if got.OK || got.Step == nil || *got.Step != proxy.Auth || got.Error == nil || !strings.Contains(*got.Error, "auth: no answer in time") {
		t.Errorf("one that does not: %+v", got)
	}
	for _, had := range []bool{true, false} {
		if got := decoded[instances.DeletedProxy](t, r.as(token, "DELETE", "/instance/a/proxy", "")); got.Deleted != had || got.InstanceName != "a" {
			t.Errorf("deleted %+v, want %t", got, had)
		}
	}
	wantError(t, r.as(token, "GET", "/instance/a/proxy", ""), 404, "PROXY_NOT_FOUND")
}

func TestFailingProxyIs422WithTheStep(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	for _, step := range []proxy.Step{proxy.Resolve, proxy.Connect, proxy.Auth, proxy.TLS} {
		r.line.probeErr = proxy.Failed(step, context.DeadlineExceeded)
		e := wantError(t, r.as(token, "PUT", "/instance/a/proxy", `{"url":"http://someone:pa55word@proxy.example.org:3128"}`), 422, "PROXY_UNREACHABLE")
		if e.Step != rest.FailedStep(step) || len(e.Messages) != 1 || !strings.Contains(e.Messages[0], string(step)) {
			t.Errorf("%s: %+v", step, e)
		}
		wantError(t, r.as(token, "GET", "/instance/a/proxy", ""), 404, "PROXY_NOT_FOUND")
	}
}

func TestBadProxyHasItsStatus(t *testing.T) {
	r := newRig(t)
	token, other := r.instance("a"), r.instance("b")
	const good = `{"url":"http://someone:pa55word@proxy.example.org:3128"}`
	decoded[instances.ProxyView](t, r.as(token, "PUT", "/instance/a/proxy", good))
	for body, want := range map[string]struct {
		status int
		code   string
	}{
		`{}`:                                     {400, "MISSING_FIELD"},
		`{"url":null}`:                           {400, "INVALID_TYPE"},
		`{"url":7}`:                              {400, "INVALID_TYPE"},
		`{"url":["http://x"]}`:                   {400, "INVALID_TYPE"},
		`{"url":"http://x","for":"socket"}`:      {400, "INVALID_TYPE"},
		`{"url":"http://x","for":[1]}`:           {400, "INVALID_TYPE"},
		`{"url":"http://x","For":["socket"]}`:    {400, "UNKNOWN_FIELD"},
		`{"url":"http://x","password":"pw"}`:     {400, "UNKNOWN_FIELD"},
		`{"url":"http://x","url":"http://y"}`:    {400, "DUPLICATE_FIELD"},
		`{"url":"http://x"`:                      {400, "MALFORMED_JSON"},
		`{"url":""}`:                             {422, "INVALID_PROXY"},
		`{"url":"socks4://x"}`:                   {422, "INVALID_PROXY"},
		`{"url":"http://u:***@x"}`:               {422, "INVALID_PROXY"},
		`{"url":"http://x/path"}`:                {422, "INVALID_PROXY"},
		`{"url":"http://x","for":[]}`:            {422, "INVALID_PROXY"},
		`{"url":"http://x","for":["Socket"]}`:    {422, "INVALID_PROXY"},
		`{"url":"http://x","for":["files"]}`:     {422, "INVALID_PROXY"},
		`{"url":"http://x","for":["socket",""]}`: {422, "INVALID_PROXY"},
	} {
		e := wantError(t, r.as(token, "PUT", "/instance/a/proxy", body), want.status, want.code)
		if want.code == "INVALID_PROXY" && !strings.HasPrefix(e.Messages[0], "url ") && !strings.HasPrefix(e.Messages[0], "for ") {
			t.Errorf("%s: no field in %q", body, e.Messages)
		}
	}
	for _, path := range []string{"/instance/a/proxy", "/instance/a/proxy/test"} {
		wantError(t, r.as(other, map[bool]string{true: "POST", false: "PUT"}[strings.HasSuffix(path, "test")], path, good), 403, "FORBIDDEN")
	}
	wantError(t, r.as(token, "POST", "/instance/a/proxy/test", `{"url":"http://x"}`), 400, "UNKNOWN_FIELD")
	if got := decoded[instances.ProxyView](t, r.as(token, "GET", "/instance/a/proxy", "")); got.URL != "http://someone:***@proxy.example.org:3128" {
		t.Errorf("afterwards it is %+v", got)
	}
}

func TestProxyPasswordIsNeverShown(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	const secret = "pa55word"
	all := func(res *http.Response) string {
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const body = `{"url":"https://someone:` + secret + `@proxy.example.org"}`
	answers := all(r.as(token, "PUT", "/instance/a/proxy", body))
	r.line.probeErr = proxy.Failed(proxy.Connect, io.EOF)
	answers += all(r.as(token, "PUT", "/instance/a/proxy", body)) + all(r.as(token, "PUT", "/instance/a/proxy", strings.Replace(body, ".org", ".org/x", 1)))
	for _, path := range []string{"/instance/a/proxy", "/instance/a", "/instance/a/connection/status"} {
		answers += all(r.as(token, "GET", path, ""))
	}
	answers += all(r.as(token, "POST", "/instance/a/proxy/test", "")) + all(r.admin("GET", "/instance", "")) + all(r.as(token, "DELETE", "/instance/a/proxy", ""))
	for _, n := range r.notices() {
		answers += string(n.Body)
	}
	if strings.Contains(answers, secret) {
		t.Errorf("the password is in %s", answers)
	}
}
