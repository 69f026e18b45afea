package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/store"
)

// untilText is a writer that calls found when text was written.
type untilText struct {
	text  string
	found func()

	mu  sync.Mutex
	all bytes.Buffer
}

func (w *untilText) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(p)
	if strings.Contains(w.all.String(), w.text) {
		w.found()
	}
	return len(p), nil
}

func TestTheAPIKeyIsPrintedOnceWithTheDashboardsAddress(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("SERVER_LISTEN", "127.0.0.1:0")
	t.Setenv("LOG_LEVEL", "error")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &untilText{text: "The dashboard is at http://127.0.0.1:", found: cancel}
	if err := serve(ctx, nil, out); err != nil {
		t.Fatal(err)
	}
	kept, err := readSecrets(filepath.Join("data", secretsFile))
	if err != nil {
		t.Fatal(err)
	}
	first := out.all.String()
	if strings.Count(first, kept.GlobalAuthToken) != 1 || !strings.Contains(first, out.text) || strings.Contains(first, kept.JWTSecret) {
		t.Errorf("the first start printed %q", first)
	}
}

// TestAFirstStartOnABusyPortPrintsNoKeyAndMakesNoFile: nothing of it is left, so
// that the next start is the first.
func TestAFirstStartOnABusyPortPrintsNoKeyAndMakesNoFile(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, env := range map[string][2]string{
		"server.listen":  {taken.Addr().String(), ""},
		"metrics.listen": {"127.0.0.1:0", taken.Addr().String()},
	} {
		folder := t.TempDir()
		t.Chdir(folder)
		t.Setenv("SERVER_LISTEN", env[0])
		t.Setenv("METRICS_LISTEN", env[1])
		var out bytes.Buffer
		if err := serve(t.Context(), nil, &out); err == nil || !strings.Contains(err.Error(), "set "+name+" to a free address") {
			t.Errorf("%s in use: %v", name, err)
		}
		left, err := os.ReadDir(folder)
		if err != nil || len(left) != 0 || out.Len() != 0 {
			t.Errorf("%s in use: it left %v (%v) and printed %q", name, left, err, out.String())
		}
	}
}

// TestAFirstStartThatFailsLaterLeavesNoSecrets: the key was not shown, so the
// next start has to make and show one.
func TestAFirstStartThatFailsLaterLeavesNoSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("SERVER_LISTEN", "127.0.0.1:0")
	if err := os.MkdirAll("data", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("data", "postern.db"), []byte("no data file"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := serve(t.Context(), nil, &out); !errors.Is(err, store.ErrForeign) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join("data", secretsFile)); !errors.Is(err, fs.ErrNotExist) || out.Len() != 0 {
		t.Errorf("secrets: %v; it printed %q", err, out.String())
	}
}

func TestATokenBeforeTheFirstStartIsRefusedAndMakesNoSecrets(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	err := issueToken(t.Context(), []string{"user"}, io.Discard)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "start the server once") {
		t.Error(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("it made %v (%v)", left, err)
	}
}

func TestASecretFileThatOthersMayReadIsAWarning(t *testing.T) {
	const name = "AUTHENTICATION_GLOBAL_AUTH_TOKEN_FILE"
	for mode, want := range map[os.FileMode]int{0o600: 0, 0o400: 0, 0o640: 1, 0o604: 1, 0o620: 1, 0o644: 1} {
		path := writeSecret(t, strongKey, 0o600)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, warnings, err := loadConfig(writeConfig(t, ""), []string{name + "=" + path})
		if err != nil || len(warnings) != want || want > 0 && (!strings.Contains(warnings[0], path) || !strings.Contains(warnings[0], "chmod 600")) {
			t.Errorf("mode %o: %v, %v", mode, warnings, err)
		}
		// The engine that fills a credentials folder chooses the mode.
		_, warnings, err = loadConfig(writeConfig(t, ""), []string{name + "=" + path, "CREDENTIALS_DIRECTORY=" + filepath.Dir(path)})
		if err != nil || len(warnings) != 0 {
			t.Errorf("mode %o, credentials folder: %v, %v", mode, warnings, err)
		}
	}
}

func TestOnlyWhatIsInACredentialsFolderIsHandedOver(t *testing.T) {
	env := []string{"HOME=/root", "CREDENTIALS_DIRECTORY=/run/user/1/c"}
	for path, want := range map[string]bool{
		"/run/secrets/key": true, "/run/credentials/postern.service/key": true, "/run/user/1/c/key": true,
		"/run/secrets": true, "/run/secrets2/key": false, "/run/secrets/../key": false, "/etc/key": false, "key": false, "run/secrets/key": false,
	} {
		if got := handedOver(path, env); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if handedOver("/etc/key", []string{"CREDENTIALS_DIRECTORY="}) || handedOver("/etc/key", []string{"CREDENTIALS_DIRECTORY=."}) {
		t.Error("a folder without an absolute path counts")
	}
}

func TestOneLineBreakAtTheEndOfASecretFileIsNoPartOfIt(t *testing.T) {
	for _, end := range []string{"", "\n", "\r\n"} {
		text := strongKey + end
		c, _, err := loadConfig(writeConfig(t, ""), []string{"AUTHENTICATION_GLOBAL_AUTH_TOKEN_FILE=" + writeSecret(t, text, 0o600)})
		if want := strongKey; err != nil || c.Authentication.GlobalAuthToken != want {
			t.Errorf("%q: %q, %v", text, c.Authentication.GlobalAuthToken, err)
		}
	}
	for _, end := range []string{"\n\n", " \n", "\nk\n"} {
		text := strongKey + end
		if text := refused(t, text, "", "AUTHENTICATION_GLOBAL_AUTH_TOKEN_FILE="+writeSecret(t, text, 0o600)); !strings.Contains(text, "no HTTP header") {
			t.Error(text)
		}
	}
}

func TestTheGlobalWebhookMayComeFromAFileAndNothingBehindItsHostIsShown(t *testing.T) {
	path := writeSecret(t, "https://h.example:8443/s3cr3t/hook?token=s3cr3t\n", 0o600)
	t.Chdir(t.TempDir())
	t.Setenv("WEBHOOK_GLOBAL_URL_FILE", path)
	var out bytes.Buffer
	if err := showConfig(t.Context(), nil, &out); err != nil {
		t.Fatal(err)
	}
	if want := `url = "https://h.example:8443/********" # file ` + path + " of WEBHOOK_GLOBAL_URL_FILE\n"; !strings.Contains(out.String(), want) || strings.Contains(out.String(), "s3cr3t") {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}

func TestConfigTellsWhetherSecretsWereGeneratedAndMakesNone(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	show := func() string {
		var out bytes.Buffer
		if err := showConfig(t.Context(), nil, &out); err != nil {
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
	c := &Config{}
	settings(c)
	made, _, err := loadSecrets(c)
	if err != nil {
		t.Fatal(err)
	}
	text := show()
	if strings.Count(text, `"********" # generated, kept in data/secrets.json`) != 2 || strings.Contains(text, made.JWTSecret) || strings.Contains(text, made.GlobalAuthToken) {
		t.Error(text)
	}
}
