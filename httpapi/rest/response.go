package rest

import (
	"bufio"
	"net"
	"net/http"
	"strconv"
	"time"

	"postern/event"
)

// Response records the answer.
type Response struct {
	http.ResponseWriter
	requestID string
	Pattern   string // of the route, empty when none was found
	auth      Scheme // what the route asks for
	Right     Right  // of a scoped key on it
	Status    int    // 0 until the answer began
	code      string // of a refusal, for the log
	wrong     bool   // a wrong credential was given
	Lost      bool   // the client disconnected, or was disconnected
	legacy    bool   // the request came by a path of older clients
	guess     bool   // a scoped key was given, in any place
	key       string // the id of the scoped key that was used, for the log

	packs bool   // the client takes gzip, and the answer is no secret alone
	lists bool   // a list gets an ETag
	known string // the ETags that the client has

	before func(status int) error // called once, before the answer begins
	late   func(error)            // gets before's error

	values [5]string // of the headers that set has set
	used   int       // how many of them
}

// set is Header().Set for a name in canonical form. w holds the values of the headers that nearly
// every answer has, to avoid an allocation for each.
func (w *Response) set(name, value string) {
	if w.used == len(w.values) {
		w.Header().Set(name, value)
		return
	}
	w.values[w.used] = value
	w.used++
	w.Header()[name] = w.values[w.used-1 : w.used : w.used]
}

// WriteHeader implements http.ResponseWriter.
func (w *Response) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *Response) begin(status int) {
	if w.Status != 0 {
		return
	}
	w.Status = status
	if w.before != nil {
		if err := w.before(status); err != nil {
			w.late(err)
		}
	}
}

// Write implements http.ResponseWriter.
func (w *Response) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.write(p)
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (w *Response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack implements http.Hijacker, for WebSocket upgrades.
func (w *Response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil && w.Status == 0 {
		w.Status = http.StatusSwitchingProtocols
	}
	return conn, rw, err
}

// An answer is written in pieces of writePiece bytes, with writeTimeout for each: a slow client
// gets all of it; a client that stops reading is disconnected and holds no resources. The time
// starts when the server gets the piece. It may first wait for the rest of an unread body, so
// writeTimeout is longer than bodyTimeout. The server lifts the limit at the end of the answer.
const (
	WritePiece   = 256 << 10
	WriteTimeout = BodyTimeout + 30*time.Second
)

// write passes p to the server. Only tests and in-memory answers have writers without deadlines.
func (w *Response) write(p []byte) (n int, err error) {
	deadline := http.NewResponseController(w.ResponseWriter)
	for {
		_ = deadline.SetWriteDeadline(time.Now().Add(WriteTimeout))
		piece := p[:min(len(p), WritePiece)]
		wrote, err := w.ResponseWriter.Write(piece)
		n, p = n+wrote, p[wrote:]
		if err != nil || len(p) == 0 {
			w.Lost = err != nil
			return n, err
		}
	}
}

// NoContent answers 204.
func (c *Call) NoContent() error {
	c.Response.WriteHeader(http.StatusNoContent)
	return nil
}

// JSON writes v as the answer.
func (w *Response) JSON(status int, v any) error {
	body, err := event.Marshal(v)
	if err != nil {
		return err
	}
	if status == http.StatusOK && w.lists && isList(v) && w.tag(body) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if len(body) >= packFrom {
		w.Header().Add("Vary", "Accept-Encoding")
		if w.packs {
			w.Header().Set("Content-Encoding", "gzip")
			body = pack(body)
		}
	}
	w.set("Content-Type", ContentTypeJSON)
	w.set("Content-Length", strconv.Itoa(len(body))) // whole before the handler ends, see linger
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

// More writes the next part of an answer of JSON.
func (w *Response) More(text []byte) error {
	if w.Status == 0 {
		w.Header().Set("Content-Type", "application/json")
	}
	_, err := w.Write(text)
	return err
}

// CutOff ends the answer of a download that failed with err, which may be nil. Before the first
// byte the caller gets an error body. After it the connection is closed, because a partial file
// must not look complete.
func (c *Call) CutOff(err error, text string, args ...any) error {
	if err == nil {
		return nil
	}
	if c.Response.Status == 0 {
		for _, name := range []string{"Content-Type", "Content-Length", "Content-Disposition", "Trailer"} {
			c.Response.Header().Del(name)
		}
		return err
	}
	c.Log().Warn(text, append(args, "request_id", c.RequestID, "error", err)...)
	panic(http.ErrAbortHandler)
}

// BreakOff ends an answer that cannot continue. After its first part, only a broken connection
// shows this to the client.
func (c *Call) BreakOff(err error) error {
	if c.Response.Status == 0 {
		return err
	}
	c.Log().Error("an answer was interrupted", "route", c.Response.Pattern, "request_id", c.RequestID, "error", err)
	panic(http.ErrAbortHandler)
}
