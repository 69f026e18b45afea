package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const sessionHeader = "Mcp-Session-Id"

// bodyTimeout is how long a message with a known key may take to arrive.
const bodyTimeout = time.Minute

// streamable returns the SDK's side of the transport. The context has the caller.
func (s *Server) streamable() http.Handler {
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		JSONResponse:   true,
		SessionTimeout: sessionIdle,
		// Behind a proxy of the same machine another Host is right, and a page that
		// was led here has no key.
		DisableLocalhostProtection: true,
	})
	carry := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		return callerIn(ctx).tokenInfo(), nil
	}
	return auth.RequireBearerToken(carry, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
}

// halt is a request that is not answered by the protocol.
type halt struct {
	status int
	text   string
	header http.Header
}

// Error says why.
func (h *halt) Error() string { return h.text }

// ServeHTTP implements http.Handler: the streamable HTTP transport, POST and DELETE. The
// key is in Authorization: Bearer. What is refused before it is a message is answered
// with a status and an error of JSON-RPC that has no id: 401 without a key that is known,
// 403 for another origin, 404 for a session that the key does not have, 413, 400, 429 and
// 503 with Retry-After.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := s.serve(w, r)
	if err == nil {
		return
	}
	var no *halt
	if !errors.As(err, &no) {
		no = &halt{status: http.StatusServiceUnavailable, text: err.Error()}
	}
	maps.Copy(w.Header(), no.header)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(no.status)
	_ = json.NewEncoder(w).Encode(refusalOf(no.text))
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost && r.Method != http.MethodDelete {
		return &halt{http.StatusMethodNotAllowed, "this server opens no stream; it takes POST and DELETE", http.Header{"Allow": {"DELETE, POST"}}}
	}
	if !s.cfg.OriginAllowed(strings.Join(r.Header.Values("Origin"), ", "), r.Host) {
		return &halt{status: http.StatusForbidden, text: "pages of this origin may not call here"}
	}
	who := &caller{token: bearer(r.Header), from: r.RemoteAddr, host: r.Host, forwarded: r.Header.Values("X-Forwarded-For")}
	who.requestID = cmp.Or(w.Header().Get("X-Request-Id"), r.Header.Get("X-Request-Id"))
	if !isKey(who.token) {
		return wrongKey("give a scoped key, which begins with pk_, as Authorization: Bearer")
	}
	if err := s.identify(r.Context(), who); err != nil {
		return ofKey(err)
	}
	body, err := read(w, r, who)
	if err != nil {
		return err
	}
	in := r.WithContext(withCaller(r.Context(), who))
	in.Body, in.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	who.session = r.Header.Get(sessionHeader)
	if who.session == "" {
		return s.open(w, in, who)
	}
	done, ok := s.sessions.use(who.session, who.key.ID)
	if !ok {
		return &halt{status: http.StatusNotFound, text: "this key has no such session; begin a new one"}
	}
	defer done()
	if r.Method == http.MethodDelete {
		defer s.sessions.drop(who.session)
	}
	s.http.ServeHTTP(w, in)
	return nil
}

// open lets the SDK begin a session, and notes whose it is.
func (s *Server) open(w http.ResponseWriter, r *http.Request, who *caller) error {
	if r.Method == http.MethodDelete {
		return &halt{status: http.StatusBadRequest, text: "DELETE needs " + sessionHeader}
	}
	if !who.begins {
		s.http.ServeHTTP(w, r) // which keeps no session of it
		return nil
	}
	end, ok := s.sessions.room(who.key.ID)
	for session := range s.sdk.Sessions() {
		if slices.Contains(end, session.ID()) {
			_ = session.Close() // nothing of it is under way
		}
	}
	if !ok {
		return &halt{http.StatusServiceUnavailable, "too many sessions are open, and all of them are at work", http.Header{"Retry-After": {"5"}}}
	}
	s.http.ServeHTTP(&opening{ResponseWriter: w, opened: func(id string) { s.sessions.add(id, who.key.ID) }}, r)
	return nil
}

// opening is the answer to a request without a session, which has the id of a new one.
// It is noted before the client can use it.
type opening struct {
	http.ResponseWriter
	opened func(id string)
}

// WriteHeader implements http.ResponseWriter.
func (w *opening) WriteHeader(status int) {
	w.note()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *opening) Write(p []byte) (int, error) {
	w.note()
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (w *opening) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *opening) note() {
	if id := w.Header().Get(sessionHeader); id != "" && w.opened != nil {
		w.opened(id)
		w.opened = nil
	}
}

// bearer returns the token of the Authorization header, empty when there is not exactly one.
func bearer(h http.Header) string {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

func wrongKey(text string) error {
	return &halt{http.StatusUnauthorized, text, http.Header{"Www-Authenticate": {"Bearer"}}}
}

// ofKey returns what is answered to a key of which the interface said err.
func ofKey(err error) error {
	var no *refusal
	switch {
	case !errors.As(err, &no):
		return err
	case no.status == http.StatusUnauthorized:
		return wrongKey(no.Error())
	case no.after != "":
		return &halt{no.status, no.Error(), http.Header{"Retry-After": {no.after}}}
	}
	return &halt{status: no.status, text: no.Error()}
}

// read returns the body of a request, one message, whose id it notes.
func read(w http.ResponseWriter, r *http.Request, who *caller) ([]byte, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // the key is known by now
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &halt{status: http.StatusRequestEntityTooLarge, text: errLong.Error()}
	case err != nil:
		return nil, &halt{status: http.StatusBadRequest, text: "the body did not arrive"}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // from here on the call may take its time
	if r.Method == http.MethodDelete {
		return nil, nil
	}
	m, err := oneMessage(body)
	if err != nil {
		return nil, &halt{status: http.StatusBadRequest, text: err.Error()}
	}
	who.message = messageID(m)
	if first, ok := m.(*jsonrpc.Request); ok {
		who.begins = first.Method == "initialize"
	}
	return body, nil
}
