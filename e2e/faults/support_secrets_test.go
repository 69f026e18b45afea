package faults

import (
	"archive/zip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/sandbox"
)

// TestNoSecretIsEverInASupportBundle fills a program with marked secrets, tokens, texts,
// numbers and names, has it log as much as it can, and searches what it gathers itself,
// and what postern support gathers of it, running and stopped.
func TestNoSecretIsEverInASupportBundle(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program")
	}
	t.Parallel() // it waits more than it works
	w := rig.NewWorld(t)
	w.Keep = true
	s := &scan{secrets: map[string]string{}, Scene: &rig.Scene{World: w, Control: w.Sandbox.Control(), Vars: map[string]string{"own": rig.OwnNumber, "anne": rig.AnneNumber}}}
	global := w.Hook.URL + "/" + s.secret("the global webhook's path", "global-path-marked") + "?k=" + s.secret("its query", "global-query-marked")
	w.Env = []string{"LOG_LEVEL=debug", "WEBHOOK_GLOBAL_URL=" + global}
	s.secret("API key", w.Sec.GlobalAuthToken)
	s.secret("JWT secret", w.Sec.JWTSecret)
	for number, name := range map[string]string{rig.OwnNumber: "Shopkeeper Marked", rig.AnneNumber: "Annemarie Marked"} {
		p, err := w.Sandbox.AddPhone(sandbox.PhoneOptions{Number: number, PushName: s.secret("the name of "+number, name)})
		if err != nil {
			t.Fatal(err)
		}
		s.secret("number "+number, number)
		s.secret("the LID of "+number, strings.TrimSuffix(p.LID().String(), "@lid"))
	}
	s.secret("an unused number", "4915155510000")
	s.secret("a number that is paired by a code", "4915155500009")
	w.Start()
	s.tokens(t)
	s.pairing(t)
	s.messages(t)
	s.refusals(t)
	s.webSocket(t)
	s.marks(t)
	env := []string{
		"STORE_PATH=" + w.DataFile(), "SERVER_LISTEN=" + strings.TrimPrefix(w.API.Base, "http://"), "WEBHOOK_GLOBAL_URL=" + global, "WEBHOOK_GLOBAL_ENABLED=true",
		"AUTHENTICATION_GLOBAL_AUTH_TOKEN=" + w.Sec.GlobalAuthToken, "AUTHENTICATION_JWT_SECRET=" + w.Sec.JWTSecret,
		"WHATSAPP_PROXY=socks5://" + s.secret("the proxy's user", "proxyusermarked") + ":" + s.secret("the proxy's password", "proxy-password-marked") + "@127.0.0.1:1",
		"WHATSAPP_CLIENT_NAME=call " + rig.BobNumber,
	}
	s.secret("a number in a setting", rig.BobNumber)
	s.logs("order-of-" + rig.AnneNumber)
	_, log := s.ask(consumer.Key(w.Sec.GlobalAuthToken), http.MethodGet, "/admin/log/lines", "")
	for _, mark := range []string{rig.AnneNumber, rig.BobNumber, "marked-instance", "marked.gone", w.Sec.GlobalAuthToken} {
		if !strings.Contains(string(log), mark) {
			t.Errorf("the log has no %s: nothing is taken out of it", mark)
		}
	}
	answered := filepath.Join(w.Folder, "support-answered.zip")
	status, bundle := s.ask(consumer.Key(w.Sec.GlobalAuthToken), http.MethodGet, "/admin/support", "")
	if err := os.WriteFile(answered, bundle, 0o600); err != nil || status != http.StatusOK {
		t.Fatalf("%v, status %d: %.300s", err, status, bundle)
	}
	s.search(t, answered, true)
	for _, running := range []bool{true, false} {
		if !running {
			w.Stop()
		}
		file := filepath.Join(w.Folder, fmt.Sprintf("support-%t.zip", running))
		if status, said := rig.Program(t, w.Folder, env, "support", file); status != 0 {
			t.Fatalf("status %d: %s", status, said)
		}
		s.search(t, file, running)
	}
}

// marks sets what else is secret.
func (s *scan) marks(t *testing.T) {
	key := consumer.Key(s.Sec.GlobalAuthToken)
	bearer := consumer.Bearer(s.Token)
	s.ask(key, http.MethodPost, "/instance", `{"instanceName":"`+s.secret("an instance's name", "marked-instance")+`","description":"`+s.secret("a description", "described and marked")+`"}`)
	s.ask(key, http.MethodPost, "/instance", `{"instanceName":"`+s.secret("the name of one that goes", "marked.gone")+`"}`)
	s.ask(key, http.MethodDelete, "/instance/marked.gone?force=true", "")
	_, answer := s.ask(bearer, http.MethodPut, "/instance/shop/webhook/options", `{"headers":{"X-Key":"`+s.secret("a header", "header-value-marked")+`"},"signing":{"enabled":true},
		"endpoints":[{"id":"crm","url":"http://127.0.0.1:1/`+s.secret("an endpoint's path", "endpoint-path-marked")+`","events":{"messagesUpsert":true}}]}`)
	if _, after, found := strings.Cut(string(answer), `"secret":"`); found {
		signing, _, _ := strings.Cut(after, `"`)
		s.secret("a signing secret", signing)
	} else {
		t.Errorf("no signing secret: %s", answer)
	}
	s.ask(bearer, http.MethodPut, "/instance/shop/proxy", `{"url":"http://me:`+s.secret("a proxy's password", "instance-proxy-marked")+`@127.0.0.1:1"}`)
	s.ask(bearer, http.MethodPost, "/instance/shop/send/text", `{"number":"`+rig.AnneNumber+`","textMessage":{"text":"what we wrote to Anne alone"}}`)
	s.logged(t, rig.AnneNumber, "marked-instance/"+rig.AnneNumber+"@s.whatsapp.net", "instance=marked.gone,number=+"+rig.BobNumber, s.Sec.GlobalAuthToken)
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"what Anne wrote to us alone"}`))
}

// logged makes the program write texts to its log: as the ids of requests, of which it logs
// what the caller gave.
func (s *scan) logged(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.API.Base+"/instance", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Request-Id", text)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
}

// search looks for every secret in every text of a bundle.
func (s *scan) search(t *testing.T, path string, running bool) {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	lines := 0
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name == "log.txt" {
			lines = strings.Count(string(text), "\n")
		}
		for name, secret := range s.secrets {
			if i := strings.Index(string(text), secret); i >= 0 {
				t.Errorf("running %t: %s shows %s: …%s…", running, f.Name, name, text[max(0, i-200):min(len(text), i+80)])
			}
		}
	}
	if running && lines < 100 {
		t.Errorf("the log has %d lines", lines)
	}
}

// logs makes a line of the log with the id of a request, which its caller chooses: the one text of
// callers that the log has as it came.
func (s *scan) logs(requestID string) {
	s.T.Helper()
	req, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, s.API.Base+"/health", nil)
	if err != nil {
		s.T.Fatal(err)
	}
	req.Header.Set("X-Request-Id", requestID)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.T.Fatal(err)
	}
	_ = res.Body.Close()
}
