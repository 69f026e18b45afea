package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"postern/config"
)

// TestInterruptedStartEndsInOrder interrupts a start before
// and after each of its parts.
func TestInterruptedStartEndsInOrder(t *testing.T) {
	folder := t.TempDir()
	cfg := config.Default()
	cfg.Server.Listen, cfg.Store.Path = "127.0.0.1:0", filepath.Join(folder, "postern.db")
	cfg.Webhook.GlobalURL, cfg.Webhook.GlobalEnabled = "http://127.0.0.1:1/", true
	cfg.Sandbox.Enabled, cfg.Sandbox.Path = true, filepath.Join(folder, "sandbox.db")
	sec := config.NewSecrets()
	reached := 0
	for checks := 0; ; checks++ {
		ctx := &endsAfter{Context: t.Context(), checks: checks, done: make(chan struct{})}
		var logs bytes.Buffer
		a, err := Start(ctx, cfg, sec, slog.New(slog.NewTextHandler(&logs, nil)))
		if err == nil {
			if err := a.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			break
		}
		reached++
		if !errors.Is(err, ErrInterrupted) || strings.Contains(logs.String(), "msg=stopped") || strings.Contains(logs.String(), "level=ERROR") {
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
