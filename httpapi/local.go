package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"postern/httpapi/operator"
	"postern/httpapi/rest"
)

// localRoutes are the routes that a node which does not own its cell answers itself, with
// the GlobalApiKey: they concern its process.
var localRoutes = []string{
	"GET /metrics", "GET /admin/cluster", "GET /admin/log", "PUT /admin/log", "DELETE /admin/log", "GET /admin/log/lines", "GET /admin/config",
	"GET /admin/support", "GET /admin/stats", "GET /admin/samples", "GET /admin/profile/heap", "GET /admin/profile/goroutine", "GET /admin/profile/cpu",
	"POST /admin/backup", "POST /admin/check",
}

// IsLocal reports whether a node that does not own its cell answers a path itself.
func IsLocal(path string) bool {
	return slices.ContainsFunc(localRoutes, func(route string) bool {
		_, own, _ := strings.Cut(route, " ")
		return own == path
	})
}

// NewLocal returns the handler of these routes. Of c it needs the key, the
// store and Program.
func NewLocal(c Config) http.Handler {
	api := operator.New(operator.Config{Program: c.Program, Store: c.Store})
	served := c.Config
	served.Store, served.Errors, served.RetryAfter = nil, answerTo, retryAfter
	s := rest.Bare(served)
	for _, r := range api.Routes() {
		if slices.Contains(localRoutes, r.Method+" "+r.Path) {
			r.Auth = rest.GlobalKey
			s.Add(r)
		}
	}
	s.Add(rest.Route{Method: http.MethodGet, Path: rest.PathMetrics, Auth: rest.GlobalKey, Handle: api.ShowMetrics})
	return s
}
