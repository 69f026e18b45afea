package docs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/e2e/rig"
	"postern/httpapi"
	"postern/whatsapp/proxy/proxytest"
)

func apiPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// reader follows a document on a running program.
type reader struct {
	*rig.World
	page     string // of which errors speak
	commands []docCommand
	vars     map[string]string
}

// readerOf is one with a fresh program, for a page that has so many commands at
// least.
func readerOf(t *testing.T, name string, least int) *reader {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("docs", name))
	if err != nil {
		t.Fatal(err)
	}
	commands := docCommands(t, string(page))
	if len(commands) < least {
		t.Fatalf("only %d commands were found", len(commands))
	}
	r := newReader(t, name)
	r.commands = commands
	return r
}

// follow carries out all commands of the page, and stops the program.
func (r *reader) follow(t *testing.T) {
	t.Helper()
	for _, c := range r.commands {
		r.run(t, c)
	}
	r.Stop()
}

// newReader starts the program as the page says: with its own sandbox.
func newReader(t *testing.T, page string) *reader {
	w := rig.NewWorld(t)
	w.Env = []string{
		"SANDBOX_ENABLED=true", "SANDBOX_AUTO_PAIR=false", "SANDBOX_PATH=" + filepath.Join(w.Folder, "sandbox.db"),
		"WHATSAPP_ENDPOINT=", "WHATSAPP_ENDPOINT_CA=", "WHATSAPP_ENDPOINT_ROOT_KEY=",
	}
	w.Start()
	return &reader{World: w, page: page, vars: map[string]string{"BASE": w.API.Base, "KEY": w.Sec.GlobalAuthToken, "HOOK": w.Hook.URL, "LATER": time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339), "PROXY": guarded(t)}}
}

// guarded returns the URL of a proxy that asks for a password.
func guarded(t *testing.T) string {
	p := proxytest.New(t, "http")
	p.Ask("someone:pa55word")
	return p.URL("someone:pa55word")
}

// run carries out one command, again and again when it says until.
func (r *reader) run(t *testing.T, c docCommand) {
	t.Helper()
	words, err := shellWords(c.text, r.vars)
	if err != nil {
		t.Fatalf("docs/%s:%d: %v", r.page, c.line, err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		status, answer, err := r.ask(t.Context(), words)
		if err != nil || status != c.status {
			t.Fatalf("docs/%s:%d: status %d, %v, the page says %d: %s\n%s", r.page, c.line, status, err, c.status, c.text, answer)
		}
		if strings.Contains(string(answer), c.until) {
			r.remember(t, c, answer)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("docs/%s:%d: never %q: %s", r.page, c.line, c.until, answer)
		}
	}
}

func (r *reader) remember(t *testing.T, c docCommand, answer []byte) {
	t.Helper()
	if c.keep == "" {
		return
	}
	value, err := pick(answer, c.field)
	if err != nil {
		t.Fatalf("docs/%s:%d: %v", r.page, c.line, err)
	}
	r.vars[c.keep] = value
}

func (r *reader) ask(ctx context.Context, words []string) (status int, answer []byte, err error) {
	req, err := curlRequest(ctx, r.withSaved(words))
	if err != nil {
		return 0, nil, err
	}
	res, err := r.API.HTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusSwitchingProtocols {
		answer, err = io.ReadAll(res.Body)
	}
	if i := slices.Index(words, "-o"); err == nil && i >= 0 {
		err = os.WriteFile(filepath.Join(r.Folder, words[i+1]), answer, 0o600)
	}
	return res.StatusCode, answer, err
}

// withSaved makes a form use the file that an earlier command of the page saved.
func (r *reader) withSaved(words []string) []string {
	words = slices.Clone(words)
	for i, w := range words {
		name, file, found := strings.Cut(w, "=@")
		if saved := filepath.Join(r.Folder, file); found && i > 0 && words[i-1] == "-F" {
			if _, err := os.Stat(saved); err == nil {
				words[i] = name + "=@" + saved
			}
		}
	}
	return words
}

// TestAPIPageCommandsWork runs them in order against a
// fresh program.
func TestAPIPageCommandsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	r := readerOf(t, "api.md", 40)
	w := rig.NewWitness(t)
	r.API.HTTP.Transport = rig.Held(t, w)
	r.follow(t)
	// The sandbox asks for no second code, the receiver leaves nothing pending, curl is no
	// browser, a portal link is for people, a link that the
	// page makes has a name, and the program is in no cell; the tests of the interface see these.
	elsewhere := []string{
		"getMediaByToken", "confirmPasskey", "retryOutboxEvent", "endSession", "getCluster",
		"getPortal", "getPortalState", "getPortalLogo", "connectByPortal", "giveUpByPortal", "pairByPortal", "getPasskeyScriptByPortal", "answerPasskeyByPortal", "confirmPasskeyByPortal",
	}
	for _, id := range w.Unseen() {
		if slices.Contains(elsewhere, id) {
			continue
		}
		t.Errorf("no command shows a success of %s, so nothing holds it against the OpenAPI document", id)
	}
}

// TestAPIPageHasACommandForEveryRoute also asks for a mention of each alias
// and, in the section of each route, for its credential.
func TestAPIPageHasACommandForEveryRoute(t *testing.T) {
	page := apiPage(t)
	asked := docRequests(t, page)
	routes := httpapi.Routes()
	for _, r := range []string{
		"GET /sandbox/help", "GET /sandbox/phones", "POST /sandbox/phones", "POST /sandbox/scan",
		"POST /sandbox/phones/{phone}/act", "POST /sandbox/faults",
	} {
		method, path, _ := strings.Cut(r, " ")
		routes = append(routes, httpapi.Route{Method: method, Path: path})
	}
	for _, r := range routes {
		paths := append([]string{r.Path}, r.Aliases...)
		if !slices.ContainsFunc(paths, func(p string) bool { return asks(asked, r.Method, p) }) {
			t.Errorf("no command asks %s %s", r.Method, r.Path)
		}
		for _, alias := range r.Aliases {
			if !strings.Contains(page, alias) {
				t.Errorf("the alias %s is not mentioned", alias)
			}
		}
	}
}

// docRequests returns "METHOD /path" of every command.
func docRequests(t *testing.T, page string) []string {
	t.Helper()
	vars := map[string]string{}
	for _, name := range regexp.MustCompile(`\$([A-Z]+)`).FindAllStringSubmatch(page, -1) {
		vars[name[1]] = "x"
	}
	vars["BASE"] = "http://base"
	var all []string
	for _, c := range docCommands(t, page) {
		words, err := shellWords(c.text, vars)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range words {
			if name, file, found := strings.Cut(w, "=@"); found && strings.Contains(page, " -o "+file+" ") { // an earlier command saves it
				words[i] = name + "=@" + os.DevNull
			}
		}
		r, err := curlRequest(t.Context(), words)
		if err != nil {
			t.Fatalf("line %d: %v", c.line, err)
		}
		all = append(all, fmt.Sprint(r.Method, " ", r.URL.Path))
	}
	return all
}

// asks reports whether one of the requests has that method and a path that
// fits pattern.
func asks(requests []string, method, pattern string) bool {
	parameter := regexp.MustCompile(`\\\{\w+\\\}`)
	want := regexp.MustCompile("^" + method + " " + parameter.ReplaceAllString(regexp.QuoteMeta(pattern), `[^/]+`) + "$")
	return slices.ContainsFunc(requests, want.MatchString)
}

// TestEveryCodeOfTheAPIPageExists finds codes that were renamed or mistyped. Words that
// are no codes are in the OpenAPI document.
func TestEveryCodeOfTheAPIPageExists(t *testing.T) {
	document, err := httpapi.OpenAPI("", "test")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`([A-Z]+(?:_[A-Z]+)+)`").FindAllStringSubmatch(apiPage(t), -1) {
		if !slices.ContainsFunc(httpapi.Codes(), func(c httpapi.Code) bool { return c.Code == m[1] }) && !bytes.Contains(document, []byte(m[1])) {
			t.Errorf("%s is no code", m[1])
		}
	}
}
