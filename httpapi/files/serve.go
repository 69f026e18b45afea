package files

import (
	"context"
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"postern/event"
	"postern/httpapi/rest"
	"postern/media/cache"
	"postern/media/display"
)

// subject is a file that a request may have.
type subject struct {
	instance int64
	message  event.Message
	file     display.File
	age      string // the Cache-Control of a success
	attached bool   // to be downloaded, not shown
}

func (s *subject) key() cache.Key { return cache.Key{Instance: s.instance, Message: s.message.ID} }

// guard sets the headers that keep a browser from running anything in a file.
func guard(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Referrer-Policy", "no-referrer")
}

// guardPublic also lets pages of other origins show the file, and keeps it out of
// search engines.
func guardPublic(h http.Header) {
	guard(h)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("X-Robots-Tag", "noindex")
}

// serve answers with a file. Conditions are decided before the file is fetched.
func (a *API) serve(c *rest.Call, s *subject) (err error) {
	defer func() {
		status := c.Response.Status
		if err != nil && status == 0 {
			r, _ := c.AnswerTo(err)
			status = r.Status
		}
		a.Served(status)
	}()
	etag := `"` + s.file.Hex() + `"`
	at := time.Unix(s.message.MessageTimestamp, 0).UTC()
	switch decide(c.Request, etag, at) {
	case http.StatusNotModified:
		h := c.Response.Header()
		h.Set("Etag", etag)
		h.Set("Last-Modified", at.Format(http.TimeFormat))
		h.Set("Cache-Control", s.age)
		c.Response.WriteHeader(http.StatusNotModified)
		return nil
	case http.StatusPreconditionFailed:
		return rest.Refuse(http.StatusPreconditionFailed, "PRECONDITION_FAILED", "the file is not the one of If-Match, or was modified")
	}
	ctx, cancel := c.UntilStopped()
	defer cancel(nil)
	f, err := a.open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	leave, err := a.answers.take(ctx, s.instance)
	if err != nil {
		return err
	}
	defer leave()
	h := c.Response.Header()
	if err := chooseRange(c.Request, h, f.Size, etag, at); err != nil {
		return err
	}
	disposition := "attachment"
	if display.Inline(f.Type) && !s.attached {
		disposition = "inline"
	}
	h.Set("Etag", etag)
	h.Set("Content-Type", f.Type)
	h.Set("Content-Disposition", display.Disposition(disposition, s.file.Name))
	h.Set("Cache-Control", s.age)
	for _, name := range []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"} {
		c.Request.Header.Del(name) // decided
	}
	http.ServeContent(&stream{Response: c.Response, plain: c.Request.TLS == nil}, c.Request, "", at, f.ReadSeekCloser)
	return nil
}

// open returns the file of a message, fetched if necessary.
func (a *API) open(ctx context.Context, s *subject) (cache.File, error) {
	if f, ok := a.Kept.Open(ctx, s.key()); ok {
		return f, nil
	}
	f, err := a.Cache.Open(ctx, s.key(), s.file.SHA256, func(ctx context.Context, to *os.File) error {
		account, err := a.Supervisor.Account(ctx, s.instance)
		if err != nil {
			return err
		}
		return account.Download(ctx, s.message, to, a.MaxMedia)
	})
	if err == nil {
		a.Kept.Offer(context.WithoutCancel(ctx), s.key())
	}
	return f, err
}

// decide returns 304 or 412 if the conditions of a request demand it, else 0, by the
// rules of http.ServeContent, which needs no content for them.
func decide(r *http.Request, etag string, at time.Time) int {
	p := &probe{header: http.Header{"Etag": {etag}}}
	http.ServeContent(p, r, "", at, strings.NewReader(""))
	if p.status == http.StatusNotModified || p.status == http.StatusPreconditionFailed {
		return p.status
	}
	return 0
}

// probe is an http.ResponseWriter that only keeps the status.
type probe struct {
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (p *probe) Header() http.Header { return p.header }

// Write implements http.ResponseWriter.
func (p *probe) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (p *probe) WriteHeader(status int) { p.status = status }

var oneRange = regexp.MustCompile(`^bytes=[ \t]*(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))[ \t]*$`)

// chooseRange removes a Range that does not apply: several, another unit, an invalid one,
// or one of another file by If-Range. It refuses one that the file does not have.
func chooseRange(r *http.Request, answer http.Header, size int64, etag string, at time.Time) error {
	wanted := r.Header.Values("Range")
	if len(wanted) == 0 {
		return nil
	}
	parts := oneRange.FindStringSubmatch(wanted[0])
	if len(wanted) > 1 || parts == nil || !applies(r.Header.Get("If-Range"), etag, at) {
		r.Header.Del("Range")
		return nil
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(parts[i], 10, 64)
		return n
	}
	if parts[2] != "" && number(2) < number(1) {
		r.Header.Del("Range")
		return nil
	}
	if parts[3] != "" && number(3) == 0 || parts[1] != "" && number(1) >= size {
		answer.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		answer.Set("Accept-Ranges", "bytes")
		return rest.Refuse(http.StatusRequestedRangeNotSatisfiable, "RANGE_NOT_SATISFIABLE", fmt.Sprintf("the file has %d bytes", size))
	}
	return nil
}

// applies reports whether an If-Range names the current file.
func applies(condition, etag string, at time.Time) bool {
	condition = textproto.TrimString(condition)
	if condition == "" || condition == etag {
		return true
	}
	t, err := http.ParseTime(condition)
	return err == nil && t.Unix() == at.Unix()
}
