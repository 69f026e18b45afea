package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"postern/sandbox/phone"
)

// do runs an act as a request does.
func do(t *testing.T, s *Server, p *phone.Phone, name string, fields map[string]any) error {
	t.Helper()
	table := acts()
	i := slices.IndexFunc(table, func(a act) bool { return a.Do == name })
	if i < 0 {
		t.Fatalf("no act %s", name)
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	_, err = table[i].run(context.Background(), s.Server, p, raw)
	return err
}

func mustDo(t *testing.T, s *Server, p *phone.Phone, name string, fields map[string]any) {
	t.Helper()
	if err := do(t, s, p, name, fields); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type fields = map[string]any

// synced is a server with a phone and its linked client that keeps app state.
func synced(t *testing.T, cfg Config) (*Server, *phone.Phone, *client) {
	t.Helper()
	s := openServer(t, cfg)
	p := addPhone(t, s, "5511911111111")
	c := newClient(t, s, newStateDevice())
	c.pairByQR(p)
	return s, p, c
}

// does lets a phone act over HTTP.
func does(t *testing.T, s *Server, phone, body string) map[string]string {
	t.Helper()
	var answer map[string]string
	if got := call(t, s, "POST", "/sandbox/phones/"+phone+"/act", body, &answer); got != http.StatusOK {
		t.Fatalf("%s does %s: %d", phone, body, got)
	}
	return answer
}

// call makes a control request and decodes the answer.
func call(t *testing.T, s *Server, method, path, body string, answer any) int {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-Request-Id", "request-1")
	w := httptest.NewRecorder()
	s.Control().ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil {
		t.Fatalf("%s %s answered %q: %v", method, path, w.Body, err)
	}
	return w.Code
}
