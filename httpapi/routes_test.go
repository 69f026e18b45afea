package httpapi

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"postern/httpapi/rest"

	"github.com/google/uuid"
)

// concrete fills the parameters of a path of the route table.
func concrete(path string) string {
	return strings.NewReplacer(
		"{i}", "some-instance", "{id}", uuid.NewString(), "{item}", uuid.NewString(), "{phone}", "4915112345678",
	).Replace(path)
}

// at is concrete for a row, with a link to some-instance if the row needs one.
func (r *rig) at(row rest.Route) string {
	r.t.Helper()
	if row.Auth != rest.PortalLink {
		return concrete(row.Path)
	}
	rec, err := r.registry.ByName("some-instance")
	if err != nil {
		r.instance("some-instance")
		rec, err = r.registry.ByName("some-instance")
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Replace(row.Path, "/portal/{token}", r.linkTo(rec), 1)
}

func TestRoutesAnswer405WithTheirMethods(t *testing.T) {
	r := newRig(t)
	for _, row := range routes() {
		for _, method := range []string{"TRACE", "OPTIONS", "BREW"} { // HEAD: see head_rules_test.go
			res := do(r.h, httptest.NewRequest(method, concrete(row.Path), nil))
			if !slices.Contains(strings.Split(res.Header.Get("Allow"), ", "), row.Method) {
				t.Errorf("%s %s: Allow %q", method, row.Path, res.Header.Get("Allow"))
			}
			wantError(t, res, 405, "METHOD_NOT_ALLOWED")
		}
	}
}

func TestRoutesAnswer401BeforeReadingTheBody(t *testing.T) {
	r := newRig(t)
	for _, row := range routes() {
		if row.Auth == rest.Public || row.Auth == rest.Handshake || row.Auth == rest.PortalLink { // which is not found
			continue
		}
		for name, set := range map[string][2]string{
			"none":          {"X-Nothing", ""},
			"a wrong key":   {"Apikey", "wrong"},
			"a wrong token": {"Authorization", "Bearer wrong"},
		} {
			req := httptest.NewRequest(row.Method, concrete(row.Path), strings.NewReader("{malformed"))
			req.Header.Set(set[0], set[1])
			res := do(r.h, req)
			if res.StatusCode != 401 {
				t.Errorf("%s %s with %s: status %d", row.Method, row.Path, name, res.StatusCode)
				continue
			}
			wantError(t, res, 401, "UNAUTHORIZED")
		}
	}
}

func TestNoCredentialOpensARouteOfAnotherScheme(t *testing.T) {
	r := newRig(t)
	for _, row := range routes() {
		req := httptest.NewRequest(row.Method, concrete(row.Path), nil)
		switch row.Auth {
		case rest.UserBearer, rest.InstanceBearer, rest.PathBearer:
			req.Header.Set("apikey", testKey)
		case rest.GlobalKey, rest.SignIn, rest.AnyKey:
			req.Header.Set("Authorization", "Bearer "+r.token)
		case rest.Public, rest.Handshake, rest.PortalLink:
			continue
		}
		if res := do(r.h, req); res.StatusCode != 401 {
			t.Errorf("%s %s: status %d", row.Method, row.Path, res.StatusCode)
		}
	}
}

func TestARouteIsInTheTableOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range routes() {
		key := row.Method + " " + row.Path
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
	}
}

func TestEveryAliasLeadsToARoute(t *testing.T) {
	r := newRig(t)
	for _, a := range aliases() {
		for _, method := range a.Methods {
			if !slices.ContainsFunc(routes(), func(row rest.Route) bool { return row.Method == method && row.Path == a.To }) {
				t.Errorf("%s %s leads to %s, which is no route", method, a.From, a.To)
			}
		}
		wantError(t, do(r.h, httptest.NewRequest("TRACE", concrete(a.From), nil)), 405, "METHOD_NOT_ALLOWED")
	}
}
