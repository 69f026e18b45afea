package consumer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Client calls a running Postern as its users do.
type Client struct {
	Base string // "http://host:port"
	HTTP http.Client
}

// NewClient returns a client of the program at base, such as http://127.0.0.1:8084.
func NewClient(base string) *Client {
	return &Client{Base: base, HTTP: http.Client{Timeout: time.Minute}}
}

// Credential is one header of authentication; the zero value is none.
type Credential struct{ Name, Value string }

// Key returns the GlobalApiKey as a credential.
func Key(key string) Credential { return Credential{"apikey", key} }

// Bearer returns a token of an instance or of a user as a credential.
func Bearer(token string) Credential { return Credential{"Authorization", "Bearer " + token} }

// Call sends in as JSON, none when nil, and reads the answer into out, ignored
// when nil. Any status but 2xx is an error that shows the answer.
func (c *Client) Call(ctx context.Context, cred Credential, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, body)
	if err != nil {
		return err
	}
	if cred.Name != "" {
		req.Header.Set(cred.Name, cred.Value)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.HTTP.Do(req)
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
