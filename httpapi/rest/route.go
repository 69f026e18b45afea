package rest

import (
	"net/http"
	"slices"
	"strings"
)

// Handler answers a request, or returns the error that is answered.
type Handler func(*Call) error

// Route is one row of the route table. A segment of the path in braces is a parameter: {i} is the
// name of an instance, {id} the subject of the path, such as a batch, and {item} an item of it.
type Route struct {
	Method string
	Path   string
	Auth   Scheme
	Right  Right // of a scoped key
	Handle Handler
	Words  Words             // what the documents say about it
	Check  func(*Call) error // of a scoped key on a userBearer route; nil: none
}

// IsSocket reports whether a path is that of a WebSocket.
func (r Route) IsSocket() bool { return strings.HasPrefix(r.Path, "/ws/") }

// AnswersHEAD reports whether HEAD is answered as GET is, without the body. It is not at
// handshakes, and where GET begins or continues a pairing, which HEAD must not.
func (r Route) AnswersHEAD() bool {
	return r.Method == http.MethodGet && !r.IsSocket() && r.Right != ScopePair && !slices.Contains(strings.Split(r.Path, "/"), "connect")
}

// Describe sets the words of each row from the maps, by method and path. It panics if a map
// describes a route that is not among the rows, which is a programming error.
func Describe(rows []Route, words ...map[string]Words) []Route {
	at := map[string]int{}
	for i, r := range rows {
		at[r.Method+" "+r.Path] = i
	}
	for _, theme := range words {
		for key, w := range theme {
			i, known := at[key]
			if !known {
				panic("rest: words about " + key + ", which is no route")
			}
			if w.Status == 0 {
				w.Status = http.StatusOK
			}
			rows[i].Words = w
		}
	}
	return rows
}
