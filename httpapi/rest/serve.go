package rest

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

// RequestIDHeader names a request in its answer, the log and the events that it causes.
const RequestIDHeader = "X-Request-Id"

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	res := &Response{ResponseWriter: w, requestID: RequestID(r.Header)}
	res.set(RequestIDHeader, res.requestID)
	res.set("Cache-Control", "no-store") // answers carry tokens
	res.set("X-Content-Type-Options", "nosniff")
	defer func() {
		if cause := recover(); cause != nil {
			s.panicked(res, cause)
		}
		s.logRequest(res, r, time.Since(start))
	}()
	limitBody(w, r, LingerTime) // unauthenticated
	r = withoutSlash(r)
	f := s.Router.Find(r)
	res.legacy = f.legacy
	switch {
	case f.Handle != nil:
		f.Handle(res, r, f.Params)
	case len(f.Allowed) > 0:
		res.Header().Set("Allow", strings.Join(f.Allowed, ", "))
		s.fail(res, Refuse(http.StatusMethodNotAllowed, CodeMethodNotAllowed, "this path has no "+printable(r.Method)))
	default:
		s.fail(res, Refuse(http.StatusNotFound, CodeNotFound, "there is no such path"))
	}
}

// Handler serves a route: it checks the credential, then calls the handler, which reads the body. A
// request with a valid credential gets the full time for a body, and its connection stays open when
// a new client needs one, see [peers.Prove].
func (s *Server) Handler(r Route) httprouter.Handle {
	if r.Once {
		r.Handle = once(r.Handle)
	}
	return func(w http.ResponseWriter, req *http.Request, params httprouter.Params) {
		res := w.(*Response)
		res.Pattern, res.auth, res.Right = r.Path, r.Auth, r.Right
		res.negotiates(r, req)
		req = req.WithContext(event.WithRequestID(req.Context(), res.requestID))
		c := &Call{Server: s, Response: res, Request: req, Params: params, RequestID: res.requestID}
		if err := s.authorize(c, r); err != nil {
			s.fail(res, s.judge(c, withAdvice(err, r)))
			return
		}
		if r.Auth != Public && r.Auth != Handshake {
			peers.Prove(req.Context())
			if r.Method != http.MethodGet { // the body of a GET is not read
				limitBody(w, req, BodyTimeout)
			}
		}
		if err := r.Handle(c); err != nil {
			if r.Auth == Handshake { // which checks its credential itself
				err = withAdvice(err, r)
			}
			s.fail(res, s.judge(c, err))
			c.linger(err)
		}
	}
}

// fail answers with the error body for err. It logs unmapped errors, which are
// internal faults.
func (s *Server) fail(w *Response, err error) {
	r, known := s.AnswerTo(err)
	if !known && s.stops() && errors.Is(err, context.Canceled) { // the stop cancelled the handler
		r, known = stopping(), true
	}
	if !known && !w.Lost && !errors.Is(err, context.Canceled) {
		s.Log.Error("request failed", "route", w.Pattern, "request_id", w.requestID, "error", err)
	}
	if w.Status != 0 {
		return // too late for another answer
	}
	w.code = r.Code
	if r.Status == http.StatusUnauthorized && w.auth != GlobalKey {
		w.Header().Set("Www-Authenticate", "Bearer") // the key has no scheme that HTTP knows
	}
	if seconds := s.SecondsToWait(r); seconds > 0 && r.Status != http.StatusConflict {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	if err := w.JSON(r.Status, r.body(w.requestID)); err != nil {
		s.Log.Debug("answer not written", "request_id", w.requestID, "error", err)
	}
}

// stops reports whether the program has begun to stop.
func (s *Server) stops() bool {
	select {
	case <-s.Stopping: // never, when it is nil
		return true
	default:
		return false
	}
}

func (s *Server) panicked(w *Response, cause any) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	s.Log.Error("handler panicked; this is a fault of the program, report it with what postern support gathers", "route", w.Pattern, "request_id", w.requestID, "panic", cause, "stack", string(debug.Stack()))
	if w.Status != 0 {
		panic(http.ErrAbortHandler) // a partial answer must not look complete
	}
	s.fail(w, Refuse(http.StatusInternalServerError, CodeInternal, "internal error"))
}

// maxRequestID is the maximum length of a request id of a caller.
const maxRequestID = 128

// RequestID returns the caller's id, if it is a single value of visible ASCII characters, or a new
// one.
func RequestID(h http.Header) string {
	values := h[RequestIDHeader]
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
