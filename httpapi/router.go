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
	path, allowed, ok := rewrite(rt.aliases, r.Method, r.URL.Path)
	if !ok {
		return found{allowed: allowed}
	}
	for _, m := range rt.mounts {
		if strings.HasPrefix(path, m.prefix) {
			return found{handle: m.handle}
		}
	}
	if byMethod, ok := rt.fixed[path]; ok {
		return findFixed(byMethod, r.Method)
	}
	return rt.findInTree(r.Method, path)
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

// hidesSlash reports whether a segment has an escaped slash in it: decoded, the
// request would mean another path than it was written for.
func hidesSlash(r *http.Request) bool {
	return r.URL.RawPath != "" && strings.Count(r.URL.EscapedPath(), "/") != strings.Count(r.URL.Path, "/")
}
