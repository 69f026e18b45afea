package httpapi

import (
	"bufio"
	"net"
	"net/http"
	"strconv"
	"time"

	"postern/event"
)

// response records the answer.
type response struct {
	http.ResponseWriter
	requestID string
	pattern   string // of the route, empty when none was found
	auth      scheme // what the route asks for
	right     right  // of a scoped key on it
	status    int    // 0 until the answer began
	code      string // of a refusal, for the log
	wrong     bool   // a wrong credential was given
	lost      bool   // the client disconnected, or was disconnected
	legacy    bool   // the request came by a path of older clients
	guess     bool   // a scoped key was given, in any place
	key       string // the id of the scoped key that was used, for the log

	before func(status int) error // called once, before the answer begins
	late   func(error)            // gets before's error

	values [5]string // of the headers that set has set
	used   int       // how many of them
}

// set is Header().Set for a name in its canonical form. The values of the
// headers that nearly every answer has lie in w, for each would be an allocation.
func (w *response) set(name, value string) {
	if w.used == len(w.values) {
		w.Header().Set(name, value)
		return
	}
	w.values[w.used] = value
	w.used++
	w.Header()[name] = w.values[w.used-1 : w.used : w.used]
}

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) begin(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	if w.before != nil {
		if err := w.before(status); err != nil {
			w.late(err)
		}
	}
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
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

// An answer is written in pieces of writePiece bytes, with writeTimeout for each: a
// slow client gets all of it; one that stops reading is disconnected and holds no
// resources. The time begins when the server gets the
// piece, which may first wait for the rest of an unread body: so it is
// longer than bodyTimeout. The server lifts the limit at the end of the answer.
const (
	writePiece   = 256 << 10
	writeTimeout = bodyTimeout + 30*time.Second
)

// write passes p on to the server. Only tests and in-memory answers have writers
// without deadlines.
func (w *response) write(p []byte) (n int, err error) {
	deadline := http.NewResponseController(w.ResponseWriter)
	for {
		_ = deadline.SetWriteDeadline(time.Now().Add(writeTimeout))
		piece := p[:min(len(p), writePiece)]
		wrote, err := w.ResponseWriter.Write(piece)
		n, p = n+wrote, p[wrote:]
		if err != nil || len(p) == 0 {
			w.lost = err != nil
			return n, err
		}
	}
}

// nothing answers 204.
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
	w.set("Content-Type", contentTypeJSON)
	w.set("Content-Length", strconv.Itoa(len(body))) // whole before the handler ends, see linger
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}
