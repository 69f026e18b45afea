package rest

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"postern/httpapi/strict"
)

// MaxBody is the size of a body in bytes where a route names no other.
const (
	MaxBody     = 1 << 20
	BodyTimeout = time.Minute // for the whole body to arrive
)

// Decode reads the body of c into v, a pointer to a struct, by the rules of [strict.Decode]. It
// reads at most limit bytes. With an Idempotency-Key it claims that key for the bytes that it
// read. It ignores unknown fields in a request by a legacy path.
func (c *Call) Decode(v any, limit int64) error { return c.DecodeKeeping(v, limit, 0) }

// DecodeKeeping is Decode, but keeps only the first most entries of any slice; 0: all.
func (c *Call) DecodeKeeping(v any, limit int64, most int) error {
	how := c.Options()
	how.MaxEntries = most
	return c.decodeBy(how, v, limit)
}

// DecodeForeign is DecodeKeeping for posts of third-party programs: it ignores unknown fields
// without a warning.
func (c *Call) DecodeForeign(v any, limit int64, most int) error {
	return c.decodeBy(strict.Options{Ignored: &strict.Ignored{}, MaxEntries: most}, v, limit)
}

func (c *Call) decodeBy(how strict.Options, v any, limit int64) error {
	if err := checkContentType(c.Request.Header); err != nil {
		return err
	}
	return c.decodeFrom(c.Once.Body(http.MaxBytesReader(c.Response, c.Request.Body, limit)), how, v)
}

// decodeFrom decodes the body that it reads from r, and claims the key of c for it.
func (c *Call) decodeFrom(r io.Reader, how strict.Options, v any) error {
	if err := strict.Decode(r, v, how); err != nil {
		return err
	}
	if c.Response.legacy {
		c.warn(how.Ignored)
	}
	// From here on the handler has no deadline.
	_ = http.NewResponseController(c.Response).SetReadDeadline(time.Time{})
	return c.claimBody()
}

// Options returns the options for reading the JSON of a request. Programs written for older
// gateways of this family send fields that those ignored. On the paths that only such programs
// use, unknown fields are ignored too, and the answer names them.
func (c *Call) Options() strict.Options {
	var o strict.Options
	if c.Response.legacy {
		o.Ignored = &strict.Ignored{}
	}
	return o
}

// warn names the ignored fields in the header warning.
func (c *Call) warn(f *strict.Ignored) {
	if f != nil && len(f.Names) > 0 {
		c.Response.Header().Add("Warning", IgnoredHeader(f))
	}
}

// Warn names ignored parts of the request in the header warning.
func (c *Call) Warn(problem string) {
	c.Response.Header().Add("Warning", fmt.Sprintf("299 - %+q", problem))
}

// IgnoredHeader returns the value of a Warning header, RFC 7234: the names, with characters
// escaped that could end the header or be invisible in it.
func IgnoredHeader(f *strict.Ignored) string {
	text := fmt.Sprintf("%+q", "ignored unknown fields: "+strings.Join(f.Names, ", "))
	if f.More > 0 {
		text = strings.TrimSuffix(text, `"`) + fmt.Sprintf(` and %d more"`, f.More)
	}
	return "299 - " + text
}

// limitBody starts the time limit for the body of r. The limit also applies to unread bodies:
// the server drains them before it answers, and would wait for one that never arrives. Only
// tests have writers without deadlines.
func limitBody(w http.ResponseWriter, r *http.Request, within time.Duration) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within))
	}
}

// NoBody reads the body of a route that takes none: it must be empty or {}.
func (c *Call) NoBody() error {
	var nothing struct{}
	return c.Decode(&nothing, MaxBody)
}

func checkContentType(h http.Header) error {
	values := h["Content-Type"]
	if len(values) == 0 || len(values) == 1 && values[0] == ContentTypeJSON {
		return nil
	}
	kind, params, err := mime.ParseMediaType(values[0])
	charset := params["charset"]
	if err != nil || len(values) > 1 || kind != "application/json" || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return Refuse(http.StatusUnsupportedMediaType, CodeContentType, "the Content-Type must be application/json in UTF-8, or absent; curl sends it with --json")
	}
	return nil
}

// LingerTime is how long the rest of a body is read after its request was refused.
const LingerTime = 5 * time.Second

// linger sends a refusal and then reads on for a moment: a client that is still sending when its
// connection closes is reset, and never sees the answer. It is not used for callers without
// access to the route.
func (c *Call) linger(refusal error) {
	if c.Request.ContentLength == 0 || c.Response.Lost || isTimeout(refusal) {
		return
	}
	conn := http.NewResponseController(c.Response)
	if conn.Flush() != nil || conn.SetReadDeadline(time.Now().Add(LingerTime)) != nil {
		return // no connection: a test's
	}
	_, _ = io.Copy(io.Discard, c.Request.Body)
}
