package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"
)

// router finds the handler of a request. Paths without parameters are looked
// up in a map, the others in an httprouter: that one is fast, and redirects
// nothing when it is asked by Lookup, but cannot hold a fixed word and a
// parameter at the same place, such as /message/batches/list beside
// /message/batches/{id}.
type router struct {
	aliases []alias
	fixed   map[string]map[string]httprouter.Handle // path -> method -> handler
	tree    *httprouter.Router
	methods []string // those of the tree
	mounts  []mount
}

// mount is a handler that owns every path below prefix, with any method.
type mount struct {
	prefix string // ends with a slash
	handle httprouter.Handle
}

// found is what the router knows about a request: a handler with its
// parameters or, when handle is nil, the methods that the path has; none means
// that there is no such path.
type found struct {
	handle  httprouter.Handle
	params  httprouter.Params
	allowed []string
	legacy  bool // the path is one of older clients
}

func newRouter(legacy []alias) *router {
	return &router{aliases: legacy, fixed: map[string]map[string]httprouter.Handle{}, tree: httprouter.New()}
}

// add registers a handler; path has its parameters in braces.
func (rt *router) add(method, path string, h httprouter.Handle) {
	if !strings.Contains(path, "{") {
		if rt.fixed[path] == nil {
			rt.fixed[path] = map[string]httprouter.Handle{}
		}
		rt.fixed[path][method] = h
		return
	}
	rt.tree.Handle(method, strings.NewReplacer("{", ":", "}", "").Replace(path), h)
	if !slices.Contains(rt.methods, method) {
		rt.methods = append(rt.methods, method)
		slices.Sort(rt.methods)
	}
}

func (rt *router) find(r *http.Request) found {
	if hidesSlash(r) {
		return found{}
	}
	path, legacy, allowed := rewrite(rt.aliases, r.Method, r.URL.Path)
	if len(allowed) > 0 {
		return found{allowed: allowed}
	}
	f := rt.route(r.Method, path)
	f.legacy = legacy
	return f
}

// route finds the handler of a current path.
func (rt *router) route(method, path string) found {
	for _, m := range rt.mounts {
		if strings.HasPrefix(path, m.prefix) {
			return found{handle: m.handle}
		}
	}
	if byMethod, ok := rt.fixed[path]; ok {
		return findFixed(byMethod, method)
	}
	return rt.findInTree(method, path)
}

func findFixed(byMethod map[string]httprouter.Handle, method string) found {
	if h, ok := byMethod[method]; ok {
		return found{handle: h}
	}
	var f found
	for m := range byMethod {
		f.allowed = append(f.allowed, m)
	}
	slices.Sort(f.allowed)
	return f
}

func (rt *router) findInTree(method, path string) found {
	if h, params := rt.lookup(method, path); h != nil {
		return found{handle: h, params: params}
	}
	var f found
	for _, m := range rt.methods {
		if h, _ := rt.lookup(m, path); h != nil {
			f.allowed = append(f.allowed, m)
		}
	}
	return f
}

// lookup asks the tree. It matches an empty segment with a parameter, which is
// no path of ours.
func (rt *router) lookup(method, path string) (httprouter.Handle, httprouter.Params) {
	h, params, _ := rt.tree.Lookup(method, path)
	for _, p := range params {
		if p.Value == "" {
			return nil, nil
		}
	}
	return h, params
}

// withoutSlash returns r, or a copy of it without the slash at the end of its
// path. What is left after it is not looked at again: of two slashes one stays,
// and is an empty segment.
func withoutSlash(r *http.Request) *http.Request {
	path, ok := strings.CutSuffix(r.URL.Path, "/")
	if !ok || path == "" || hidesSlash(r) {
		return r
	}
	at := *r.URL
	at.Path, at.RawPath = path, strings.TrimSuffix(at.RawPath, "/")
	trimmed := r.WithContext(r.Context())
	trimmed.URL = &at
	return trimmed
}

// hidesSlash reports whether a segment has an escaped slash in it: decoded, the
// request would mean another path than it was written for.
func hidesSlash(r *http.Request) bool {
	return r.URL.RawPath != "" && strings.Count(r.URL.EscapedPath(), "/") != strings.Count(r.URL.Path, "/")
}
