package httpapi

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"postern/httpapi/rest"

	"github.com/julienschmidt/httprouter"
)

func TestLegacyPathsAreRewrittenToTheCurrentOnes(t *testing.T) {
	cases := []struct{ method, path, want string }{
		{"POST", "/instance/create", "/instance"},
		{"GET", "/instance/fetchInstances", "/instance"},
		{"GET", "/instance/fetchInstance/a", "/instance/a"},
		{"PUT", "/instance/refreshToken/a", "/instance/a/refreshToken"},
		{"GET", "/instance/connect/a", "/instance/a/connect"},
		{"POST", "/instance/connect/a", "/instance/a/connect"},
		{"GET", "/instance/connect/a/code/4915", "/instance/a/connect/code/4915"},
		{"POST", "/instance/connect/a/code", "/instance/a/connect/code"},
		{"GET", "/instance/connectionState/a", "/instance/a/connection/status"},
		{"DELETE", "/instance/logout/a", "/instance/a/logout"},
		{"DELETE", "/instance/a/logout/a", "/instance/a/logout"},
		{"PUT", "/webhook/set/a", "/instance/a/webhook"},
		{"GET", "/webhook/find/a", "/instance/a/webhook"},
		{"POST", "/message/sendText/a", "/instance/a/send/text"},
		{"POST", "/message/batches/x/resume", "/message/batches/x/start"},
		{"GET", "/instance/a", "/instance/a"},
		{"DELETE", "/instance/a/logout/b", "/instance/a/logout/b"},
		{"PUT", "/webhook/set/", "/webhook/set/"},
	}
	for _, c := range cases {
		if got, _, allowed := rest.Rewrite(aliases(), c.method, c.path); len(allowed) > 0 || got != c.want {
			t.Errorf("%s %s: got %q, %v, want %q", c.method, c.path, got, allowed, c.want)
		}
	}
}

// TestPathIsComparedWithAllAliases: the few compared aliases give the same result as all would.
func TestPathIsComparedWithAllAliases(t *testing.T) {
	all := aliases()
	rt := rest.NewRouter(all)
	type answer struct {
		path    string
		legacy  bool
		allowed string
	}
	ask := func(table []rest.Alias, method, path string) answer {
		current, legacy, allowed := rest.Rewrite(table, method, path)
		return answer{current, legacy, strings.Join(allowed, " ")}
	}
	fitted := 0
	for _, a := range all {
		for _, name := range []string{"a", "code", "Logout", "{i}", "é", "0", "logout", "uploads", ""} {
			path := a.From
			for _, parameter := range []string{"{i}", "{id}", "{phone}"} {
				path = strings.ReplaceAll(path, parameter, name)
			}
			for _, path := range []string{path, strings.ToUpper(path), path + "/", path + "/" + name, a.To, path[:len(path)-1]} {
				for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH"} {
					want := ask(all, method, path)
					if got := ask(rt.Likely(path), method, path); got != want {
						t.Errorf("%s %s: %+v, and of all aliases %+v", method, path, got, want)
					}
					if want.path != path || want.allowed != "" {
						fitted++
					}
				}
			}
		}
	}
	if fitted < len(all) {
		t.Errorf("only %d paths were aliases", fitted)
	}
}

func TestLegacyPathHasOnlyItsOwnMethods(t *testing.T) {
	_, _, allowed := rest.Rewrite(aliases(), "PATCH", "/instance/connect/a")
	if !slices.Equal(allowed, []string{"GET", "POST"}) {
		t.Errorf("got %v", allowed)
	}
}

func TestRouterFindsRouteThenMethod(t *testing.T) {
	rt := rest.NewRouter([]rest.Alias{{Methods: []string{"POST"}, From: "/old/{i}", To: "/a/{i}/x"}})
	var hit string
	for _, r := range []string{"GET /a/{i}", "POST /a/{i}/x", "GET /l", "POST /l", "POST /l/list", "GET /l/{id}", "POST /l/{id}/go"} {
		method, path, _ := strings.Cut(r, " ")
		rt.Add(method, path, func(http.ResponseWriter, *http.Request, httprouter.Params) { hit = r })
	}
	cases := []struct{ method, target, want, allowed string }{
		{"GET", "/a/one", "GET /a/{i}", ""},
		{"POST", "/old/one", "POST /a/{i}/x", ""},
		{"POST", "/l/list", "POST /l/list", ""},
		{"GET", "/l/list", "", "POST"},
		{"GET", "/l/other", "GET /l/{id}", ""},
		{"POST", "/l/other/go", "POST /l/{id}/go", ""},
		{"PUT", "/l", "", "GET,POST"},
		{"GET", "/old/one", "", "POST"},
		{"DELETE", "/a/one", "", "GET"},
		{"GET", "/a/", "", ""},
		{"GET", "/a//", "", ""},
		{"POST", "/a//x", "", ""},
		{"GET", "/a/one/", "", ""},
		{"GET", "/A/one", "", ""},
		{"GET", "/a/o%2Fx", "", ""},
		{"POST", "/a/o%2Fx", "", ""},
		{"GET", "/%61/one", "GET /a/{i}", ""},
		{"GET", "/a/../l", "", ""},
		{"GET", "//l", "", ""},
		{"GET", "/", "", ""},
	}
	for _, c := range cases {
		hit = ""
		f := rt.Find(httptest.NewRequest(c.method, c.target, nil))
		if f.Handle != nil {
			f.Handle(nil, nil, f.Params)
		}
		if hit != c.want || strings.Join(f.Allowed, ",") != c.allowed {
			t.Errorf("%s %s: got %q, allowed %v; want %q, %q", c.method, c.target, hit, f.Allowed, c.want, c.allowed)
		}
	}
}
