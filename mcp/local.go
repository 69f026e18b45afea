package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
)

// Local is a transport to the HTTP API of the same program: it calls the handler
// directly, without a network. A request has the address of the agent's own request.
type Local struct {
	handler http.Handler
}

// Serve sets the handler. It is called before the first request.
func (l *Local) Serve(h http.Handler) { l.handler = h }

// errBrokenOff reports a truncated answer.
var errBrokenOff = errors.New("the answer of the API was truncated")

// RoundTrip implements http.RoundTripper.
func (l *Local) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	in := r.Clone(r.Context())
	in.RequestURI, in.Host = r.URL.RequestURI(), r.URL.Host
	if who := callerIn(r.Context()); who != nil {
		in.RemoteAddr = who.from
		if who.host != "" {
			in.Host = who.host // links begin with it
		}
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := &recorder{header: http.Header{}, room: roomIn(r.Context())}
	defer func() {
		switch cause := recover(); {
		case cause == nil:
		case errors.Is(asError(cause), http.ErrAbortHandler):
			resp, err = nil, errBrokenOff
		default:
			panic(cause)
		}
	}()
	l.handler.ServeHTTP(w, in)
	if w.full {
		return nil, errTooLarge
	}
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

func asError(cause any) error {
	err, _ := cause.(error)
	return err
}

type roomKey struct{}

// withRoom bounds the answer to a request with that context, in bytes.
func withRoom(ctx context.Context, most int) context.Context {
	return context.WithValue(ctx, roomKey{}, most)
}

func roomIn(ctx context.Context) int {
	most, _ := ctx.Value(roomKey{}).(int)
	return most
}

// recorder keeps an answer in memory, up to a bound.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
	room   int
	full   bool
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements http.ResponseWriter. It fails when there is no room for p.
func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.full = w.full || len(p) > w.room-w.body.Len(); w.full {
		return 0, errTooLarge
	}
	return w.body.Write(p)
}
