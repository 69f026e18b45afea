//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/app"
	"postern/config"
	"postern/store"
)

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // lets go who still waits for someone to write
		if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			_ = f.Close()
		}
	})
	return path
}

// TestInterruptEndsReadingFromAPipe, without a writer.
func TestInterruptEndsReadingFromAPipe(t *testing.T) {
	t.Chdir(t.TempDir())
	stopped := errors.New("Ctrl-C")
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(stopped)
	path := pipe(t)
	for _, args := range [][]string{
		{"serve", "--config", path},
		{"config", "--config", path},
		{"config", "check", path},
		{"stats", "--config", path},
		{"doctor", "--config", path},
		{"restore", "--yes", "--identity", path, "x"},
		{"instance", "import", "--identity", path, "x"},
		{"mcp", "--key-file", path},
	} {
		var said bytes.Buffer
		status := run(ctx, args, &said, &said)
		if status == 0 || !strings.Contains(said.String(), path) || !strings.Contains(said.String(), stopped.Error()) {
			t.Errorf("%v: status %d: %s", args, status, said.String())
		}
		if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
			t.Errorf("%v: it made %v (%v)", args, left, err)
		}
	}
}

// TestAConfigurationByAPipeIsReadOnce: nothing comes out of the pipe a second time, which is no
// configuration of defaults.
func TestAConfigurationByAPipeIsReadOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	path := pipe(t)
	for text, want := range map[string]int{"[log]\nlevel = \"warn\"\n": 0, "": 2} {
		go func() {
			if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
				_, _ = f.WriteString(text)
				_ = f.Close()
			}
		}()
		var said bytes.Buffer
		if got := run(t.Context(), []string{"config", "check", path}, io.Discard, &said); got != want {
			t.Errorf("%q: status %d: %s", text, got, said.String())
		}
	}
}

// TestAFileThatHasNoEndIsRefused and not read into memory.
func TestAFileThatHasNoEndIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	const endless = "/dev/zero"
	for _, args := range [][]string{
		{"serve", "--config", endless},
		{"config", "check", endless},
		{"restore", "--yes", "--identity", endless, "x"},
		{"restore", "--yes", endless},
		{"instance", "import", endless},
		{"instance", "import", "--identity", endless, "x"},
		{"mcp", "--key-file", endless},
	} {
		var said bytes.Buffer
		if status := run(t.Context(), args, &said, &said); status == 0 || !strings.Contains(said.String(), endless) {
			t.Errorf("%v: status %d: %s", args, status, said.String())
		}
		if err := os.RemoveAll("data"); err != nil { // the empty folder of a restore
			t.Fatal(err)
		}
		if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
			t.Errorf("%v: it made %v (%v)", args, left, err)
		}
	}
}

// TestACertificateThatHasNoEndIsRefused, as a wrong path may name it.
func TestACertificateThatHasNoEndIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("SERVER_LISTEN", "127.0.0.1:0")
	t.Setenv("LOG_LEVEL", "error")
	t.Setenv("SERVER_TLS_CERT", "/dev/zero")
	t.Setenv("SERVER_TLS_KEY", "/dev/zero")
	var said bytes.Buffer
	if status := run(t.Context(), []string{"serve"}, io.Discard, &said); status != 1 || !strings.Contains(said.String(), "server.tls.cert") || !strings.Contains(said.String(), "/dev/zero has more than") {
		t.Errorf("status %d: %s", status, said.String())
	}
}

// TestProgramsCannotStartDuringARestore, which reads its backup from a pipe.
func TestProgramsCannotStartDuringARestore(t *testing.T) {
	t.Chdir(t.TempDir())
	o := store.Options{Path: config.Default().Store.Path, Buckets: app.Buckets(), NoSync: true}
	s, err := store.Open(o)
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	path := pipe(t)
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), []string{"restore", "--force", "--yes", path}, io.Discard, io.Discard)
	}()
	backup, err := os.OpenFile(path, os.O_WRONLY, 0) // when it is read
	if err != nil {
		t.Fatal(err)
	}
	s, err = store.Open(o)
	if !errors.Is(err, store.ErrLocked) {
		t.Errorf("a program has the data file: %v", err)
	}
	if err == nil {
		s.Close()
	}
	if err := backup.Close(); err != nil {
		t.Fatal(err)
	}
	if status := <-ended; status != statusFailed {
		t.Errorf("status %d", status)
	}
}

// TestStartIsExtendedBeforeItsConfigurationIsRead, here from a pipe without a writer.
func TestStartIsExtendedBeforeItsConfigurationIsRead(t *testing.T) {
	hear := notifications(t)
	ctx, stop := context.WithCancel(t.Context())
	ended, path := make(chan error), pipe(t)
	go func() { ended <- serve(ctx, path, &bytes.Buffer{}) }()
	if what := hear(30 * time.Second); what != extended {
		t.Errorf("notified %q", what)
	}
	stop()
	if err := <-ended; err == nil {
		t.Error("it served")
	}
}
