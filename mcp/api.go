package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// request is one request of the HTTP interface.
type request struct {
	method string
	path   string // from /, escaped
	query  url.Values
	in     any  // the body, as JSON; nil: none
	once   bool // with the Idempotency-Key of the call
	most   int  // bytes of the answer; 0: maxAnswer
}

// maxAnswer is how much of an answer in JSON is read, in bytes.
const maxAnswer = 16 << 20

// errTooLarge reports an answer beyond its size limit.
var errTooLarge = errors.New("the answer is too large to return here; request less at a time")

// refusal is an error answer of the API. Its messages name the rule; they never repeat
// text of strangers.
type refusal struct {
	status int
	Code   string   `json:"code"`
	Texts  []string `json:"messages"`
	after  string   // seconds to wait, where the answer said so
}

// Error implements error.
func (r *refusal) Error() string {
	text := cmp.Or(clean(strings.Join(r.Texts, "; "), maxName*4), http.StatusText(r.status))
	text = fmt.Sprintf("%s: %s", cmp.Or(clean(r.Code, maxName), fmt.Sprint(r.status)), text)
	if r.after != "" {
		text += fmt.Sprintf(" (again in %s seconds)", clean(r.after, 10))
	}
	switch r.Code {
	case "SEND_RESULT_UNKNOWN":
		text += "; the message may have arrived: do not send it again"
	case "INSTANCE_NOT_FOUND":
		text += "; list_instances returns the names that exist"
	}
	return text
}

// ask makes a request for the caller of ctx, and decodes the answer into out.
func (s *Server) ask(ctx context.Context, r request, out any) error {
	_, body, err := s.fetch(ctx, r)
	if err != nil {
		return err
	}
	return decode(body, out)
}

// decode reads the JSON of an answer.
func decode(body []byte, out any) error {
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("the API did not answer with its JSON: %w", err)
	}
	return nil
}

// fetch makes a request for the caller of ctx and returns its answer, a success.
func (s *Server) fetch(ctx context.Context, r request) (http.Header, []byte, error) {
	r.most = cmp.Or(r.most, maxAnswer)
	req, err := s.build(withRoom(ctx, r.most), r)
	if err != nil {
		return nil, nil, err
	}
	resp, err := s.cfg.API.RoundTrip(req)
	if err != nil {
		return nil, nil, fmt.Errorf("the HTTP interface of Postern does not answer: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusMultipleChoices {
		no := &refusal{status: resp.StatusCode, after: resp.Header.Get("Retry-After")}
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		_ = json.Unmarshal(said, no) // a proxy may send any body: then only the status counts
		return nil, nil, no
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(r.most)+1))
	if err == nil && len(body) > r.most {
		err = errTooLarge
	}
	return resp.Header, body, err
}

// build makes the HTTP request of r, with the credential of the caller.
func (s *Server) build(ctx context.Context, r request) (*http.Request, error) {
	who := callerIn(ctx)
	var body bytes.Buffer
	if r.in != nil {
		e := json.NewEncoder(&body)
		e.SetEscapeHTML(false)
		if err := e.Encode(r.in); err != nil {
			return nil, err
		}
	}
	target := s.cfg.Base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, &body)
	if err != nil {
		return nil, err
	}
	if r.in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+who.token)
	if who.requestID != "" {
		req.Header.Set("X-Request-Id", who.requestID)
	}
	for _, v := range who.forwarded {
		req.Header.Add("X-Forwarded-For", v)
	}
	if r.once && who.message != "" {
		req.Header.Set("Idempotency-Key", who.onceKey())
	}
	return req, nil
}

// identify looks up the current rights of the caller's key.
func (s *Server) identify(ctx context.Context, who *caller) error {
	var shown struct{ Key *key }
	if err := s.ask(withCaller(ctx, who), request{method: http.MethodGet, path: "/session"}, &shown); err != nil {
		return err
	}
	if shown.Key == nil || shown.Key.ID == "" {
		return errors.New("the API does not accept this credential as a scoped key")
	}
	who.key = shown.Key
	return nil
}

// of returns the path of an instance's resource. name was checked by the schema of the tool.
func of(name string, rest ...string) string {
	path := []string{"/instance", url.PathEscape(name)}
	for _, segment := range rest {
		path = append(path, url.PathEscape(segment))
	}
	return strings.Join(path, "/")
}
