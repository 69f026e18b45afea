package docs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"postern/cli/consumer"
	"postern/e2e/capture"
	"postern/e2e/rig"
	"postern/event"
)

func deliveryPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("docs", "delivery.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// exampleReceiver is a receiver of the page: under which heading it stands, and
// how it is started.
type exampleReceiver struct {
	heading, file string
	needs         string // on the PATH
	start         func(port string) []string
}

func exampleReceivers() []exampleReceiver {
	return []exampleReceiver{
		{"Go", "receiver.go", "go", func(string) []string { return []string{"go", "run", "receiver.go"} }},
		{"Python", "receiver.py", "python3", func(string) []string { return []string{"python3", "receiver.py"} }},
		{"Node.js", "receiver.mjs", "node", func(string) []string { return []string{"node", "receiver.mjs"} }},
		{"PHP", "receiver.php", "php", func(port string) []string { return []string{"php", "-S", "127.0.0.1:" + port, "receiver.php"} }},
	}
}

var exampleSource = regexp.MustCompile("(?s)^.*?\n```[a-z]+\n(.*?\n)```\n")

// source returns the program as the page shows it.
func (e exampleReceiver) source(t *testing.T, page string) string {
	t.Helper()
	_, after, found := strings.Cut(page, "\n## A receiver in "+e.heading+"\n")
	m := exampleSource.FindStringSubmatch(after)
	if !found || m == nil || !strings.HasPrefix(strings.TrimSpace(after), "`"+e.file+"`") {
		t.Fatalf("the page has no receiver in %s as %s", e.heading, e.file)
	}
	return m[1]
}

// running starts the receiver in a folder of its own, or skips the test where its
// runtime is missing.
func (e exampleReceiver) running(t *testing.T, secret string) (folder, url string) {
	t.Helper()
	if _, err := exec.LookPath(e.needs); err != nil {
		t.Skipf("there is no %s: the receiver in %s was not run", e.needs, e.heading)
	}
	folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, e.file), []byte(e.source(t, deliveryPage(t))), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(rig.FreeAddress(t), ":")
	words := e.start(port)
	if e.needs == "go" { // its child would outlive go run
		build := exec.CommandContext(t.Context(), "go", "build", "-o", "receiver", "receiver.go")
		build.Dir = folder
		if said, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		words = []string{filepath.Join(folder, "receiver")}
	}
	cmd := exec.Command(words[0], words[1:]...)
	output := &capture.Buffer{}
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, output, output
	cmd.Env = append(os.Environ(), "PORT="+port, "WEBHOOK_SECRET="+secret)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	url = "http://127.0.0.1:" + port + "/"
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			return folder, url
		}
		if time.Now().After(deadline) {
			t.Fatalf("the receiver in %s does not listen: %v\n%s", e.heading, err, output)
		}
	}
}

// inbox returns what the receiver has stored, by name.
func inbox(t *testing.T, folder string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "inbox", "*"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) { // it has its last name by now
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(content)
	}
	return all
}

// attempt is one delivery as a test makes it.
type attempt struct {
	method, id, body string
	secrets          []string // that sign, in the order of the signatures
	age              time.Duration
	spoil            func(http.Header)
}

func (a attempt) send(t *testing.T, url string) int {
	t.Helper()
	if a.method == "" {
		a.method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), a.method, url, strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-a.age)
	var signatures []string
	for _, secret := range a.secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		one, err := signer.Sign(a.id, at, []byte(a.body))
		if err != nil {
			t.Fatal(err)
		}
		signatures = append(signatures, one)
	}
	req.Header.Set("content-type", "application/json")
	req.Header.Set("webhook-id", a.id)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	req.Header.Set("webhook-signature", strings.Join(signatures, " "))
	if a.spoil != nil {
		a.spoil(req.Header)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

const (
	receiverSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	otherSecret    = "whsec_HxwdHhsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA="
)

// TestPageReceiversAreCorrect: it verifies, keeps each event once and
// as it came, and refuses unsigned deliveries.
func TestPageReceiversAreCorrect(t *testing.T) {
	for _, e := range exampleReceivers() {
		t.Run(e.heading, func(t *testing.T) {
			folder, url := e.running(t, receiverSecret)
			ours := []string{receiverSecret}
			id := uuid.NewString()
			body := `{"event":"messages.upsert","data":{"text":"Grüße, ` + "\U0001F44B" + `   \u2028\\ \"x\" "}}`
			rotated := uuid.NewString()
			for _, c := range []struct {
				what string
				a    attempt
				want int
			}{
				{"signed", attempt{id: id, body: body, secrets: ours}, 204},
				{"the same again", attempt{id: id, body: body, secrets: ours}, 204},
				{"with the signature of another secret before ours", attempt{id: rotated, body: "{}", secrets: []string{otherSecret, receiverSecret}}, 204},
				{"four minutes old", attempt{id: uuid.NewString(), body: "[1]", secrets: ours, age: 4 * time.Minute}, 204},
				{"signed with another secret", attempt{id: uuid.NewString(), body: body, secrets: []string{otherSecret}}, 401},
				{"six minutes old", attempt{id: uuid.NewString(), body: body, secrets: ours, age: 6 * time.Minute}, 401},
				{"six minutes from now", attempt{id: uuid.NewString(), body: body, secrets: ours, age: -6 * time.Minute}, 401},
				{"not signed", attempt{id: uuid.NewString(), body: body, spoil: func(h http.Header) { h.Del("webhook-signature") }}, 401},
				{"without any of the headers", attempt{body: body, spoil: func(h http.Header) { h.Del("webhook-signature"); h.Del("webhook-timestamp"); h.Del("webhook-id") }}, 401},
				{"with another id", attempt{id: uuid.NewString(), body: body, secrets: ours, spoil: func(h http.Header) { h.Set("webhook-id", uuid.NewString()) }}, 401},
				{"with a signature of another version", attempt{id: uuid.NewString(), body: body, secrets: ours, spoil: func(h http.Header) {
					h.Set("webhook-signature", strings.Replace(h.Get("webhook-signature"), "v1,", "v2,", 1))
				}}, 401},
				{"with garbage for a signature", attempt{id: uuid.NewString(), body: body, spoil: func(h http.Header) { h.Set("webhook-signature", "v1, v1 ,, %%% v1,AAAA") }}, 401},
				{"with words for a time", attempt{id: uuid.NewString(), body: body, secrets: ours, spoil: func(h http.Header) { h.Set("webhook-timestamp", "now") }}, 401},
				{"with an id that is a path", attempt{id: "../../../../../../../../etc/receiver", body: body, secrets: ours}, 401},
			} {
				if got := c.a.send(t, url); got != c.want {
					t.Errorf("%s: answered %d, not %d", c.what, got, c.want)
				}
			}
			if got := (attempt{method: http.MethodPut, id: uuid.NewString(), body: body, secrets: ours}).send(t, url); got/100 != 4 && got/100 != 5 {
				t.Errorf("a PUT was answered %d", got)
			}
			kept := inbox(t, folder)
			if kept[id+".json"] != body || kept[rotated+".json"] != "{}" || len(kept) != 3 {
				t.Errorf("kept %q", kept)
			}

			// What a worker has done with comes again, and is not kept a second time.
			if err := os.Rename(filepath.Join(folder, "inbox", id+".json"), filepath.Join(folder, "done", id+".json")); err != nil {
				t.Fatal(err)
			}
			if got := (attempt{id: id, body: body, secrets: ours}).send(t, url); got != 204 {
				t.Errorf("what was done: answered %d", got)
			}
			if len(inbox(t, folder)) != 2 {
				t.Errorf("what was done is kept once more: %q", inbox(t, folder))
			}

			// What it cannot keep is to come again.
			if err := os.RemoveAll(filepath.Join(folder, "inbox")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "inbox"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := (attempt{id: uuid.NewString(), body: body, secrets: ours}).send(t, url); got < 500 {
				t.Errorf("what cannot be kept was answered %d", got)
			}
		})
	}
}

// TestPageReceiversAcceptRealDeliveries: one message, an endpoint for each language;
// all of them keep the same bytes under the same id, also when it is replayed.
func TestPageReceiversAcceptRealDeliveries(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	s := rig.NewScene(t)
	s.Online(t)
	var endpoints []string
	for i := range exampleReceivers() {
		endpoints = append(endpoints, fmt.Sprintf(`{"id":"r%d","url":"http://127.0.0.1:9/","events":{"messagesUpsert":true},"signing":{"enabled":true}}`, i))
	}
	options := func() (secrets map[string]string) {
		var is struct {
			Endpoints []struct {
				ID      string
				Signing struct{ Secret string }
			}
		}
		body := json.RawMessage(`{"durable":true,"endpoints":[` + strings.Join(endpoints, ",") + `]}`)
		s.Call(consumer.Bearer(s.Token), http.MethodPut, "/instance/shop/webhook/options", body, &is)
		secrets = map[string]string{}
		for _, e := range is.Endpoints {
			secrets[e.ID] = e.Signing.Secret
		}
		return secrets
	}
	// The receivers have to know their secrets before they start, so they move in afterwards.
	secrets := options()
	folders := map[string]string{}
	for i, e := range exampleReceivers() {
		if _, err := exec.LookPath(e.needs); err != nil {
			t.Logf("there is no %s: the receiver in %s was not run", e.needs, e.heading)
			continue
		}
		folder, url := e.running(t, secrets[fmt.Sprintf("r%d", i)])
		endpoints[i] = strings.Replace(endpoints[i], "http://127.0.0.1:9/", url, 1)
		folders[e.heading] = folder
	}
	options()
	s.Do(t, rig.Act(rig.AnneNumber, `{"do":"text","to":"$own","text":"Grüße \u2028 <b>\"\\ 👋"}`))
	kept := map[string]string{}
	keeps := func() bool {
		for heading, folder := range folders {
			for name, body := range inbox(t, folder) {
				if !strings.HasPrefix(name, "new-") {
					kept[heading] = name + " " + body
				}
			}
		}
		return len(kept) == len(folders)
	}
	s.Await("all receivers", keeps)
	body := s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"Grüße \u2028 <b>\"\\ 👋"}}`)
	for heading, got := range kept {
		if _, text, _ := strings.Cut(got, " "); text != string(body) || got != kept["Go"] {
			t.Errorf("%s kept %s, Go %s", heading, got, kept["Go"])
		}
	}
	s.Await("all of them in the log", func() bool { // a receiver keeps an event before it has answered
		var page struct{ TotalRecords int }
		s.Call(consumer.Bearer(s.Token), http.MethodGet, "/instance/shop/webhook/deliveries?state=DELIVERED", nil, &page)
		return page.TotalRecords == len(folders)
	})
	var replay struct{ ReplayID uint64 }
	s.Call(consumer.Bearer(s.Token), http.MethodPost, "/instance/shop/webhook/deliveries/replay", map[string]any{"state": []string{"DELIVERED"}}, &replay)
	var is struct{ Matched, Sent, Delivered, Failed int }
	defer func() {
		if t.Failed() {
			t.Logf("the replay is at %+v", is)
		}
	}()
	s.Await("the replay", func() bool {
		s.Call(consumer.Bearer(s.Token), http.MethodGet, fmt.Sprintf("/instance/shop/webhook/replays/%d", replay.ReplayID), nil, &is)
		return is.Matched == len(folders) && is.Delivered == is.Matched
	})
	for heading, folder := range folders {
		if n := len(inbox(t, folder)); n != 1 {
			t.Errorf("%s kept %d events of one", heading, n)
		}
	}
}
