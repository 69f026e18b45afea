package httpapi

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/julienschmidt/httprouter"

	"postern/event"
	"postern/instance"
)

const requestIDHeader = "X-Request-Id"

// call is one request on its way, and whom its credential speaks for.
type call struct {
	w         *response
	r         *http.Request
	params    httprouter.Params
	requestID string
	instance  instance.Record // set for instanceBearer
	user      uuid.UUID       // set for userBearer
	once      *onceCall       // set for a request with an Idempotency-Key
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	res := &response{ResponseWriter: w, requestID: requestID(r.Header)}
	res.Header().Set(requestIDHeader, res.requestID)
	res.Header().Set("Cache-Control", "no-store") // answers carry tokens
	res.Header().Set("X-Content-Type-Options", "nosniff")
	defer func() {
		if cause := recover(); cause != nil {
			a.panicked(res, cause)
		}
		a.logRequest(res, r, time.Since(start))
	}()
	limitBody(w, r, lingerTime) // of a stranger, whose connection is worth little
	r = withoutSlash(r)
	f := a.router.find(r)
	res.legacy = f.legacy
	switch {
	case f.handle != nil:
		f.handle(res, r, f.params)
	case len(f.allowed) > 0:
		res.Header().Set("Allow", strings.Join(f.allowed, ", "))
		a.fail(res, refuse(http.StatusMethodNotAllowed, codeMethodNotAllowed, "this path has no "+printable(r.Method)))
	default:
		a.fail(res, refuse(http.StatusNotFound, codeNotFound, "there is no such path"))
	}
}

// handler is the way of every request to a route: credential, then handler,
// which reads the body.
func (a *api) handler(r route) httprouter.Handle {
	return func(w http.ResponseWriter, req *http.Request, params httprouter.Params) {
		res := w.(*response)
		res.pattern, res.auth = r.path, r.auth
		req = req.WithContext(event.WithRequestID(req.Context(), res.requestID))
		c := &call{w: res, r: req, params: params, requestID: res.requestID}
		if err := a.authorize(c, r.auth); err != nil {
			a.fail(res, a.judge(c, err))
			return
		}
		if r.method != http.MethodGet { // no GET has a body that is read
			limitBody(w, req, bodyTimeout)
		}
		if err := r.handle(a, c); err != nil {
			a.fail(res, a.judge(c, err))
			c.linger(err)
		}
	}
}

// fail answers with the error body for err. It logs what nothing maps, for
// that is a fault of ours.
func (a *api) fail(w *response, err error) {
	r, known := answerTo(err)
	if !known && !w.lost && !errors.Is(err, context.Canceled) {
		a.log.Error("request failed", "route", w.pattern, "request_id", w.requestID, "error", err)
	}
	if w.status != 0 {
		return // too late for another answer
	}
	w.code = r.code
	if r.status == http.StatusUnauthorized && w.auth != globalKey {
		w.Header().Set("Www-Authenticate", "Bearer") // the key has no scheme that HTTP knows
	}
	if seconds := secondsToWait(err, r.code); seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	if err := w.json(r.status, r.body(w.requestID)); err != nil {
		a.log.Debug("answer not written", "request_id", w.requestID, "error", err)
	}
}

func (a *api) panicked(w *response, cause any) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	a.log.Error("handler panicked", "route", w.pattern, "request_id", w.requestID, "panic", cause, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	a.fail(w, refuse(http.StatusInternalServerError, codeInternal, "internal error"))
}

// logRequest names the pattern and not the path, and never the query: tokens
// travel there on WebSocket paths. Only of what was not found it has the path, for
// there the pattern does not tell what was asked for. Of a refusal it has the
// code, which tells an operator why, and not the messages, which may repeat what
// the caller sent.
func (a *api) logRequest(w *response, r *http.Request, took time.Duration) {
	log := a.log
	if w.code != "" {
		log = log.With("address", a.Proxies.Client(r).String())
	}
	if w.wrong {
		log = log.With("credential", "wrong")
	}
	if w.code != "" {
		log = log.With("code", w.code)
	}
	if w.status == http.StatusNotFound || w.status == http.StatusMethodNotAllowed {
		log = log.With("path", printablePath(r.URL.Path))
	}
	log.Log(r.Context(), w.logLevel(), "request", "method", printable(r.Method), "route", w.pattern,
		"status", w.status, "duration", took, "request_id", w.requestID)
}

// logLevel hides what monitoring asks for every few seconds. A scrape that was
// refused is none of it.
func (w *response) logLevel() slog.Level {
	switch {
	case w.pattern == "/health" || w.pattern == "/ready", w.pattern == pathMetrics && w.status < 400:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// maxLoggedPath is how much of a path a log line repeats.
const maxLoggedPath = 100

// printablePath is what a log line may have of a path that a stranger made up:
// its beginning, in printable ASCII with everything else escaped, quotation marks
// too. The log puts its own around it where it needs them.
func printablePath(path string) string {
	cut := path[:min(len(path), maxLoggedPath)]
	quoted := strconv.QuoteToASCII(cut)
	quoted = quoted[1 : len(quoted)-1]
	if len(cut) < len(path) {
		return quoted + "..."
	}
	return quoted
}

// printable cuts a method of the caller's invention to something to print.
func printable(method string) string { return method[:min(len(method), 16)] }

// maxRequestID is the longest request id that is taken over from a caller.
const maxRequestID = 128

// requestID is the caller's, when it is one value of visible ASCII characters,
// else a new one.
func requestID(h http.Header) string {
	values := h.Values(requestIDHeader)
	if len(values) != 1 || values[0] == "" || len(values[0]) > maxRequestID {
		return uuid.NewString()
	}
	for _, b := range []byte(values[0]) {
		if b <= ' ' || b > '~' {
			return uuid.NewString()
		}
	}
	return values[0]
}

// response remembers what was answered.
type response struct {
	http.ResponseWriter
	requestID string
	pattern   string // of the route, empty when none was found
	auth      scheme // what the route asks for
	status    int    // 0 until the answer began
	code      string // of a refusal, for the log
	wrong     bool   // a credential was given and does not do
	lost      bool   // the client went away, or was cut off
	legacy    bool   // the request came by a path of older clients
}

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.write(p)
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack implements http.Hijacker, for WebSocket upgrades.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil && w.status == 0 {
		w.status = http.StatusSwitchingProtocols
	}
	return conn, rw, err
}

// nothing answers that all was done and there is nothing to tell.
func (c *call) nothing() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// json writes v as the answer.
func (w *response) json(status int, v any) error {
	body, err := event.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // whole before the handler ends, see linger
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}
