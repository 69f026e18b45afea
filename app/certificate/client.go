package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"postern/dispatch"
)

// newClient returns a client that calls the authority until life ends. Its failures are
// logged: a renewal without a waiting handshake is not reported otherwise.
func newClient(life context.Context, roots *x509.CertPool, log *slog.Logger) *http.Client {
	next := http.DefaultTransport.(*http.Transport).Clone()
	next.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &http.Client{Timeout: 30 * time.Second, Transport: &transport{next: next, life: life, log: log}}
}

type transport struct {
	next http.RoundTripper
	life context.Context
	log  *slog.Logger

	losses dispatch.LogThrottle
}

// maxProblem is the number of bytes read from a refusal.
const maxProblem = 64 << 10

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	undo := context.AfterFunc(t.life, cancel)
	resp, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		undo()
		cancel()
		if t.life.Err() == nil {
			level, times := t.losses.Count("way")
			t.log.Log(r.Context(), level, "the certificate authority cannot be reached", "host", r.URL.Host, "error", err, "count", times)
		}
		return nil, err
	}
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		t.look(r, resp)
	}
	resp.Body = &untilClosed{resp.Body, func() { undo(); cancel() }}
	return resp, nil
}

// problem is the authority's reason for a refusal (RFC 8555, 6.7).
type problem struct{ Type, Detail string }

// look logs refusals, and failed challenges of an authorization (7.1.4), of which
// autocert reports nothing. A refused nonce is part of the protocol.
func (t *transport) look(r *http.Request, resp *http.Response) {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(raw), resp.Body), resp.Body}
	var answer struct {
		problem
		Status     any // a number in a refusal
		Challenges []struct {
			Type  string
			Error problem
		}
	}
	if err != nil || json.Unmarshal(raw, &answer) != nil {
		return
	}
	if resp.StatusCode >= http.StatusBadRequest && answer.Type != "urn:ietf:params:acme:error:badNonce" {
		level, times := t.losses.Count(answer.Type)
		t.log.Log(r.Context(), level, "the certificate authority refuses", "host", r.URL.Host, "status", resp.StatusCode, "type", answer.Type, "detail", answer.Detail, "count", times)
	}
	for _, c := range answer.Challenges {
		if answer.Status == "invalid" && c.Error.Type != "" {
			level, times := t.losses.Count(c.Error.Type)
			t.log.Log(r.Context(), level, "the certificate authority could not find out that it is us; it has to reach this program at port 443 of the name", "host", r.URL.Host, "challenge", c.Type, "type", c.Error.Type, "detail", c.Error.Detail, "count", times)
		}
	}
}

// untilClosed is a body that reports its end.
type untilClosed struct {
	io.ReadCloser
	closed func()
}

// Close implements [io.Closer].
func (u *untilClosed) Close() error {
	defer u.closed()
	return u.ReadCloser.Close()
}
