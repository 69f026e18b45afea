package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"nhooyr.io/websocket"

	"postern/cli/consumer"
)

// scoped makes a key with the scopes read and batch, for an instance, and its id.
func (s *socketRig) scoped(more string) (text, id string) {
	s.t.Helper()
	var made struct{ ID, Key string }
	body := map[string]any{"name": "k", "instances": []string{"shop"}, "scopes": []string{"read", "batch"}, "userId": "6f1c1a52-0d6b-4c56-9c0e-6d1a3f4b2c10"}
	if more != "" {
		body["expiresAt"] = more
	}
	if err := s.api.Call(s.t.Context(), s.key, http.MethodPost, "/keys", body, &made); err != nil {
		s.t.Fatal(err)
	}
	return made.Key, made.ID
}

// allOf opens a WebSocket of each kind with a key.
func (s *socketRig) allOf(key string) (all []*websocket.Conn) {
	s.t.Helper()
	for _, path := range []string{"/ws/instance/events?event=*", "/ws/instance/events?event=*&instance=shop", "/ws/global/events?event=*", "/ws/console"} {
		all = append(all, s.mustDial(path, key))
	}
	return all
}

// TestAKeysWebSocketsEndWithinASecond: by deletion and narrowing with 4003, at its end
// with 4001, and not when it lasts longer or is given another name.
func TestAKeysWebSocketsEndWithinASecond(t *testing.T) {
	s := newSockets(t)
	s.instance("shop")
	s.instance("desk")
	end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for name, c := range map[string]struct {
		method string
		change any
		code   websocket.StatusCode
	}{
		"deletion":        {http.MethodDelete, nil, 4003},
		"other instances": {http.MethodPatch, map[string]any{"instances": []string{"desk"}}, 4003},
		"recipients":      {http.MethodPatch, map[string]any{"recipients": []string{"4915112345678"}}, 4003},
		"an earlier end":  {http.MethodPatch, map[string]any{"expiresAt": time.Now().Add(time.Minute).UTC().Format(time.RFC3339)}, 4003},
		"its own end":     {http.MethodPatch, nil, 4001},
	} {
		until, within := end, time.Second
		if name == "its own end" {
			until = time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339Nano)
			within += 2 * time.Second
		}
		key, id := s.scoped(until)
		conns := s.allOf(key)
		if name != "its own end" {
			if err := s.api.Call(t.Context(), s.key, c.method, "/keys/"+id, c.change, nil); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		for i, conn := range conns {
			if code := s.closedWith(conn); code != c.code {
				t.Errorf("%s: socket %d closed with %d, want %d", name, i, code, c.code)
			}
		}
		if took := time.Since(began); took > within {
			t.Errorf("%s: it took %s", name, took)
		}
	}
}

// TestUnrelatedChangesKeepAKeysWebSockets: another name, a later end, a new
// token of the instance, another key's deletion.
func TestUnrelatedChangesKeepAKeysWebSockets(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := newSockets(t)
	token := s.instance("shop")
	key, id := s.scoped(time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339Nano))
	_, other := s.scoped("")
	conns := s.allOf(key)
	for _, change := range []any{map[string]any{"name": "other"}, map[string]any{"expiresAt": ""}} {
		if err := s.api.Call(t.Context(), s.key, http.MethodPatch, "/keys/"+id, change, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range [][2]string{{http.MethodDelete, "/keys/" + other}, {http.MethodPut, "/instance/shop/token"}} {
		if err := s.api.Call(t.Context(), s.key, c[0], c[1], nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	<-time.After(2500 * time.Millisecond) // past the end that it had
	if n, _ := s.hub.Stats(); n != len(conns) {
		t.Errorf("%d of %d sockets are left", n, len(conns))
	}
	if err := s.api.Call(t.Context(), consumer.Bearer(token), http.MethodGet, "/instance/shop", nil, nil); err == nil {
		t.Error("the token of the instance was not replaced")
	}
}

// TestSessionWebSocketsEndWithSessionAndKey, also when it ends for a younger one.
func TestSessionWebSocketsEndWithSessionAndKey(t *testing.T) {
	s := newSockets(t)
	s.instance("shop")
	for _, how := range []string{"sign out", "sign out everywhere", "deletion of the key", "too many sessions"} {
		key, id := s.scoped("")
		cookie := s.signIn(key)
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(s.url, "http", "ws", 1)+"/ws/console",
			&websocket.DialOptions{HTTPHeader: http.Header{"Cookie": {cookie}, "Origin": {s.url}}})
		if err != nil {
			t.Fatal(err)
		}
		// Who does not read answers no ping, and a hundred sign-ins may take their time.
		closed := make(chan websocket.StatusCode, 1)
		go func() {
			_, _, err := conn.Read(t.Context())
			for err == nil {
				_, _, err = conn.Read(t.Context())
			}
			closed <- websocket.CloseStatus(err)
		}()
		switch how {
		case "sign out":
			s.signOut(cookie)
		case "too many sessions":
			for range 99 { // as many as there may be, with the first
				if _, _, err := s.access.Sessions.Begin(t.Context(), uuid.MustParse(id), nil, time.Time{}); err != nil {
					t.Fatal(err)
				}
			}
			s.signIn(key)
		case "sign out everywhere":
			if err := s.api.Call(t.Context(), consumer.Bearer(key), http.MethodDelete, "/session?all=true", nil, nil); err != nil {
				t.Fatal(err)
			}
		default:
			if err := s.api.Call(t.Context(), s.key, http.MethodDelete, "/keys/"+id, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case code := <-closed:
			if code != 4003 {
				t.Errorf("%s: closed with %d; the log has\n%s", how, code, s.log.String())
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: not closed; the log has\n%s", how, s.log.String())
		}
	}
}

// signIn returns the cookie of a new session of a key.
func (s *socketRig) signIn(key string) (cookie string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/session", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = res.Body.Close()
	if len(res.Cookies()) != 1 {
		s.t.Fatalf("POST /session: %s", res.Status)
	}
	return res.Cookies()[0].Name + "=" + res.Cookies()[0].Value
}

func (s *socketRig) signOut(cookie string) {
	s.t.Helper()
	ask := func(method, csrf string) *http.Response {
		req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+"/session", nil)
		if err != nil {
			s.t.Fatal(err)
		}
		req.Header.Set("Cookie", cookie)
		req.Header.Set("X-Postern-Csrf", csrf)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	var who struct{ CSRF string }
	if err := json.NewDecoder(ask(http.MethodGet, "").Body).Decode(&who); err != nil {
		s.t.Fatal(err)
	}
	if res := ask(http.MethodDelete, who.CSRF); res.StatusCode != http.StatusNoContent {
		s.t.Fatal(res.Status)
	}
}
