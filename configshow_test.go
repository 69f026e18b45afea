package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeSecret(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestASecretIsReadFromTheFileThatItsVariableNames(t *testing.T) {
	const key = "a key of more than thirty-two bytes"
	c, warnings, err := loadConfig(writeConfig(t, ""), []string{
		"AUTHENTICATION_JWT_SECRET_FILE=" + writeSecret(t, key+"\n", 0o600), "AUTHENTICATION_GLOBAL_AUTH_TOKEN_FILE=",
	})
	if err != nil || len(warnings) != 0 || c.Authentication.JWTSecret != key || c.Authentication.GlobalAuthToken != "" {
		t.Errorf("%q, %v, %v", c.Authentication.JWTSecret, warnings, err)
	}
}

func TestABadSecretFileStopsTheStart(t *testing.T) {
	const name = "AUTHENTICATION_JWT_SECRET"
	good := writeSecret(t, strings.Repeat("s3cr3t", 8), 0o600)
	for problem, c := range map[string]struct {
		env  []string
		want string
	}{
		"missing":              {[]string{name + "_FILE=/nowhere/at/all"}, "/nowhere/at/all"},
		"empty":                {[]string{name + "_FILE=" + writeSecret(t, "\n", 0o600)}, "file is empty"},
		"a folder":             {[]string{name + "_FILE=" + t.TempDir()}, name + "_FILE"},
		"too large":            {[]string{name + "_FILE=" + writeSecret(t, strings.Repeat("x", maxSecretFile+1), 0o600)}, "which no secret has"},
		"too short":            {[]string{name + "_FILE=" + writeSecret(t, "short", 0o600)}, "needs 32"},
		"both":                 {[]string{name + "=" + strings.Repeat("x", 32), name + "_FILE=" + good}, "both set"},
		"both, the file first": {[]string{name + "_FILE=" + good, name + "=" + strings.Repeat("x", 32)}, "both set"},
	} {
		_, _, err := loadConfig(writeConfig(t, ""), c.env)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", problem, err)
		}
	}
}

func TestOnlySecretsAreReadFromFiles(t *testing.T) {
	_, warnings, err := loadConfig(writeConfig(t, ""), []string{"WEBHOOK_WORKERS_FILE=/etc/passwd"})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "WEBHOOK_WORKERS_FILE is not a setting") {
		t.Errorf("%v, %v", warnings, err)
	}
}

func TestTheEffectiveConfigurationTellsEachSourceAndNoSecret(t *testing.T) {
	file := writeConfig(t, "[webhook]\nworkers = 3\n[authentication]\nglobal_auth_token = \"s3cr3t in the file\"\n")
	secret := writeSecret(t, "s3cr3t of thirty-two bytes, and more", 0o600)
	t.Setenv("SERVER_LISTEN", "127.0.0.1:9")
	t.Setenv("AUTHENTICATION_JWT_SECRET_FILE", secret)
	var out bytes.Buffer
	if err := showConfig(t.Context(), []string{"--config", file}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`listen = "127.0.0.1:9" # environment SERVER_LISTEN`, "workers = 3 # " + file, "queue_size = 1000 # default",
		`global_auth_token = "********" # set by ` + file,
		`jwt_secret = "********" # set by file ` + secret + " of AUTHENTICATION_JWT_SECRET_FILE", "[whatsapp]\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "s3cr3t") {
		t.Error("a secret is shown")
	}
	again := filepath.Join(t.TempDir(), "again.toml")
	filled := strings.Replace(strings.Replace(out.String(), mask, strongKey, 1), mask, strongSecret, 1)
	if err := os.WriteFile(again, []byte(filled), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := loadConfig(again, nil); err != nil {
		t.Errorf("what is printed is no configuration: %v", err)
	}
}

func TestConfigCheckTellsEveryFaultAndMakesNothing(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	bad := writeConfig(t, "[webhook]\nworkers = 0\nqueue_sise = 1\n")
	var out, errOut bytes.Buffer
	if status := run(context.Background(), []string{"config", "check", bad}, &out, &errOut); status != 2 || out.Len() != 0 {
		t.Errorf("status %d, %q", status, out.String())
	}
	if want := bad + ": webhook.queue_sise: unknown key; did you mean webhook.queue_size?\n" +
		bad + ": webhook.workers: must be from 1 to 1000\n"; errOut.String() != want {
		t.Errorf("it tells %q, want %q", errOut.String(), want)
	}
	good := writeConfig(t, "[webhook]\nworkers = 2\n")
	if status := run(context.Background(), []string{"config", "check", good}, &out, io.Discard); status != 0 || out.String() != good+": ok\n" {
		t.Errorf("status %d, %q", status, out.String())
	}
	if status := run(context.Background(), []string{"config", "check"}, io.Discard, io.Discard); status != 2 {
		t.Errorf("without a file: status %d", status)
	}
	t.Setenv("WEBHOOK_WORKERS", "0")
	if status := run(context.Background(), []string{"config", "check", good}, io.Discard, io.Discard); status != 0 {
		t.Errorf("the environment counts: status %d", status)
	}
	if status := run(context.Background(), []string{"config", "check", "nowhere.toml"}, io.Discard, io.Discard); status != 2 {
		t.Errorf("a missing file: status %d", status)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("it made %v (%v)", left, err)
	}
}

func TestConfigShowsNothingOfAURLBehindItsHost(t *testing.T) {
	t.Chdir(privateFolder(t))
	t.Setenv("WHATSAPP_ENDPOINT", "wss://h.example:8443/ws/s3cr3t?s3cr3t")
	t.Setenv("WHATSAPP_ENDPOINT_CA", "ca.pem")
	t.Setenv("WHATSAPP_ENDPOINT_ROOT_KEY", strings.Repeat("ab", 32))
	t.Setenv("SERVER_BASE_URL", "https://api.example/s3cr3t")
	for given, want := range map[string]string{
		"http://h.example":                  "http://h.example",
		"http://h.example/":                 "http://h.example/",
		"http://[2001:db8::1]:8/s3cr3t":     "http://[2001:db8::1]:8/********",
		"https://h.example?s3cr3t":          "https://h.example/********",
		"https://h.example/#s3cr3t":         "https://h.example/********",
		"https://h.example/s3cr3t?s3cr3t#x": "https://h.example/********",
	} {
		t.Setenv("WEBHOOK_GLOBAL_URL", given)
		var out bytes.Buffer
		if err := showConfig(t.Context(), nil, &out); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`url = "` + want + `" #`, `endpoint = "wss://h.example:8443/********" #`, `base_url = "https://api.example/********" #`} {
			if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "s3cr3t") {
				t.Errorf("%s: no %q in\n%s", given, want, out.String())
			}
		}
	}
	if got := maskURL("https://user:s3cr3t@h.example/"); got != "https://h.example/********" {
		t.Errorf("with a user: %s", got) // which no setting takes
	}
}
