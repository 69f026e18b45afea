package httpapi

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"postern/event"
)

const (
	maxBody     = 1 << 20
	bodyTimeout = time.Minute // for the whole body to arrive
)

// decode reads the body of c into v, a pointer to a struct, with the rules of
// decodeStrict and at most limit bytes. With an Idempotency-Key it claims that
// key for the bytes that it read.
// A request by a legacy path may have fields that are unknown: they are ignored.
func (c *call) decode(v any, limit int64) error { return c.decodeKeeping(v, limit, unbounded) }

// decodeKeeping is decode, and keeps no more than the first most entries of any
// slice.
func (c *call) decodeKeeping(v any, limit int64, most int) error {
	if err := checkContentType(c.r.Header); err != nil {
		return err
	}
	how := c.reading()
	how.most = most
	if err := decodeWith(c.digested(http.MaxBytesReader(c.w, c.r.Body, limit)), v, how); err != nil {
		return err
	}
	c.warn(how.ignored)
	// From here on the handler may take its time.
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	return c.claimBody()
}

// limitBody starts the time in which the body of r has to arrive. It holds for
// bodies that nobody reads too: the server swallows them before it answers, and
// would wait for one that never comes. A writer without deadlines is a test's.
func limitBody(w http.ResponseWriter, r *http.Request, within time.Duration) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within))
	}
}

// noBody reads the body of a route that takes none: empty or {}.
func (c *call) noBody() error {
	var nothing struct{}
	return c.decode(&nothing, maxBody)
}

func checkContentType(h http.Header) error {
	values := h.Values("Content-Type")
	if len(values) == 0 {
		return nil
	}
	kind, params, err := mime.ParseMediaType(values[0])
	charset := params["charset"]
	if err != nil || len(values) > 1 || kind != "application/json" || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return refuse(http.StatusUnsupportedMediaType, codeContentType, "the Content-Type must be application/json in UTF-8, or absent; curl sends it with --json")
	}
	return nil
}

// query returns the query parameters of c. Malformed ones, ones that the route
// does not know, and repeated ones not in repeatable are refused.
func (c *call) query(known []string, repeatable ...string) (url.Values, error) {
	q, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, invalidQuery("the query is malformed")
	}
	for name, values := range q {
		switch {
		case slices.Contains(repeatable, name):
		case !slices.Contains(known, name):
			return nil, invalidQuery(event.Cut(name) + " is not a known query parameter")
		case len(values) > 1:
			return nil, invalidQuery(event.Cut(name) + " is given twice")
		}
	}
	return q, nil
}

// flag reads a query parameter that is true or false, false when it is absent,
// and refuses any other parameter but those in others.
func (c *call) flag(name string, others ...string) (bool, error) {
	q, err := c.query(append(others, name))
	if err != nil || !q.Has(name) {
		return false, err
	}
	return queryFlag(q, name)
}

// queryFlag reads a parameter that is true or false.
func queryFlag(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, invalidQuery(name + " must be true or false")
}

func invalidQuery(text string) error { return refuse(http.StatusBadRequest, codeInvalidQuery, text) }
