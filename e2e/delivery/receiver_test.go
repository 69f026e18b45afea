package delivery

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// arrival is one attempt as a receiver saw it.
type arrival struct {
	at     time.Time
	path   string
	header http.Header
	body   []byte
}

// receiver notes every attempt and answers as configured.
type receiver struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	got    []arrival
	answer http.HandlerFunc // nil: 200
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{t: t, answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	r.got = append(r.got, arrival{time.Now(), req.URL.Path, req.Header.Clone(), body})
	answer := r.answer
	r.mu.Unlock()
	if answer != nil {
		answer(w, req)
	}
}

// behave changes how it answers; nil is 200.
func (r *receiver) behave(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// arrivals returns the attempts so far.
func (r *receiver) arrivals() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// await waits for the attempt of that number, from 1.
func (r *receiver) await(s *shop, n int) arrival {
	r.t.Helper()
	s.Await(fmt.Sprintf("attempt %d at the receiver", n), func() bool { return len(r.arrivals()) >= n })
	return r.arrivals()[n-1]
}

// status answers with a status and a text.
func status(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

// hostile are ways in which receivers misbehave, and what the log has to say of
// each: the status, null when there was no answer, and the error.
func hostile(elsewhere string) map[string]struct {
	answer http.HandlerFunc
	status int
	reason string
	text   string // of the answer
} {
	return map[string]struct {
		answer http.HandlerFunc
		status int
		reason string
		text   string
	}{
		"refuses":   {status(http.StatusNotFound, "no such hook"), 404, "receiver answered 404", "no such hook"},
		"is-down":   {status(http.StatusServiceUnavailable, ""), 503, "receiver answered 503", ""},
		"is-silent": {func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, 0, "no answer in time", ""},
		"drips":     {drip, 0, "no answer in time", ""},
		"resets":    {reset, 0, "the connection was reset", ""},
		"redirects": {func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, elsewhere, http.StatusFound) }, 302, "receiver answered 302", ""},
		"says-nonsense": {func(w http.ResponseWriter, _ *http.Request) {
			hijacked(w, func(c net.Conn) { _, _ = io.WriteString(c, "220 mail.example ESMTP\r\n\r\n") })
		}, 0, "", ""},
		"is-good": {nil, 200, "", ""},
	}
}

// drip begins to answer and never ends.
func drip(w http.ResponseWriter, req *http.Request) {
	flush := http.NewResponseController(w)
	for req.Context().Err() == nil {
		if _, err := io.WriteString(w, "."); err != nil || flush.Flush() != nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-req.Context().Done():
		}
	}
}

// reset ends the connection so that the other side notices.
func reset(w http.ResponseWriter, _ *http.Request) {
	hijacked(w, func(c net.Conn) {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	})
}

func hijacked(w http.ResponseWriter, then func(net.Conn)) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	then(c)
	_ = c.Close()
}

// signedWith reports whether the library of others takes the attempt as signed with
// the secret.
func (a arrival) signedWith(t *testing.T, secret string) error {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return w.Verify(a.body, a.header)
}
