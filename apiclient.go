package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// apiClient talks to a running Postern as its users do.
type apiClient struct {
	base string // "http://host:port"
	http http.Client
}

func newAPIClient(base string) *apiClient {
	return &apiClient{base: base, http: http.Client{Timeout: time.Minute}}
}

// credential is one header of authentication; the zero value is none.
type credential struct{ name, value string }

func apiKey(key string) credential   { return credential{"apikey", key} }
func bearer(token string) credential { return credential{"Authorization", "Bearer " + token} }

// call sends in as JSON, none when nil, and reads the answer into out, ignored
// when nil. Any status but 2xx is an error that shows the answer.
func (c *apiClient) call(ctx context.Context, cred credential, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	if cred.name != "" {
		req.Header.Set(cred.name, cred.value)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}
