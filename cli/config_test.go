package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/cli/doctor"
	"postern/config"
)

func TestConfigShowsSourcesAndNoSecret(t *testing.T) {
	file := writeFile(t, "config.toml", "[webhook]\nworkers = 3\n[authentication]\nglobal_auth_token = \"s3cr3t in the file\"\n")
	secret := writeFile(t, "secret", "s3cr3t of thirty-two bytes, and more")
	t.Setenv("SERVER_LISTEN", "127.0.0.1:9")
	t.Setenv("AUTHENTICATION_JWT_SECRET_FILE", secret)
	var out bytes.Buffer
	if err := showConfig(t.Context(), file, &out); err != nil {
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
	const mask = "********"
	filled := strings.Replace(strings.Replace(out.String(), mask, "an API key of an operator", 1), mask, "a secret of thirty-two different bytes, more or less", 1)
	if err := os.WriteFile(again, []byte(filled), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := config.Load(again, nil); err != nil {
		t.Errorf("what is printed is no configuration: %v", err)
	}
}

func TestConfigCheckReportsEveryFault(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	bad := writeFile(t, "config.toml", "[webhook]\nworkers = 0\nqueue_sise = 1\n")
	var out, errOut bytes.Buffer
	if status := run(context.Background(), []string{"config", "check", bad}, &out, &errOut); status != 2 || out.Len() != 0 {
		t.Errorf("status %d, %q", status, out.String())
	}
	if want := bad + ": webhook.queue_sise: unknown key; did you mean webhook.queue_size?\n" +
		bad + ": webhook.workers: must be from 1 to 1000\n"; errOut.String() != want {
		t.Errorf("it tells %q, want %q", errOut.String(), want)
	}
	good := writeFile(t, "config.toml", "[webhook]\nworkers = 2\n")
	if status := run(context.Background(), []string{"config", "check", good}, &out, io.Discard); status != 0 || out.String() != good+": ok\n" {
		t.Errorf("status %d, %q", status, out.String())
	}
	named := writeFile(t, "config.toml", "[console]\nlogo_file = \"nowhere.png\"\n[server.tls]\ncert = \"nowhere.pem\"\nkey = \"nowhere.pem\"\n")
	errOut.Reset()
	if status := run(context.Background(), []string{"config", "check", named}, &out, &errOut); status != 2 ||
		errOut.String() != named+": server.tls.cert: open nowhere.pem: no such file or directory\n"+
			named+": server.tls.key: open nowhere.pem: no such file or directory\n"+
			named+": console.logo_file: open nowhere.png: no such file or directory\n" {
		t.Errorf("files that are not there: status %d, %q", status, errOut.String())
	}
	var shown bytes.Buffer
	if err := showConfig(t.Context(), named, &shown); err != nil || !strings.Contains(shown.String(), "# warning: "+named+": console.logo_file: open nowhere.png") {
		t.Errorf("files that are not there: %v\n%s", err, shown.String())
	}
	if found, err := examine(t.Context(), named); err != nil || found[0].Check != "configuration" || found[0].Level != doctor.Fault || !strings.Contains(found[0].Message, "server.tls.cert: ") {
		t.Errorf("files that are not there: %v %v", err, found)
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
	inPrivateFolder(t)
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
		if err := showConfig(t.Context(), "", &out); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`url = "` + want + `" #`, `endpoint = "wss://h.example:8443/********" #`, `base_url = "https://api.example/********" #`} {
			if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "s3cr3t") {
				t.Errorf("%s: no %q in\n%s", given, want, out.String())
			}
		}
	}
}

func TestGlobalWebhookFromFileIsShownToHost(t *testing.T) {
	path := writeFile(t, "secret", "https://h.example:8443/s3cr3t/hook?token=s3cr3t\n")
	t.Chdir(t.TempDir())
	t.Setenv("WEBHOOK_GLOBAL_URL_FILE", path)
	var out bytes.Buffer
	if err := showConfig(t.Context(), "", &out); err != nil {
		t.Fatal(err)
	}
	if want := `url = "https://h.example:8443/********" # file ` + path + " of WEBHOOK_GLOBAL_URL_FILE\n"; !strings.Contains(out.String(), want) || strings.Contains(out.String(), "s3cr3t") {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}

func TestConfigReportsGeneratedSecretsAndCreatesNone(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	show := func() string {
		var out bytes.Buffer
		if err := showConfig(t.Context(), "", &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if text := show(); strings.Count(text, `"********" # generated at the first start, to be kept in data/secrets.json`) != 2 {
		t.Error(text)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("it made %v (%v)", left, err)
	}
	c := config.Default()
	made, _, err := config.LoadSecrets(c)
	if err != nil {
		t.Fatal(err)
	}
	text := show()
	if strings.Count(text, `"********" # generated, kept in data/secrets.json`) != 2 || strings.Contains(text, made.JWTSecret) || strings.Contains(text, made.GlobalAuthToken) {
		t.Error(text)
	}
}

func TestErrorRepeatsAtMost100Characters(t *testing.T) {
	long := strings.Repeat("ж", 5000)
	for _, args := range [][]string{{long}, {"serve", long}, {"serve", "--" + long}, {"token", long}, {"token", "user", "--ttl", long}, {"token", "user", "--id", long}, {"listen", "--addr", long, "--status", long}} {
		var errOut bytes.Buffer
		if status := run(t.Context(), args, io.Discard, &errOut); status != 2 {
			t.Errorf("%.40q: status %d", args, status)
		}
		if n := strings.Count(errOut.String(), "ж"); n > 100 {
			t.Errorf("%d characters of it in %.200s", n, errOut.String())
		}
	}
}

// writeFile writes a file that only its owner may read, into a folder of its own.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// inPrivateFolder continues in a new folder that only its owner may read.
func inPrivateFolder(t *testing.T) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "private")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
}
