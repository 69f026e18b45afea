//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"postern/app"
	"postern/config"
	"postern/store"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestLostOutputFailsTheCommand.
func TestLostOutputFailsTheCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"--help"}, {"help", "serve"}, {"version"}, {"config"}, {"man"}, {"schema"}, {"completion", "bash"}, {"token", "user", "--help"}, {"doctor", "--json"},
	} {
		var errOut bytes.Buffer
		if status := run(t.Context(), args, full{}, &errOut); status != 1 || !strings.Contains(errOut.String(), syscall.ENOSPC.Error()) {
			t.Errorf("%v: status %d: %s", args, status, errOut.String())
		}
	}
}

// dataFolder makes a data file with its secrets in the folder of the test.
func dataFolder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	s, err := store.Open(store.Options{Path: filepath.Join("data", "postern.db"), Buckets: app.Buckets(), MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = config.LoadSecrets(config.Default())
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestABackupIntoNowhereIsRefused: a standard output that is closed would take it, too.
func TestABackupIntoNowhereIsRefused(t *testing.T) {
	dataFolder(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "backup", "-")
	cmd.Env = append(os.Environ(), asProgram+"=1") // its standard output is the null device
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), "standard output is closed") {
		t.Errorf("%v: %s", err, said.String())
	}
}

// TestProgramSurvivesAnUnreadLog, as when journald ends.
func TestProgramSurvivesAnUnreadLog(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, os.Args[0], "serve")
	cmd.Env = append(os.Environ(), asProgram+"=1", "SERVER_LISTEN=127.0.0.1:0", "LOG_LEVEL=debug")
	cmd.Stderr = write
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cmd.Start(), write.Close()); err != nil {
		t.Fatal(err)
	}
	go func() { // until the first start has said where everything is
		_, _ = io.Copy(io.Discard, io.LimitReader(read, 1))
		_ = read.Close()
	}()
	var at string
	for lines := bufio.NewScanner(out); at == "" && lines.Scan(); {
		_, at, _ = strings.Cut(lines.Text(), "The dashboard is at ")
		at, _, _ = strings.Cut(at, " ")
	}
	for range 3 { // each is a line of the log
		resp, err := http.Get(at + "ready")
		if err != nil {
			t.Fatalf("it is gone: %v", err)
		}
		_ = resp.Body.Close()
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it did not end in order: %v", err)
	}
}
