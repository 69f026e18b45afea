package httpapi

import (
	"io"
	"net/http"
	"time"
)

// lingerTime is how long the rest of a body is read after its request was
// refused.
const lingerTime = 5 * time.Second

// linger sends a refusal and reads on for a moment: a client that is still
// sending when its connection closes is reset, and never sees the answer. This
// is not for whoever may not use the route.
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
