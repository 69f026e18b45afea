package rest

import (
	"net/http"
	"slices"
	"strings"
)

// Handler answers a request, or returns the error that is answered.
type Handler func(*Call) error

// Route is one row of the route table. In path, a segment in braces is a
// parameter: {i} an instance name, {id} what the path is about, such as a batch, {item} an item of it.
type Route struct {
	Method string
	Path   string
	Auth   Scheme
	Right  Right // of a scoped key
	Handle Handler
	Check  func(*Call) error // of a scoped key on a userBearer route; nil: none
}

// IsSocket reports whether a path is a WebSocket.
func (r Route) IsSocket() bool { return strings.HasPrefix(r.Path, "/ws/") }

// AnswersHEAD reports whether HEAD is answered as GET is, without the body: everywhere but
// where GET begins a pairing or carries it on, which HEAD must not, and at handshakes.
func (r Route) AnswersHEAD() bool {
	return r.Method == http.MethodGet && !r.IsSocket() && r.Right != ScopePair && !slices.Contains(strings.Split(r.Path, "/"), "connect")
}
