package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"
)

// Router finds the handler of a request. It looks up paths without parameters in a map, the others
// in an httprouter. That is fast, and does not redirect when used by Lookup, but cannot hold a fixed
// word and a parameter at the same place, such as /message/batches/list beside
// /message/batches/{id}. Therefore each length of path has its own httprouter:
// …/deliveries/replay does not conflict with …/deliveries/{id}/retry.
type Router struct {
	aliases map[shape][]Alias
	fixed   map[string]map[string]httprouter.Handle // path -> method -> handler
	trees   map[int]*httprouter.Router              // by the number of slashes
	methods []string                                // those of the trees
	mounts  []mount
}

// mount is a handler that owns every path below prefix, with any method.
type mount struct {
	prefix string // ends with a slash
	handle httprouter.Handle
}

// Found is the result of a lookup: a handler with its parameters or, if handle is nil, the methods of
// the path; no methods means that there is no such path.
type Found struct {
	Handle  httprouter.Handle
	Params  httprouter.Params
	Allowed []string
	legacy  bool // the path is one of older clients
}

// NewRouter returns a router without routes, which knows former paths by the table.
func NewRouter(table []Alias) *Router {
	return &Router{aliases: byShape(table), fixed: map[string]map[string]httprouter.Handle{}, trees: map[int]*httprouter.Router{}}
}

// shape is what a path has in common with the aliases that may match it, so that a request is
// compared with few of them.
type shape struct {
	slashes int
	initial byte // of the first word, which is no parameter, in lower case
	last    byte // that of the last word; 0: it is a parameter
}

func shapeOf(path string) shape {
	s := shape{slashes: strings.Count(path, "/")}
	if len(path) > 1 {
		s.initial = path[1] | 0x20
	}
	if word := path[strings.LastIndexByte(path, '/')+1:]; word != "" && word[0] != '{' {
		s.last = word[0] | 0x20
	}
	return s
}

// byShape lists the aliases of each shape in order. An alias that ends in a parameter matches any
// last word, so it is listed under all of them.
func byShape(table []Alias) map[shape][]Alias {
	sorted := map[shape][]Alias{}
	for _, a := range table {
		sorted[shapeOf(a.From)] = nil
	}
	for _, a := range table {
		for s := range sorted {
			own := shapeOf(a.From)
			if own.last == 0 {
				own.last = s.last
			}
			if own == s {
				sorted[s] = append(sorted[s], a)
			}
		}
	}
	return sorted
}

// Likely returns the aliases that may match a path.
func (rt *Router) Likely(path string) []Alias {
	s := shapeOf(path)
	if all, known := rt.aliases[s]; known {
		return all
	}
	s.last = 0
	return rt.aliases[s]
}

// Add registers a handler; path has its parameters in braces.
func (rt *Router) Add(method, path string, h httprouter.Handle) {
	if !strings.Contains(path, "{") {
		if rt.fixed[path] == nil {
			rt.fixed[path] = map[string]httprouter.Handle{}
		}
		rt.fixed[path][method] = h
		return
	}
	long := strings.Count(path, "/")
	if rt.trees[long] == nil {
		rt.trees[long] = httprouter.New()
	}
	rt.trees[long].Handle(method, strings.NewReplacer("{", ":", "}", "").Replace(path), h)
	if !slices.Contains(rt.methods, method) {
		rt.methods = append(rt.methods, method)
		slices.Sort(rt.methods)
	}
}

// Find returns the handler of a request, or the methods that its path takes.
func (rt *Router) Find(r *http.Request) Found {
	if hidesSlash(r) {
		return Found{}
	}
	path, legacy, allowed := Rewrite(rt.Likely(r.URL.Path), r.Method, r.URL.Path)
	if len(allowed) > 0 {
		return Found{Allowed: allowed}
	}
	f := rt.route(r.Method, path)
	f.legacy = legacy
	return f
}

// route finds the handler of a current path.
func (rt *Router) route(method, path string) Found {
	for _, m := range rt.mounts {
		if strings.HasPrefix(path, m.prefix) {
			return Found{Handle: m.handle}
		}
	}
	if byMethod, ok := rt.fixed[path]; ok {
		return findFixed(byMethod, method)
	}
	return rt.findInTrees(method, path)
}

func findFixed(byMethod map[string]httprouter.Handle, method string) Found {
	if h, ok := byMethod[method]; ok {
		return Found{Handle: h}
	}
	var f Found
	for m := range byMethod {
		f.Allowed = append(f.Allowed, m)
	}
	slices.Sort(f.Allowed)
	return f
}

func (rt *Router) findInTrees(method, path string) Found {
	if h, params := rt.lookup(method, path); h != nil {
		return Found{Handle: h, Params: params}
	}
	var f Found
	for _, m := range rt.methods {
		if h, _ := rt.lookup(m, path); h != nil {
			f.Allowed = append(f.Allowed, m)
		}
	}
	return f
}

// lookup searches the tree for the path's length. The tree matches an empty segment with a parameter,
// which is not a valid path.
func (rt *Router) lookup(method, path string) (httprouter.Handle, httprouter.Params) {
	tree := rt.trees[strings.Count(path, "/")]
	if tree == nil {
		return nil, nil
	}
	h, params, _ := tree.Lookup(method, path)
	for _, p := range params {
		if p.Value == "" {
			return nil, nil
		}
	}
	return h, params
}

// withoutSlash returns r, or a copy of it without the slash at the end of its path. It removes only
// one: of two slashes one stays, as an empty segment.
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

// hidesSlash reports whether a segment contains an escaped slash: decoded, the request would address
// another path.
func hidesSlash(r *http.Request) bool {
	return r.URL.RawPath != "" && strings.Count(r.URL.EscapedPath(), "/") != strings.Count(r.URL.Path, "/")
}

// Rewrite returns the current path of an alias and whether the alias is a legacy path; for any other
// path it returns path itself. If path is an alias for other methods only, allowed lists them.
func Rewrite(table []Alias, method, path string) (current string, legacy bool, allowed []string) {
	for i := range table {
		a := &table[i]
		values, match := matchPath(a, path)
		if !match {
			continue
		}
		if !slices.Contains(a.Methods, method) {
			allowed = append(allowed, a.Methods...)
			continue
		}
		return fill(a.To, values), a.Legacy, nil
	}
	return path, false, allowed
}

// matchPath reports whether a path matches an alias, and returns the text for each name. An empty
// segment never matches. Every request is compared with some aliases, so a mismatch allocates no
// memory.
func matchPath(a *Alias, path string) (values map[string]string, ok bool) {
	if !a.fits(path) {
		return nil, false
	}
	values = map[string]string{}
	got := strings.Split(path, "/")
	for i, name := range strings.Split(a.From, "/") {
		if !IsParameter(name) {
			continue
		}
		if earlier, bound := values[name]; bound && earlier != got[i] {
			return nil, false
		}
		values[name] = got[i]
	}
	return values, true
}

func (a *Alias) fits(path string) bool {
	anyCase := a.Legacy && !strings.HasPrefix(a.From, "/instance/")
	for pattern := a.From; ; {
		want, wanted, more := strings.Cut(pattern, "/")
		got, left, goesOn := strings.Cut(path, "/")
		same := want == got || anyCase && strings.EqualFold(want, got)
		if more != goesOn || !same && (!IsParameter(want) || got == "") {
			return false
		}
		if !more {
			return true
		}
		pattern, path = wanted, left
	}
}

// IsParameter reports whether a segment of a pattern stands for a value, such as {id}.
func IsParameter(segment string) bool { return strings.HasPrefix(segment, "{") }

func fill(pattern string, values map[string]string) string {
	segments := strings.Split(pattern, "/")
	for i, s := range segments {
		if v, ok := values[s]; ok {
			segments[i] = v
		}
	}
	return strings.Join(segments, "/")
}
