package httpapi

import (
	"net/http"
	"time"
)

// An answer goes out in pieces of writePiece bytes, and a client has
// writeTimeout to take each: a slow one gets all of it, one that stopped
// reading is cut off and holds nothing. The time begins when the server gets the
// piece, which may first wait for the rest of a body that nobody reads: so it is
// longer than bodyTimeout. The server lifts the limit at the end of the answer.
const (
	writePiece   = 256 << 10
	writeTimeout = bodyTimeout + 30*time.Second
)

// write passes p on to the server. A writer without deadlines is a test's, or
// keeps the answer in memory.
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
