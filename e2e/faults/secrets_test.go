package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/sandbox"
)

// scan collects every secret that a scenario uses, and every error body that
// comes back.
type scan struct {
	*rig.Scene
	secrets map[string]string // name -> text
	answers bytes.Buffer
}

func (s *scan) secret(name, text string) string {
	if len(text) < 8 {
		s.T.Fatalf("the secret %s is too short to be searched for: %q", name, text)
	}
	s.secrets[name] = text
	return text
}

// token notes a JWT, and its signature alone, which is what makes it one.
func (s *scan) tokenSecret(name, token string) string {
	s.secret(name+"'s signature", token[strings.LastIndexByte(token, '.')+1:])
	return s.secret(name, token)
}

// ask sends a request and keeps the answer when it is a refusal.
func (s *scan) ask(cred consumer.Credential, method, path, body string) (status int, answer []byte) {
	s.T.Helper()
	req, err := http.NewRequestWithContext(s.T.Context(), method, s.API.Base+path, strings.NewReader(body))
	if err != nil {
		s.T.Fatal(err)
	}
	if cred.Name != "" {
		req.Header.Set(cred.Name, cred.Value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.T.Fatal(err)
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	if res.StatusCode >= 400 {
		s.answers.Write(answer)
	}
	return res.StatusCode, answer
}

// TestLogsAndErrorsContainNoSecret runs what an operator and a consumer do,
// with the most talkative log, and searches all of it for every secret, token,
// code and message text that was used.
func TestLogsAndErrorsContainNoSecret(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program")
	}
	t.Parallel() // it waits more than it works
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) { scanFor(t, format) })
	}
}

func scanFor(t *testing.T, format string) {
	w := rig.NewWorld(t)
	w.Keep = true
	w.Env = []string{"LOG_LEVEL=debug", "LOG_FORMAT=" + format}
	s := &scan{secrets: map[string]string{}, Scene: &rig.Scene{World: w, Control: w.Sandbox.Control(), Vars: map[string]string{"own": rig.OwnNumber, "anne": rig.AnneNumber}}}
	s.secret("API key", w.Sec.GlobalAuthToken)
	s.secret("JWT secret", w.Sec.JWTSecret)
	for number, name := range map[string]string{rig.OwnNumber: "Shop", rig.AnneNumber: "Anne"} {
		if _, err := w.Sandbox.AddPhone(sandbox.PhoneOptions{Number: number, PushName: name}); err != nil {
			t.Fatal(err)
		}
	}
	w.Start()
	s.tokens(t)
	s.pairing(t)
	s.messages(t)
	s.refusals(t)
	s.webSocket(t)
	first := w.Output.String()
	w.Stop()
	w.Start()
	w.AwaitOnline(rig.SceneName, s.Token)
	w.Stop()
	logs := first + w.Output.String()
	for name, text := range s.secrets {
		for where, haystack := range map[string]string{"log": logs, "answers": s.answers.String()} {
			if i := strings.Index(haystack, text); i >= 0 {
				t.Errorf("the %s shows %s: …%s…", where, name, haystack[max(0, i-200):min(len(haystack), i+60)])
			}
		}
	}
	if !strings.Contains(logs, "DEBUG") || s.answers.Len() == 0 {
		t.Error("nothing was searched")
	}
	if path := os.Getenv("SCAN_LOG"); path != "" { // for a look with one's own eyes
		_ = os.WriteFile(path, []byte(logs), 0o600)
	}
}

func (s *scan) tokens(t *testing.T) {
	key := consumer.Key(s.Sec.GlobalAuthToken)
	var created struct{ Auth struct{ Token string } }
	_, answer := s.ask(key, http.MethodPost, "/instance", `{"instanceName":"shop"}`)
	if err := json.Unmarshal(answer, &created); err != nil {
		t.Fatal(err)
	}
	s.Token = s.tokenSecret("the first token", created.Auth.Token)
	var rotated struct{ Token string }
	_, answer = s.ask(consumer.Bearer(s.Token), http.MethodPut, "/instance/refreshToken/shop", `{"oldToken":"`+s.Token+`"}`)
	if err := json.Unmarshal(answer, &rotated); err != nil {
		t.Fatal(err)
	}
	s.Token = s.tokenSecret("the second token", rotated.Token)
	_, answer = s.ask(key, http.MethodPost, "/auth/user-token", `{"expiresIn":3600}`)
	if err := json.Unmarshal(answer, &rotated); err != nil {
		t.Fatal(err)
	}
	s.tokenSecret("a user's token", rotated.Token)
	s.tokenSecret("the batch user's token", s.User)
}

// pairing tries a code to type, then scans; everything in a code is a key.
func (s *scan) pairing(t *testing.T) {
	var typed, shown struct{ Code string }
	_, answer := s.ask(consumer.Bearer(s.Token), http.MethodGet, "/instance/shop/connect", "")
	if err := json.Unmarshal(answer, &shown); err != nil {
		t.Fatal(err)
	}
	_, parts, _ := strings.Cut(shown.Code, "#")
	for i, part := range strings.Split(parts, ",") {
		if len(part) >= 8 {
			s.secret(fmt.Sprint("part ", i, " of the code to scan"), part)
		}
	}
	s.Do(t, rig.Step{Method: http.MethodPost, Path: "/sandbox/scan", Body: fmt.Sprintf(`{"phone":"$own","code":%q}`, shown.Code)})
	s.AwaitOnline("shop", s.Token)
	_, answer = s.ask(consumer.Key(s.Sec.GlobalAuthToken), http.MethodPost, "/instance", `{"instanceName":"other"}`)
	var other struct{ Auth struct{ Token string } }
	if err := json.Unmarshal(answer, &other); err != nil {
		t.Fatal(err)
	}
	s.tokenSecret("the other's token", other.Auth.Token)
	_, answer = s.ask(consumer.Bearer(other.Auth.Token), http.MethodGet, "/instance/other/connect/code/4915155500009", "")
	if err := json.Unmarshal(answer, &typed); err != nil || typed.Code == "" {
		t.Fatalf("%v %s", err, answer)
	}
	s.secret("the code to type", typed.Code)
}

func (s *scan) messages(t *testing.T) {
	hook := s.Hook.URL + "/" + s.secret("the webhook's path", "path-only-we-know") + "?key=" + s.secret("the webhook's query", "query-only-we-know")
	s.ask(consumer.Bearer(s.Token), http.MethodPut, "/instance/shop/webhook", `{"url":"`+hook+`","events":{"messagesUpsert":true,"sendMessage":true}}`)
	s.ask(consumer.Bearer(s.Token), http.MethodPost, "/instance/shop/webhook/test", `{"event":"call.upsert"}`)
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"`+s.secret("a text received", "what Anne wrote to us alone")+`"}`))
	s.Do(t, rig.Act("$anne", `{"do":"undecryptable","to":"$own","text":"`+s.secret("a text that came broken", "an unreadable text")+`"}`))
	sent := s.secret("a text sent", "what we wrote to Anne alone")
	s.ask(consumer.Bearer(s.Token), http.MethodPost, "/instance/shop/send/text", `{"number":"`+rig.AnneNumber+`","textMessage":{"text":"`+sent+`"}}`)
	batched := s.secret("a batch's text", "what we wrote to everyone")
	b := s.CreateBatchWith("secret", []string{"shop"}, []string{rig.AnneNumber, "4915155510000"}, batched)
	s.Await("the end of the batch", func() bool { return strings.HasPrefix(string(s.Batch(b.ID).Status), "COMPLETED") })
	// A receiver that refuses, one that is not there, and a name that is none.
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer refusing.Close()
	for _, url := range []string{refusing.URL + "/path-only-we-know?key=query-only-we-know", "http://127.0.0.1:1/path-only-we-know?key=query-only-we-know", "http://no-such-name.invalid/path-only-we-know"} {
		s.ask(consumer.Bearer(s.Token), http.MethodPut, "/instance/shop/webhook", `{"url":"`+url+`"}`)
		s.ask(consumer.Bearer(s.Token), http.MethodPost, "/instance/shop/webhook/test", `{"event":"call.upsert"}`)
		s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"what Anne wrote to us alone"}`))
	}
	s.Await("failed deliveries", func() bool { return strings.Count(s.Output.String(), "webhook not delivered") >= 3 })
	s.Do(t, rig.Act("$own", `{"do":"drop"}`))
	s.AwaitOnline("shop", s.Token)
}

// refusals sends secrets to where they do not belong.
func (s *scan) refusals(t *testing.T) {
	secret := s.secret("something in a wrong place", "misplaced-confidence")
	for _, c := range []struct {
		cred               consumer.Credential
		method, path, body string
	}{
		{consumer.Bearer(secret), http.MethodGet, "/instance/shop", ""},
		{consumer.Bearer(s.Token), http.MethodGet, "/message/batches", ""},
		{consumer.Bearer(s.User), http.MethodGet, "/instance/shop", ""},
		{consumer.Key(secret), http.MethodGet, "/instance", ""},
		{consumer.Credential{}, http.MethodGet, "/instance/shop?token=" + secret, ""},
		{consumer.Credential{}, http.MethodGet, "/ws/instance/events?event=*&token=" + secret, ""},
		{consumer.Bearer(s.Token), http.MethodPut, "/instance/refreshToken/shop", `{"oldToken":"` + secret + `"}`},
		{consumer.Bearer(s.Token), http.MethodPost, "/instance/shop/send/text", `{"number":"4915155510000","textMessage":{"text":"` + secret + `"}}`},
		{consumer.Bearer(s.Token), http.MethodPost, "/instance/shop/send/text", `{"number":"x","textMessage":{"text":"` + secret + `"}}`},
		{consumer.Bearer(s.Token), http.MethodPost, "/instance/shop/send/text", `{"number":"1","textMessage":{"text":"` + secret + `"},"textMessage":1}`},
		{consumer.Bearer(s.Token), http.MethodPut, "/instance/shop/webhook", `{"url":"https://u:` + secret + `@example.org/"}`},
		{consumer.Bearer(s.User), http.MethodPost, "/message/batches", `{"name":"x","instances":["shop"],"recipients":["x"],"message":{"type":"text","payload":{"text":"` + secret + `"}}}`},
	} {
		if status, answer := s.ask(c.cred, c.method, c.path, c.body); status < 400 {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, answer)
		}
	}
}

func (s *scan) webSocket(t *testing.T) {
	url := strings.Replace(s.API.Base, "http", "ws", 1) + "/ws/instance/events?event=*&token=" + s.Token
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Write(t.Context(), websocket.MessageText, []byte("misplaced-confidence"))
	time.Sleep(50 * time.Millisecond)
	_ = conn.CloseNow()
}
