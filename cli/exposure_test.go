package cli

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"postern/config"
)

// TestAStartWarnsOfWhatOthersCanReach: in the log, and `postern config` tells the
// same.
func TestAStartWarnsOfWhatOthersCanReach(t *testing.T) {
	inPrivateFolder(t)
	t.Setenv("SERVER_LISTEN", "0.0.0.0:0")
	t.Setenv("METRICS_LISTEN", "0.0.0.0:0")
	var shown bytes.Buffer
	if err := showConfig(t.Context(), "", &shown); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load("", os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	var logs bytes.Buffer
	a, err := startServing(t.Context(), cfg, journal{log: slog.New(slog.NewTextHandler(&logs, nil))}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := a.Stop(ctx); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"unencrypted", "without a credential"} {
		if !strings.Contains(logs.String(), "level=WARN") || !strings.Contains(logs.String(), want) || !strings.Contains(shown.String(), "# warning: ") || !strings.Contains(shown.String(), want) {
			t.Errorf("no %q in\n%s\nor in\n%s", want, logs.String(), shown.String())
		}
	}
}

func TestPublicSandboxControlIsAWarning(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &untilText{text: "stop with Ctrl-C", found: cancel}
	if err := runSandbox(ctx, "127.0.0.1:0", "0.0.0.0:0", "", out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.all.String(), "need no credential") {
		t.Errorf("no warning in %q", out.all.String())
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out = &untilText{text: "stop with Ctrl-C", found: cancel}
	if err := runSandbox(ctx, "127.0.0.1:0", "127.0.0.1:0", "", out); err != nil || strings.Contains(out.all.String(), "need no credential") {
		t.Errorf("on the loopback: %q, %v", out.all.String(), err)
	}
}
