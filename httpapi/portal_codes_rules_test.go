package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"postern/access"
)

// askCode requests a pairing code through a portal link.
func (r *rig) askCode(path string, n int) *http.Response {
	body := fmt.Sprintf(`{"phoneNumber":"49151000%04d"}`, n)
	return do(r.h, httptest.NewRequest("POST", path+"/connect/code", strings.NewReader(body)))
}

// TestPortalLinkAsksForFewCodes: five by one link, twenty by all links of an instance, including later ones; other credentials
// and other instances are not limited.
func TestPortalLinkAsksForFewCodes(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	rec, err := r.registry.ByName("a")
	if err != nil {
		t.Fatal(err)
	}
	refused := func(res *http.Response, most time.Duration) {
		t.Helper()
		wantError(t, res, 429, "RATE_LIMITED")
		if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err != nil || s < 1 || time.Duration(s)*time.Second > most {
			t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
		}
	}
	n := 0
	for range 4 {
		path := r.linkTo(rec)
		for range 5 {
			if n++; r.askCode(path, n).StatusCode == 429 {
				t.Fatalf("code %d is refused", n)
			}
		}
		refused(r.askCode(path, n), 24*time.Hour)
	}
	refused(r.askCode(r.linkTo(rec), n), 24*time.Hour)
	r.api.Access.Links = access.NewLinks(r.api.Store) // as after a restart
	refused(r.askCode(r.linkTo(rec), n), 24*time.Hour)
	if res := r.with(token, "POST", "/instance/a/connect/code", `{"phoneNumber":"4915112345678"}`); res.StatusCode == 429 {
		t.Error("the instance's own token is bounded")
	}
	r.instance("b")
	if rec, err = r.registry.ByName("b"); err != nil {
		t.Fatal(err)
	}
	path := r.linkTo(rec)
	for i := range 5 {
		if r.askCode(path, i).StatusCode == 429 {
			t.Fatal("another instance is bounded")
		}
	}
	refused(r.askCode(path, 5), 15*time.Minute)
	wantError(t, do(r.h, httptest.NewRequest("POST", path+"/connect/code", strings.NewReader(`{"phoneNumber":"x"}`))), 422, "INVALID_RECIPIENT")
}
