package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// post sends a body as it is, in a session, and returns status, answer and the session.
func (w *world) post(key, session, body string, headers ...string) (status int, answer, opened string) {
	w.t.Helper()
	return w.raw(http.MethodPost, key, session, body, headers...)
}

func (w *world) raw(method, key, session, body string, headers ...string) (status int, answer, opened string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.http.URL, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if session != "" {
		req.Header.Set(sessionHeader, session)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header.Get(sessionHeader)
}

// session opens a session and returns its id.
func (w *world) session(key string) string {
	w.t.Helper()
	status, answer, id := w.post(key, "", initialize)
	if status != http.StatusOK || id == "" {
		w.t.Fatalf("%d %s", status, answer)
	}
	if status, answer, _ := w.post(key, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != http.StatusAccepted {
		w.t.Fatalf("%d %s", status, answer)
	}
	return id
}

func calling(id, tool string, args map[string]any) string {
	raw, _ := json.Marshal(args)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, raw)
}

func TestRepeatedCallsShareAnIdempotencyKey(t *testing.T) {
	for tool, changed := range map[string]string{"send_message": "text", "start_batch": "text"} {
		w := newWorld(t)
		first, second, others := w.session(all), w.session(all), w.session(other)
		key := func(api, session, id string, args map[string]any) string {
			w.requests()
			status, answer, _ := w.post(api, session, calling(id, tool, args))
			got := w.requests()
			if status != http.StatusOK || len(got) != 1 || got[0].header.Get("Idempotency-Key") == "" {
				t.Fatalf("%d %s: %v", status, answer, got)
			}
			return got[0].header.Get("Idempotency-Key") + "\n" + got[0].body
		}
		args := examples[tool]
		original := key(all, first, "7", args)
		for _, session := range []string{first, second} {
			if again := key(all, session, "7", args); again != original {
				t.Errorf("%s: a repeated call is\n%s\nand was\n%s", tool, again, original)
			}
		}
		seen := []string{original}
		for _, one := range []string{
			key(all, first, "8", args), key(all, first, `"7"`, args), key(other, others, "7", args),
		} {
			if slices.Contains(seen, one) {
				t.Errorf("%s: another call has the key of an earlier one: %s", tool, one)
			}
			seen = append(seen, one)
		}
		for _, session := range []string{first, second} {
			if k, _, _ := strings.Cut(key(all, session, "7", with(args, map[string]any{changed: "bye"})), "\n"); strings.HasPrefix(original, k) {
				t.Errorf("%s: a call with another text has the key of the first", tool)
			}
		}
	}
}

func TestIdempotencyKeyInputs(t *testing.T) {
	text := func(text string) []byte {
		var c caller
		c.does("send_message", sendInput{Instance: "shop", To: "1", Text: text})
		return c.doing
	}
	first := caller{key: &key{ID: "k"}, session: "s", message: "int64 1", doing: text("hello")}
	for name, c := range map[string]struct {
		caller caller
		same   bool
	}{
		"another session":   {caller{key: &key{ID: "k"}, session: "t", message: "int64 1", doing: text("hello")}, true},
		"another key":       {caller{key: &key{ID: "l"}, session: "s", message: "int64 1", doing: text("hello")}, false},
		"another id":        {caller{key: &key{ID: "k"}, session: "s", message: "int64 2", doing: text("hello")}, false},
		"another id's type": {caller{key: &key{ID: "k"}, session: "s", message: "string 1", doing: text("hello")}, false},
		"another text":      {caller{key: &key{ID: "k"}, session: "s", message: "int64 1", doing: text("bye")}, false},
		"no arguments":      {caller{key: &key{ID: "k"}, session: "s", message: "int64 1"}, false},
	} {
		if same := c.caller.onceKey() == first.onceKey(); same != c.same || len(first.onceKey()) > 255 {
			t.Errorf("%s: the same key: %v", name, same)
		}
	}
}

func TestRepeatedCallAfterRestartOfClient(t *testing.T) {
	w := newWorld(t)
	sent := func(text string) string {
		t.Helper()
		s := w.byStream(all) // whose first call has the same id
		if text, isError := call(t, s, "send_message", with(examples["send_message"], map[string]any{"text": text})); isError {
			t.Fatal(text)
		}
		got := w.requests()
		if len(got) != 1 || got[0].header.Get("Idempotency-Key") == "" {
			t.Fatalf("%+v", got)
		}
		return got[0].header.Get("Idempotency-Key")
	}
	first := sent("hello")
	if sent("hello") != first {
		t.Error("the same call by another process has another key: it would send twice")
	}
	if sent("something else") == first {
		t.Error("another message has the key of the first: it would not be sent")
	}
}

func TestRepeatedCallIsMarked(t *testing.T) {
	w := newWorld(t)
	w.answers["POST /instance/shop/send/text"] = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Idempotency-Replayed", "true")
		says(200, message)(rw, r)
	}
	s, _ := w.byHTTP(sender)
	if text, isError := call(t, s, "send_message", examples["send_message"]); isError || !strings.Contains(text, `"repeated":true`) {
		t.Error(text)
	}
}

func TestOnlyScopedKeysAreTaken(t *testing.T) {
	w := newWorld(t)
	w.keys["global-api-key-of-the-operator"] = w.keys[all]
	w.keys["eyJhbGciOiJIUzI1NiJ9.e30.x"] = w.keys[all]
	for _, key := range []string{"", "global-api-key-of-the-operator", "eyJhbGciOiJIUzI1NiJ9.e30.x", "pk_unknown", "pk_" + strings.Repeat("x", 1000)} {
		if status, answer, _ := w.post(key, "", initialize); status != http.StatusUnauthorized {
			t.Errorf("%.40q: %d %s", key, status, answer)
		}
	}
	for _, headers := range [][]string{{"apikey", all}, {"Authorization", "Basic " + all}, {"Authorization", "Bearer " + all, "Authorization", "Bearer " + all}} {
		if status, answer, _ := w.post("", "", initialize, headers...); status != http.StatusUnauthorized {
			t.Errorf("%v: %d %s", headers, status, answer)
		}
	}
	if got := w.requests(); got != nil {
		t.Errorf("the interface was asked %v", got)
	}
}

func TestOriginIsChecked(t *testing.T) {
	w := newWorld(t)
	w.allowed = func(origin, _ string) bool { return origin == "" || origin == "https://app.example" }
	for origin, want := range map[string]int{"https://app.example": 200, "https://evil.example": 403, "null": 403} {
		if status, answer, _ := w.post(all, "", initialize, "Origin", origin); status != want {
			t.Errorf("%s: %d %s", origin, status, answer)
		}
	}
	if status, answer, _ := w.post(all, "", initialize, "Origin", "https://app.example", "Origin", "https://app.example"); status != 403 {
		t.Errorf("an Origin that is there twice: %d %s", status, answer)
	}
	id := w.session(all)
	if status, _, _ := w.post(all, id, calling("1", "send_message", examples["send_message"]), "Origin", "https://evil.example"); status != 403 || w.requests() != nil {
		t.Errorf("in a session that is open: %d", status)
	}
	if status, _, _ := w.raw(http.MethodDelete, all, id, "", "Origin", "https://evil.example"); status != 403 {
		t.Errorf("the end of a session: %d", status)
	}
}

func TestHostileRequestsAreRefused(t *testing.T) {
	w := newWorld(t)
	id := w.session(all)
	for name, c := range map[string]struct {
		body string
		want int
	}{
		"no JSON":            {`{`, 400},
		"nothing":            {``, 400},
		"no message":         {`{}`, 400},
		"several":            {`[` + calling("1", "list_instances", nil) + `]`, 400},
		"two in a body":      {calling("1", "list_instances", nil) + calling("2", "list_instances", nil), 400},
		"too deep":           {`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 101), 400},
		"very deep":          {strings.Repeat(`[`, 900_000), 400},
		"too large":          {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` + strings.Repeat("x", maxRequest) + `"}}`, 413},
		"an answer":          {`{"jsonrpc":"2.0","id":1,"result":{}}`, 202},
		"an unknown method":  {`{"jsonrpc":"2.0","id":1,"method":"drop"}`, 400},
		"a fractional id":    {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, 400},
		"an integer as 1.0":  {`{"jsonrpc":"2.0","id":1.0,"method":"ping"}`, 200},
		"the largest id":     {`{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`, 200},
		"a larger id":        {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, 400},
		"a lower id":         {`{"jsonrpc":"2.0","id":-9223372036854775809,"method":"ping"}`, 400},
		"no number at all":   {`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, 400},
		"an id given twice":  {`{"jsonrpc":"2.0","id":1,"id":1.5,"method":"ping"}`, 400},
		"an id of a billion": {`{"jsonrpc":"2.0","id":"` + strings.Repeat("9", 100_000) + `","method":"ping"}`, 200},
	} {
		status, answer, _ := w.post(all, id, c.body)
		if status != c.want {
			t.Errorf("%s: %d %.200s", name, status, answer)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodHead} {
		if status, _, _ := w.raw(method, all, id, ""); status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, status)
		}
	}
	for method, params := range map[string]string{"subscriptions/listen": `{}`, "resources/subscribe": `{"uri":"postern://instance/shop/chats"}`, "logging/setLevel": `{"level":"debug"}`, "prompts/list": `{}`} {
		if status, answer, _ := w.post(all, id, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)); status != 200 || !strings.Contains(answer, `"code":-32601`) {
			t.Errorf("%s: %d %s", method, status, answer)
		}
	}
	if status, answer, _ := w.post(all, id, calling("1", "list_instances", nil)); status != 200 || strings.Contains(answer, "isError") {
		t.Errorf("the session is broken: %d %s", status, answer)
	}
}

func TestWrongArgumentsNameFieldAndRule(t *testing.T) {
	w := newWorld(t)
	s, _ := w.byHTTP(all)
	shop := map[string]any{"instance": "shop"}
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"find_chats", nil, "instance"},
		{"find_chats", map[string]any{"instance": "../admin"}, "name of an instance"},
		{"find_chats", map[string]any{"instance": "shop/send/text?x="}, "name of an instance"},
		{"find_chats", with(shop, map[string]any{"limit": 101}), "between 1 and 100"},
		{"find_chats", with(shop, map[string]any{"limit": -1}), "between 1 and 100"},
		{"find_contacts", shop, "query"},
		{"read_messages", with(shop, map[string]any{"from": "yesterday"}), "from must be"},
		{"read_messages", with(shop, map[string]any{"query": strings.Repeat("x", 256)}), "255 are allowed"},
		{"get_batch", map[string]any{"id": "../../admin/batches"}, "id of a batch"},
		{"send_message", with(shop, map[string]any{"to": "49"}), "exactly one"},
		{"send_message", with(shop, map[string]any{"to": "49", "text": "a", "mediaUrl": "https://x.example/a.jpg"}), "exactly one"},
		{"send_message", with(shop, map[string]any{"to": "49", "text": "a", "caption": "b"}), "caption requires mediaUrl"},
		{"send_message", with(shop, map[string]any{"to": "49", "reaction": "x"}), "replyTo"},
		{"start_batch", with(examples["start_batch"], map[string]any{"recipients": []string{}}), "must not be empty"},
		{"start_batch", with(examples["start_batch"], map[string]any{"recipients": nil}), "recipients"},
		{"start_batch", with(examples["start_batch"], map[string]any{"instances": []string{"a/b"}}), "name of an instance"},
	} {
		if text, isError := call(t, s, c.tool, c.args); !isError || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: %s", c.tool, c.args, text)
		}
	}
	if got := w.requests(); got != nil {
		t.Errorf("the interface was asked %v", got)
	}
}

func TestDisconnectDoesNotStopAMessage(t *testing.T) {
	w := newWorld(t)
	entered, leave, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	w.answers["POST /instance/shop/send/text"] = func(rw http.ResponseWriter, r *http.Request) {
		close(entered)
		<-leave
		ended <- r.Context().Err()
		says(200, message)(rw, r)
	}
	id := w.session(all)
	ctx, goAway := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, w.http.URL, strings.NewReader(calling("1", "send_message", examples["send_message"])))
	req.Header = http.Header{"Authorization": {"Bearer " + all}, "Content-Type": {"application/json"}, "Accept": {"*/*"}, sessionHeader: {id}}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	<-entered
	goAway()
	<-gone
	close(leave)
	if err := <-ended; err != nil {
		t.Errorf("the send was given up: %v", err)
	}
}

func TestACallThatIsCancelledEnds(t *testing.T) {
	w := newWorld(t)
	entered := make(chan struct{})
	w.answers["GET /instance"] = func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}
	id := w.session(all)
	answered := make(chan string)
	go func() {
		_, answer, _ := w.post(all, id, calling("1", "list_instances", nil))
		answered <- answer
	}()
	<-entered
	if status, answer, _ := w.post(all, id, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, answer)
	}
	select {
	case <-answered:
	case <-time.After(10 * time.Second):
		t.Error("the request of a call that was cancelled is never answered")
	}
	w.server.calls.mu.Lock()
	defer w.server.calls.mu.Unlock()
	if w.server.calls.total != 0 {
		t.Errorf("%d calls are left", w.server.calls.total)
	}
}

func FuzzRequests(f *testing.F) {
	f.Add(initialize)
	f.Add(calling("1", "send_message", examples["send_message"]))
	f.Add(`{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"x","arguments":[]}}`)
	local := &Local{}
	local.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"key":{"id":"k","scopes":["read","send"]}}`)
	}))
	s := New(Config{API: local})
	ask := func(session, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/mcp", strings.NewReader(body))
		r.Header = http.Header{"Authorization": {"Bearer pk_x"}, "Content-Type": {"application/json"}, "Accept": {"*/*"}}
		if session != "" {
			r.Header.Set(sessionHeader, session)
		}
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		return rec
	}
	f.Fuzz(func(t *testing.T, body string) {
		id := ask("", initialize).Header().Get(sessionHeader)
		for _, session := range []string{"", id} {
			if rec := ask(session, body); rec.Code >= 500 {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
		}
		if len(s.sessions.all) > maxSessionsOfKey {
			t.Errorf("%d sessions", len(s.sessions.all))
		}
	})
}
