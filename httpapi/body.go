package httpapi

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"postern/httpapi/strict"
)

const (
	maxBody     = 1 << 20
	bodyTimeout = time.Minute // for the whole body to arrive
)

// decode reads the body of c into v, a pointer to a struct, with the rules of
// [strict.Decode] and at most limit bytes. With an Idempotency-Key it claims that
// key for the bytes that it read.
// A request by a legacy path may have fields that are unknown: they are ignored.
func (c *call) decode(v any, limit int64) error { return c.decodeKeeping(v, limit, 0) }

// decodeKeeping is decode, and keeps no more than the first most entries of any
// slice; 0: all.
func (c *call) decodeKeeping(v any, limit int64, most int) error {
	how := c.options()
	how.MaxEntries = most
	return c.decodeBy(how, v, limit)
}

// decodeForeign is decodeKeeping for posts of third-party programs: unknown fields
// are ignored, without a warning.
func (c *call) decodeForeign(v any, limit int64, most int) error {
	return c.decodeBy(strict.Options{Ignored: &strict.Ignored{}, MaxEntries: most}, v, limit)
}

func (c *call) decodeBy(how strict.Options, v any, limit int64) error {
	if err := checkContentType(c.r.Header); err != nil {
		return err
	}
	if err := strict.Decode(c.once.Body(http.MaxBytesReader(c.w, c.r.Body, limit)), v, how); err != nil {
		return err
	}
	if c.w.legacy {
		c.warn(how.Ignored)
	}
	// From here on the handler may take its time.
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	return c.claimBody()
}

// options are those with which the JSON of a request is read. Programs that were
// written for older gateways of this family send what those ignored: on the paths
// that only such programs use, a field that is unknown here is ignored too, and
// the answer names it.
func (c *call) options() strict.Options {
	var o strict.Options
	if c.w.legacy {
		o.Ignored = &strict.Ignored{}
	}
	return o
}

// warn names the ignored fields in the header warning.
func (c *call) warn(f *strict.Ignored) {
	if f != nil && len(f.Names) > 0 {
		c.w.Header().Add("Warning", ignoredHeader(f))
	}
}

// warnOf names ignored parts of the request in the header warning.
func (c *call) warnOf(problem string) {
	c.w.Header().Add("Warning", fmt.Sprintf("299 - %+q", problem))
}

// ignoredHeader is the value of a Warning header, RFC 7234: the names, with
// whatever could end the header or hide in it escaped.
func ignoredHeader(f *strict.Ignored) string {
	text := fmt.Sprintf("%+q", "ignored unknown fields: "+strings.Join(f.Names, ", "))
	if f.More > 0 {
		text = strings.TrimSuffix(text, `"`) + fmt.Sprintf(` and %d more"`, f.More)
	}
	return "299 - " + text
}

// limitBody starts the time in which the body of r has to arrive. It also
// holds for unread bodies: the server drains them before it answers, and would
// wait for one that never comes. Only tests have writers without deadlines.
func limitBody(w http.ResponseWriter, r *http.Request, within time.Duration) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within))
	}
}

// noBody reads the body of a route that takes none: it must be empty or {}.
func (c *call) noBody() error {
	var nothing struct{}
	return c.decode(&nothing, maxBody)
}

func checkContentType(h http.Header) error {
	values := h["Content-Type"]
	if len(values) == 0 || len(values) == 1 && values[0] == contentTypeJSON {
		return nil
	}
	kind, params, err := mime.ParseMediaType(values[0])
	charset := params["charset"]
	if err != nil || len(values) > 1 || kind != "application/json" || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return refuse(http.StatusUnsupportedMediaType, codeContentType, "the Content-Type must be application/json in UTF-8, or absent; curl sends it with --json")
	}
	return nil
}

// lingerTime is how long the rest of a body is read after its request was
// refused.
const lingerTime = 5 * time.Second

// linger sends a refusal and reads on for a moment: a client that is still
// sending when its connection closes is reset, and never sees the answer. This
// is not used for callers without access to the route.
func (c *call) linger(refusal error) {
	if c.r.ContentLength == 0 || c.w.lost || isTimeout(refusal) {
		return
	}
	conn := http.NewResponseController(c.w)
	if conn.Flush() != nil || conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return // no connection: a test's
	}
	_, _ = io.Copy(io.Discard, c.r.Body)
}
