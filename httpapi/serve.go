package httpapi

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/julienschmidt/httprouter"

	"postern/event"
	"postern/internal/peers"
)

const requestIDHeader = "X-Request-Id"

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	res := &response{ResponseWriter: w, requestID: requestID(r.Header)}
	res.set(requestIDHeader, res.requestID)
	res.set("Cache-Control", "no-store") // answers carry tokens
	res.set("X-Content-Type-Options", "nosniff")
	defer func() {
		if cause := recover(); cause != nil {
			s.panicked(res, cause)
		}
		s.logRequest(res, r, time.Since(start))
	}()
	limitBody(w, r, lingerTime) // unauthenticated
	r = withoutSlash(r)
	f := s.router.find(r)
	res.legacy = f.legacy
	switch {
	case f.handle != nil:
		f.handle(res, r, f.params)
	case len(f.allowed) > 0:
		res.Header().Set("Allow", strings.Join(f.allowed, ", "))
		s.fail(res, refuse(http.StatusMethodNotAllowed, codeMethodNotAllowed, "this path has no "+printable(r.Method)))
	default:
		s.fail(res, refuse(http.StatusNotFound, codeNotFound, "there is no such path"))
	}
}

// handler serves a route: it checks the credential, then calls the handler, which
// reads the body. Only a valid credential gets the full time for a body, and keeps
// its connection when a new client needs one, see [peers.Prove].
func (s *server) handler(r route) httprouter.Handle {
	return func(w http.ResponseWriter, req *http.Request, params httprouter.Params) {
		res := w.(*response)
		res.pattern, res.auth, res.right = r.path, r.auth, r.right
		req = req.WithContext(event.WithRequestID(req.Context(), res.requestID))
		c := &call{server: s, w: res, r: req, params: params, requestID: res.requestID}
		if err := s.authorize(c, r); err != nil {
			s.fail(res, s.judge(c, withAdvice(err, r)))
			return
		}
		if r.auth != public && r.auth != handshake {
			peers.Prove(req.Context())
			if r.method != http.MethodGet { // the body of a GET is not read
				limitBody(w, req, bodyTimeout)
			}
		}
		if err := r.handle(c); err != nil {
			if r.auth == handshake { // which checks its credential itself
				err = withAdvice(err, r)
			}
			s.fail(res, s.judge(c, err))
			c.linger(err)
		}
	}
}

// fail answers with the error body for err. It logs unmapped errors, which are
// internal faults.
func (s *server) fail(w *response, err error) {
	r, known := s.answerTo(err)
	if !known && s.stops() && errors.Is(err, context.Canceled) { // the stop cancelled the handler
		r, known = stopping(), true
	}
	if !known && !w.lost && !errors.Is(err, context.Canceled) {
		s.log.Error("request failed", "route", w.pattern, "request_id", w.requestID, "error", err)
	}
	if w.status != 0 {
		return // too late for another answer
	}
	w.code = r.code
	if r.status == http.StatusUnauthorized && w.auth != globalKey {
		w.Header().Set("Www-Authenticate", "Bearer") // the key has no scheme that HTTP knows
	}
	if seconds := s.secondsToWait(r); seconds > 0 && r.status != http.StatusConflict {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	if err := w.json(r.status, r.body(w.requestID)); err != nil {
		s.log.Debug("answer not written", "request_id", w.requestID, "error", err)
	}
}

// stops reports whether the program has begun to stop.
func (s *server) stops() bool {
	select {
	case <-s.Stopping: // never, when it is nil
		return true
	default:
		return false
	}
}

func (s *server) panicked(w *response, cause any) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	s.log.Error("handler panicked; this is a fault of the program, report it with what postern support gathers", "route", w.pattern, "request_id", w.requestID, "panic", cause, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler) // a partial answer must not look complete
	}
	s.fail(w, refuse(http.StatusInternalServerError, codeInternal, "internal error"))
}

// maxRequestID is the longest request id that is taken over from a caller.
const maxRequestID = 128

// requestID is the caller's, if it is a single value of visible ASCII characters,
// or a new one.
func requestID(h http.Header) string {
	values := h[requestIDHeader]
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

// handler answers a request, or returns the error that is answered.
type handler func(*call) error
