package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"postern/app/certificate"
	"postern/config"
	"postern/event"
)

// program is a running Postern that a command calls with its API key.
type program struct {
	base string // as the user knows it
	url  string // before the paths
	way  *http.Transport
	key  string

	token string // of a user, in place of the key; empty: none
}

// running returns the program that runs with this configuration on this machine; an empty key
// means the configured one.
func running(cfg *config.Config, key string) (program, error) {
	if key == "" {
		s, err := config.ReadSecrets(cfg)
		if err != nil {
			return program{}, fmt.Errorf("the API key is required to ask the program that has the data file open: %w", err)
		}
		key = s.GlobalAuthToken
	}
	p := program{base: ownURL(cfg), key: key}
	p.url, p.way = reach(p.base, false)
	return p, knowOwn(p.way, cfg)
}

// elsewhere returns a program at another address; an empty key means the configured one.
func elsewhere(cfg *config.Config, base, key string) (program, error) {
	p := program{base: base, key: key}
	p.url, p.way = reach(base, false)
	if key != "" {
		return p, nil
	}
	s, err := config.ReadSecrets(cfg)
	if err != nil {
		return p, fmt.Errorf("%w; give the API key by --key", err)
	}
	p.key = s.GlobalAuthToken
	return p, nil
}

// ask calls the program. Any answer other than a success is an error that contains it.
func (p program) ask(ctx context.Context, method, path string, in any) (*http.Response, error) {
	return p.askAs(ctx, method, path, "", in)
}

// askAs is ask with an id for the request, unless that is empty.
func (p program) askAs(ctx context.Context, method, path, requestID string, in any) (*http.Response, error) {
	var body bytes.Buffer
	kind := ""
	if in != nil {
		kind = "application/json"
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return nil, err
		}
	}
	return p.send(ctx, method, path, requestID, kind, &body)
}

// refused is an error response of the program.
type refused struct {
	base, status, said string
	code               string // machine code; empty when there is none
}

func (r *refused) Error() string { return fmt.Sprintf("%s answered %s: %s", r.base, r.status, r.said) }

// send calls the program with a body of any type, as askAs does with JSON. Any answer
// other than a success is a *refused.
func (p program) send(ctx context.Context, method, path, requestID, kind string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, body)
	if err != nil {
		return nil, err
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	} else {
		req.Header.Set("apikey", p.key)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if requestID != "" {
		req.Header.Set("X-Request-Id", requestID)
	}
	resp, err := (&http.Client{Transport: p.way}).Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w; a program that has the data file open, or is at --url, does not answer there", err)
	}
	if resp.StatusCode/100 != 2 {
		defer func() { _ = resp.Body.Close() }()
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 2048))
		var e struct {
			Code              string
			Messages, Reasons []string // Reasons: of /ready
		}
		text := event.Cut(string(said))
		if json.Unmarshal(said, &e) == nil && e.Code != "" {
			text = e.Code + ": " + strings.Join(append(e.Messages, e.Reasons...), "; ")
		}
		return nil, &refused{p.base, resp.Status, config.OneLine(text), e.Code}
	}
	return resp, nil
}

// knowOwn makes the transport accept only the configured certificate: it names another
// host, and the API key is sent there.
func knowOwn(way *http.Transport, cfg *config.Config) error {
	if !cfg.Secure() {
		return nil
	}
	setting := "server.tls.cert"
	load := func() (tls.Certificate, error) { return config.KeyPair(cfg.Server.TLSCert, cfg.Server.TLSKey) }
	if len(cfg.Server.TLSDomain) > 0 {
		setting = "server.tls.domain"
		load = func() (tls.Certificate, error) { return certificate.Stored(cfg) }
	}
	own, err := load()
	if err != nil {
		return fmt.Errorf("the certificate of %s, which identifies the running program: %w", setting, err)
	}
	way.TLSClientConfig = &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does, more strictly
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || !bytes.Equal(s.PeerCertificates[0].Raw, own.Certificate[0]) {
				return errors.New("the program at server.listen has a different certificate than " + setting + "; the key was not sent")
			}
			return nil
		},
	}
	return nil
}
