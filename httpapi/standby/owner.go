package standby

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"sync"

	"postern/httpapi/rest"
)

// Owner answers at the node that owns its cell. An answer that begins after the node has
// lost the cell is replaced by 503.
type Owner struct {
	http.Handler
	Valid       func() bool   // the node owns the cell
	Synchronous func() bool   // commits wait for a second copy, or need none
	Key         func() string // with which the nodes of the cell know each other
}

// ServeHTTP implements [http.Handler].
func (o *Owner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !o.Synchronous() && r.URL.Path != "/health" {
		rest.WriteRefusal(w, r, rest.ErrorOf(http.StatusServiceUnavailable, CodeNotSynchronous, "the database server waits for no second copy; changes go on when it does"), 1)
		return
	}
	o.Handler.ServeHTTP(&guarded{ResponseWriter: w, request: r, valid: o.Valid}, Accept(r, o.Key()))
}

// guarded is an answer that is replaced if this process does not own the cell when it
// begins.
type guarded struct {
	http.ResponseWriter
	request *http.Request
	valid   func() bool

	once    sync.Once
	refused bool
}

var errNotOwner = errors.New("this process no longer owns the data")

// begin decides once whether the answer may go out.
func (g *guarded) begin() (may bool) {
	g.once.Do(func() {
		if g.refused = !g.valid(); g.refused {
			refuseWithoutOwner(g.ResponseWriter, g.request)
		}
	})
	return !g.refused
}

// refuseWithoutOwner answers 503 NO_OWNER.
func refuseWithoutOwner(w http.ResponseWriter, r *http.Request) {
	clear(w.Header())
	rest.WriteRefusal(w, r, rest.ErrorOf(http.StatusServiceUnavailable, CodeNoOwner, "no node owns the data now; one takes over within a lease"), 1)
}

// WriteHeader implements [http.ResponseWriter].
func (g *guarded) WriteHeader(status int) {
	if status < 200 || g.begin() {
		g.ResponseWriter.WriteHeader(status)
	}
}

// Write implements [http.ResponseWriter].
func (g *guarded) Write(p []byte) (int, error) {
	if !g.begin() {
		return 0, errNotOwner
	}
	return g.ResponseWriter.Write(p)
}

// FlushError is called by [http.ResponseController].
func (g *guarded) FlushError() error {
	if !g.begin() {
		return errNotOwner
	}
	return http.NewResponseController(g.ResponseWriter).Flush()
}

// Flush implements [http.Flusher].
func (g *guarded) Flush() { _ = g.FlushError() }

// Hijack implements [http.Hijacker].
func (g *guarded) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if !g.begin() {
		return nil, nil, errNotOwner
	}
	return http.NewResponseController(g.ResponseWriter).Hijack()
}

// Unwrap is called by [http.ResponseController].
func (g *guarded) Unwrap() http.ResponseWriter { return g.ResponseWriter }
