package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/app"
	"postern/config"
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

func TestAPIKeyIsPrintedOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("SERVER_LISTEN", "127.0.0.1:0")
	t.Setenv("LOG_LEVEL", "error")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &untilText{text: "The dashboard is at http://127.0.0.1:", found: cancel}
	if err := serve(ctx, "", out); err != nil {
		t.Fatal(err)
	}
	kept, _, err := config.LoadSecrets(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	first := out.all.String()
	if strings.Count(first, kept.GlobalAuthToken) != 1 || !strings.Contains(first, out.text) || strings.Contains(first, kept.JWTSecret) {
		t.Errorf("the first start printed %q", first)
	}
}

// TestFirstStartOnBusyPortLeavesNothing: nothing of it is left, so
// that the next start is the first.
func TestFirstStartOnBusyPortLeavesNothing(t *testing.T) {
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
		if err := serve(t.Context(), "", &out); err == nil || !strings.Contains(err.Error(), "set "+name+" to a free address") {
			t.Errorf("%s in use: %v", name, err)
		}
		left, err := os.ReadDir(folder)
		if err != nil || len(left) != 0 || out.Len() != 0 {
			t.Errorf("%s in use: it left %v (%v) and printed %q", name, left, err, out.String())
		}
	}
}

// TestFailedFirstStartLeavesNoSecrets: the key was not shown, so the
// next start has to make and show one.
func TestFailedFirstStartLeavesNoSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("SERVER_LISTEN", "127.0.0.1:0")
	if err := os.MkdirAll("data", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("data", "postern.db"), []byte("no data file"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := serve(t.Context(), "", &out); !errors.Is(err, store.ErrForeign) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join("data", "secrets.json")); !errors.Is(err, fs.ErrNotExist) || out.Len() != 0 {
		t.Errorf("secrets: %v; it printed %q", err, out.String())
	}
}

// TestSecretsReplacedDuringAStartEndIt: it loaded them before it had the data file.
func TestSecretsReplacedDuringAStartEndIt(t *testing.T) {
	t.Chdir(t.TempDir())
	cfg := config.Default()
	cfg.Server.Listen = "127.0.0.1:0"
	s, err := store.Open(store.Options{Path: cfg.Store.Path, Buckets: app.Buckets()})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		a, err := startServing(t.Context(), cfg, journal{log: slog.New(slog.DiscardHandler)}, io.Discard)
		if err == nil {
			err = a.Stop(context.WithoutCancel(t.Context()))
		}
		ended <- err
	}()
	other, err := config.NewSecrets().File()
	if err != nil {
		t.Fatal(err)
	}
	for { // until it has loaded its secrets, and waits for the data file
		if _, err := os.Stat(config.SecretsPath(cfg)); err == nil {
			break
		}
		runtime.Gosched()
	}
	if err := errors.Join(os.WriteFile(config.SecretsPath(cfg), other, 0o600), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "start again") {
		t.Errorf("it ended with %v", err)
	}
	if raw, err := os.ReadFile(config.SecretsPath(cfg)); err != nil || !bytes.Equal(raw, other) {
		t.Errorf("the other secrets were changed: %v", err)
	}
}

func TestTokenBeforeFirstStartIsRefused(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	err := issueToken(t.Context(), "", time.Hour, "", io.Discard)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "start the server once") {
		t.Error(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("it made %v (%v)", left, err)
	}
}

// TestInterruptedFirstStartKeepsNoSecrets: they were never printed.
func TestInterruptedFirstStartKeepsNoSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("SERVER_LISTEN", "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // before the first part
	var out bytes.Buffer
	if err := serve(ctx, "", &out); err != nil {
		t.Fatalf("exit status 1: %v", err)
	}
	if _, err := os.Stat(filepath.Join("data", "secrets.json")); err == nil || out.Len() != 0 {
		t.Errorf("it kept secrets that were never printed, and printed %q", out.String())
	}
}

func TestStartPrintsConsoleKeyAndDataLocation(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{filepath.Join(here, "data", "secrets.json"), filepath.Join(here, "data", "secrets.json"), "authentication.global_auth_token"} {
		cfg := config.Default()
		cfg.Server.Listen = "0.0.0.0:0"
		if i == 2 {
			cfg.Authentication.GlobalAuthToken = "0123456789abcdef-an-own-key"
		}
		var logs, out bytes.Buffer
		a, err := startServing(t.Context(), cfg, journal{log: slog.New(slog.NewTextHandler(&logs, nil))}, &out)
		if err != nil {
			t.Fatal(err)
		}
		sec, _, err := config.LoadSecrets(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(strings.TrimPrefix(a.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"dashboard=http://localhost:" + port + "/ ", "key=" + key + " ", "data=" + filepath.Join(here, "data", "postern.db") + " "} {
			if !strings.Contains(logs.String(), want) {
				t.Errorf("start %d: no %q in\n%s", i+1, want, logs.String())
			}
		}
		if first := strings.Contains(out.String(), "The dashboard is at http://localhost:"+port+"/ "); first != (i == 0) || strings.Contains(logs.String(), sec.GlobalAuthToken) {
			t.Errorf("start %d printed %q", i+1, out.String())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := a.Stop(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	}
}

// TestAStartRemovesSecretsThatAKillLeft before they came to their place, and nothing else.
func TestAStartRemovesSecretsThatAKillLeft(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("SERVER_LISTEN", "127.0.0.1:0")
	t.Setenv("LOG_LEVEL", "error")
	if err := os.Mkdir("data", 0o700); err != nil {
		t.Fatal(err)
	}
	left, mine := filepath.Join("data", "secrets.json.new-17"), filepath.Join("data", "secrets.json.new-mine")
	for _, path := range []string{left, mine} {
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := serve(ctx, "", &untilText{text: "The dashboard is at", found: cancel}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", left, err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}
