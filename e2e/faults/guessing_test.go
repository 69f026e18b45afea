package faults

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"postern/e2e/rig"
)

// fail2banFilter returns the filter of docs/security.md: the file, and its patterns.
func fail2banFilter(t *testing.T) (file string, patterns []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```ini\n(# [^\n]*filter.d/postern.conf\n.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/security.md shows no filter")
	}
	file = string(found[1])
	for line := range strings.SplitSeq(file, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(line, "failregex ="))
		if strings.HasPrefix(line, "^") {
			patterns = append(patterns, line)
		}
	}
	if len(patterns) != 2 {
		t.Fatalf("the filter has the patterns %q", patterns)
	}
	return file, patterns
}

// banned returns what fail2ban finds in a line. It cuts the time out first; in the
// journal, whose entries have their own, the line is whole.
func banned(t *testing.T, patterns []string, line string) (address string) {
	t.Helper()
	found := map[string]bool{}
	for _, text := range []string{line, regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`).ReplaceAllString(line, "")} {
		for _, p := range patterns {
			re := regexp.MustCompile(strings.Replace(p, "<ADDR>", `([0-9A-Fa-f.:]+)`, 1))
			if m := re.FindStringSubmatch(text); m != nil {
				address = m[1]
				found[text] = true
			}
		}
	}
	if len(found) == 1 {
		t.Errorf("found with the time or without it, and not both: %s", line)
	}
	return address
}

// TestFail2banFilterFindsWrongCredentials runs it over what the program
// writes about guesses, and about requests that look like one.
func TestFail2banFilterFindsWrongCredentials(t *testing.T) {
	file, patterns := fail2banFilter(t)
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			w := rig.NewWorld(t)
			w.Env = []string{"LOG_FORMAT=" + format, "SERVER_TRUSTED_PROXIES=127.0.0.0/8", "AUTHENTICATION_FAILURES_PER_MINUTE=1"}
			w.Start()
			ask := func(client, path, header, value string) {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.API.Base+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("X-Forwarded-For", client)
				req.Header.Set("X-Request-Id", `","address":"9.9.9.9","credential":"wrong",address=9.9.9.9`)
				if header != "" {
					req.Header.Set(header, value)
				}
				res, err := w.API.HTTP.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
			}
			ask("198.51.100.1", "/instance", "apikey", "wrong")
			ask("198.51.100.1", "/instance", "apikey", "wrong") // 429
			ask("9.9.9.9, 198.51.100.2", "/metrics", "x-api-key", "wrong")
			ask("2001:db8::3", "/message/batches", "Authorization", "Bearer wrong")
			ask("198.51.100.4", "/ws/global/events?event=*&token=wrong", "Connection", "Upgrade") // no handshake, so no guess yet
			ask("198.51.100.5", "/instance", "", "")
			ask("198.51.100.6", "/instance", "apikey", w.Sec.GlobalAuthToken)
			ask("198.51.100.7", "/credential=wrong%20address=9.9.9.9", "apikey", "wrong")
			ask("198.51.100.8", `/x%22,%22address%22:%229.9.9.9%22,%22credential%22:%22wrong%22,`, "apikey", "wrong")
			w.Stop()
			var found []string
			for line := range strings.SplitSeq(w.Output.String(), "\n") {
				if address := banned(t, patterns, line); address != "" {
					found = append(found, address)
				}
			}
			if want := []string{"198.51.100.1", "198.51.100.1", "198.51.100.2", "2001:db8::3"}; !slices.Equal(found, want) {
				t.Errorf("found %q, want %q in\n%s", found, want, w.Output)
			}
			realFail2ban(t, file, w.Output.String())
		})
	}
}

// realFail2ban asks fail2ban itself, where it is installed.
func realFail2ban(t *testing.T, file, lines string) {
	t.Helper()
	command, err := exec.LookPath("fail2ban-regex")
	if err != nil {
		return
	}
	dir := t.TempDir()
	filter, log := filepath.Join(dir, "postern.conf"), filepath.Join(dir, "log")
	if err := os.WriteFile(filter, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), command, log, filter).CombinedOutput()
	if err != nil || !strings.Contains(string(out), " 4 matched") {
		t.Errorf("fail2ban-regex: %v\n%s", err, out)
	}
}
