package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/store"
)

// TestAStartThatIsInterruptedEndsInOrderAndIsNoFailure interrupts a start before
// and after each of its parts.
func TestAStartThatIsInterruptedEndsInOrderAndIsNoFailure(t *testing.T) {
	folder := t.TempDir()
	cfg := demoConfig(folder, "http://127.0.0.1:1/")
	sec := secrets{randomHex(), randomHex()}
	reached := 0
	for checks := 0; ; checks++ {
		ctx := &endsAfter{Context: t.Context(), checks: checks, done: make(chan struct{})}
		var logs bytes.Buffer
		a, err := start(ctx, cfg, sec, slog.New(slog.NewTextHandler(&logs, nil)))
		if err == nil {
			if err := a.stop(t.Context()); err != nil {
				t.Error(err)
			}
			break
		}
		reached++
		if !errors.Is(err, errInterrupted) || strings.Contains(logs.String(), "msg=stopped") || strings.Contains(logs.String(), "level=ERROR") {
			t.Errorf("interrupted at check %d: %v\n%s", checks, err, logs.String())
		}
		if reached > 1000 {
			t.Fatal("the start never ends")
		}
	}
	if reached < 9 {
		t.Errorf("interrupted at %d places only", reached)
	}
}

// endsAfter is a context that ends when it was asked a number of times.
type endsAfter struct {
	context.Context
	checks int
	done   chan struct{}
}

func (c *endsAfter) Err() error {
	if c.checks--; c.checks >= 0 {
		return nil
	}
	if c.checks == -1 {
		close(c.done)
	}
	return context.Canceled
}

func (c *endsAfter) Done() <-chan struct{} { return c.done }

// TestASIGTERMDuringAStartEndsWith0AndOneLine holds the data file's lock while the
// program starts, and lets go of it after the signal. A busy machine may hand the
// signal over late, when more parts are up; they are stopped without a word.
func TestASIGTERMDuringAStartEndsWith0AndOneLine(t *testing.T) {
	for _, letGo := range []bool{true, false} {
		w := newWorld(t)
		held, err := store.Open(store.Options{Path: w.dataFile(), Buckets: buckets()})
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		addr := freeAddress(t)
		w.output = &lockedBuffer{}
		w.launch(addr)
		w.await("the address", func() bool { // taken first, so the start is under way
			c, err := net.Dial("tcp", addr)
			if err == nil {
				_ = c.Close()
			}
			return err == nil
		})
		_ = w.cmd.Process.Signal(syscall.SIGTERM)
		if letGo {
			if err := held.Close(); err != nil {
				t.Fatal(err)
			}
		}
		err = w.wait()
		lines := strings.Split(strings.TrimSpace(w.output.String()), "\n")
		last := lines[len(lines)-1]
		if err != nil || !strings.Contains(last, "stopped before the start was complete") || strings.Contains(w.output.String(), "msg=stopped ") {
			t.Errorf("lock let go %v: %v\n%s", letGo, err, w.output)
		}
	}
}

// TestAFirstStartThatIsInterruptedKeepsNoSecrets: nobody has seen them.
func TestAFirstStartThatIsInterruptedKeepsNoSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("SERVER_LISTEN", "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // before the first part
	var out bytes.Buffer
	if err := serve(ctx, nil, &out); err != nil {
		t.Fatalf("exit status 1: %v", err)
	}
	if _, err := os.Stat(filepath.Join("data", secretsFile)); err == nil || out.Len() != 0 {
		t.Errorf("it kept secrets that nobody has seen, and printed %q", out.String())
	}
}

func TestEveryStartSaysWhereDashboardKeyAndDataAre(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{filepath.Join(here, "data", secretsFile), filepath.Join(here, "data", secretsFile), "authentication.global_auth_token"} {
		cfg := &Config{}
		settings(cfg)
		cfg.Server.Listen = "0.0.0.0:0"
		if i == 2 {
			cfg.Authentication.GlobalAuthToken = "0123456789abcdef-an-own-key"
		}
		var logs, out bytes.Buffer
		a, err := startServing(t.Context(), cfg, slog.New(slog.NewTextHandler(&logs, nil)), &out)
		if err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(strings.TrimPrefix(a.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"dashboard=http://localhost:" + port + "/ ", "key=" + key + " ", "data=" + filepath.Join(here, "data", "postern.db") + " "} {
			if !strings.Contains(logs.String(), want) {
				t.Errorf("start %d: no %q in\n%s", i+1, want, logs.String())
			}
		}
		if first := strings.Contains(out.String(), "The dashboard is at http://localhost:"+port+"/ "); first != (i == 0) || strings.Contains(logs.String(), a.sec.GlobalAuthToken) {
			t.Errorf("start %d printed %q", i+1, out.String())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := a.stop(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	}
}
