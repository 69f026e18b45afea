package rest

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"postern/httpapi/openapi"
)

// Handler answers a request, or returns the error that is answered.
type Handler func(*Call) error

// Route is one row of the route table: a path, what answers there, and what the documents say about it. A segment of
// the path in braces is a parameter: {i} is the name of an instance, {id} the subject of the path, such as a batch, and
// {item} an item of it.
type Route struct {
	Method string
	Path   string
	Auth   Scheme
	Right  Right             // of a scoped key
	Check  func(*Call) error // of a scoped key on a userBearer route; nil: none
	Handle Handler
	Once   bool // takes an Idempotency-Key, see [Call.Begin] and [KeepInCommit]
	Secret bool // the answer is a key or token, and is not compressed

	ID      string // of the operation, as a person would name it
	Summary string // one sentence
	About   string // more, or empty

	In      reflect.Type // of a JSON body, nil when there is none
	Example string       // of that body
	Form    []string     // fields of a multipart body, beside the file; nil when the body is none
	File    string       // the name of the file's part; empty: FileField
	Query   []string

	Status int          // of the success; 0: 200
	Out    reflect.Type // of the answer, nil when it is no JSON
	Media  string       // of an answer that is no JSON, or may be other than JSON
	Also   []openapi.Answer

	Codes  Codes             // of refusals, besides those that follow from the fields above
	Advice map[string]string // by code, where the route has a limit of its own
}

// IsSocket reports whether a path is that of a WebSocket.
func (r Route) IsSocket() bool { return strings.HasPrefix(r.Path, "/ws/") }

// AnswersHEAD reports whether HEAD is answered as GET is, without the body. It is not at
// handshakes, and where GET begins or continues a pairing, which HEAD must not.
func (r Route) AnswersHEAD() bool {
	return r.Method == http.MethodGet && !r.IsSocket() && r.Right != ScopePair && !slices.Contains(strings.Split(r.Path, "/"), "connect")
}
