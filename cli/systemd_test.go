package cli

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"postern/config"
	"postern/e2e/capture"
)

func TestSystemdIsNotified(t *testing.T) {
	hear := systemd(t)
	for name, value := range map[string]string{"SERVER_LISTEN": "127.0.0.1:0", "LOG_LEVEL": "error", "STORE_PATH": filepath.Join(t.TempDir(), "p.db")} {
		t.Setenv(name, value)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error)
	go func() { ended <- serve(ctx, "", &bytes.Buffer{}) }()
	var notified []string
	for range 4 {
		notified = append(notified, hear(30*time.Second))
	}
	if strings.Join(notified, " ") != "READY=1 WATCHDOG=1 WATCHDOG=1 WATCHDOG=1" {
		t.Errorf("notified %q", notified)
	}
	stop()
	for what := ""; what != "STOPPING=1"; {
		if what = hear(30 * time.Second); what == "" {
			t.Fatal("the stop is not notified")
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if what := hear(300 * time.Millisecond); what != "" {
		t.Errorf("%q was notified after the stop", what)
	}
}

// TestStuckProgramSkipsTheWatchdog until it runs again.
func TestStuckProgramSkipsTheWatchdog(t *testing.T) {
	hear := systemd(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var stuck atomic.Bool
	stuck.Store(true)
	var log capture.Buffer
	supervised(ctx, func(context.Context) []string {
		if stuck.Load() {
			return []string{"the webhook relay is stalled"}
		}
		return nil
	}, slog.New(slog.NewTextHandler(&log, nil)))
	if what := hear(30 * time.Second); what != "READY=1" {
		t.Errorf("notified %q", what)
	}
	if what := hear(400 * time.Millisecond); what != "" {
		t.Errorf("a stuck one notified %q", what)
	}
	stuck.Store(false)
	if what := hear(30 * time.Second); what != "WATCHDOG=1" {
		t.Errorf("notified %q", what)
	}
	if !strings.Contains(log.String(), "the webhook relay is stalled") {
		t.Errorf("the log has %s", log.String())
	}
}

const extended = "EXTEND_TIMEOUT_USEC=60000000"

// TestLongStartExtendsItsTimeout until it is complete.
func TestLongStartExtendsItsTimeout(t *testing.T) {
	hear := notifications(t)
	synctest.Test(t, func(t *testing.T) {
		done := starting(t.Context())
		time.Sleep(2*extendEvery + time.Second)
		done()
		time.Sleep(time.Hour)
	})
	for n, want := range []string{extended, extended, extended, ""} {
		if what := hear(100 * time.Millisecond); what != want {
			t.Errorf("notification %d is %q, want %q", n, what, want)
		}
	}
}

// systemd is like notifications, without those that extend a start.
func systemd(t *testing.T) (hear func(within time.Duration) string) {
	t.Helper()
	all := notifications(t)
	return func(within time.Duration) (what string) {
		for what = extended; what == extended; {
			what = all(within)
		}
		return what
	}
}

// notifications stands in for systemd, with a watchdog of a tenth of a second. What it returns
// is the next notification, empty for nothing within that time.
func notifications(t *testing.T) (hear func(within time.Duration) string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no systemd here")
	}
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	for name, value := range map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": strconv.Itoa(os.Getpid())} {
		t.Setenv(name, value)
	}
	return func(within time.Duration) string {
		message := make([]byte, 100)
		_ = socket.SetReadDeadline(time.Now().Add(within))
		n, _ := socket.Read(message)
		return string(message[:n])
	}
}

// TestUnitIsValidAndHardened: what systemd itself
// says of it.
func TestUnitIsValidAndHardened(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here")
	}
	unit := filepath.Join("..", "packaging", "postern.service")
	raw, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	// A copy with a command that is there, since every other complaint is one of ours.
	copied := filepath.Join(t.TempDir(), "postern.service")
	content := strings.Replace(string(raw), "ExecStart=/usr/bin/postern", "ExecStart=/bin/sh", 1)
	content = strings.Replace(content, "Documentation=man:postern(1)\n", "", 1)
	if err := os.WriteFile(copied, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold=15", copied).CombinedOutput()
	if strings.Contains(string(out), "unrecognized option") {
		t.Skip("this systemd-analyze cannot look at a file")
	}
	exposure := regexp.MustCompile(`exposure level for postern.service: ([0-9.]+)`).FindSubmatch(out)
	if err != nil || exposure == nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", copied).CombinedOutput(); err != nil || strings.Contains(string(out), "postern.service") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTheUnitSetsOnlyWhatTheProgramKnows.
func TestTheUnitSetsOnlyWhatTheProgramKnows(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "packaging", "postern.service"))
	if err != nil {
		t.Fatal(err)
	}
	folder, sec, n := t.TempDir(), config.NewSecrets(), 0
	for line := range strings.Lines(string(raw)) {
		name, value, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "Environment="), "=")
		if !found || !strings.HasPrefix(line, "Environment=") {
			continue
		}
		n++
		value = strings.NewReplacer("%d", folder, "%S", folder).Replace(value)
		if strings.HasSuffix(name, "_FILE") {
			secret := map[bool]string{true: sec.JWTSecret, false: sec.GlobalAuthToken}[strings.Contains(name, "JWT")]
			if err := os.WriteFile(value, []byte(secret), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv(name, value)
	}
	cfg, err := prepare(t.Context(), "")
	if err != nil || n != 3 {
		t.Fatalf("%d variables: %v", n, err)
	}
	if cfg.Store.Path != filepath.Join(folder, "postern", "postern.db") {
		t.Errorf("the data file is %s", cfg.Store.Path)
	}
}

// A node that waits for its database is ready for systemd, whose start timeout and watchdog
// therefore do not end it, and takes a hangup.
func TestWaitingNodeIsReadyForSystemd(t *testing.T) {
	hear := systemd(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "config.toml")
	content := fmt.Sprintf("[server]\nlisten = '127.0.0.1:0'\n[store]\npath = '%s'\nurl = 'postgres://postern@127.0.0.1:1/postern'\n", filepath.Join(folder, "p.db"))
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	said := logOf(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error)
	go func() { ended <- serve(ctx, path, &bytes.Buffer{}) }()
	for _, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"} {
		if what := hear(30 * time.Second); what != want {
			t.Fatalf("notified %q, want %q", what, want)
		}
	}
	content += "[webhook.global]\nenabled = true\nurl = 'http://127.0.0.1:1/'\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	hangUp(t)
	for what := ""; what != "READY=1"; {
		if what = hear(30 * time.Second); what == "" {
			t.Fatal("the reload does not end")
		}
	}
	if !strings.Contains(said(), "webhook.global: this node does not own its cell") {
		t.Errorf("it said %s", said())
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("%v; it said %s", err, said())
	}
}

// TestAHangupReadsTheConfigurationAgain and systemd is notified, whatever is in the file.
func TestAHangupReadsTheConfigurationAgain(t *testing.T) {
	hear := systemd(t)
	t.Setenv("WATCHDOG_USEC", "")
	folder := t.TempDir()
	path := filepath.Join(folder, "config.toml")
	write := func(level, more string) {
		t.Helper()
		content := fmt.Sprintf("[server]\nlisten = '127.0.0.1:0'\n[store]\npath = '%s'\n[log]\nlevel = '%s'\n%s", filepath.Join(folder, "p.db"), level, more)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("error", "")
	said := logOf(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error)
	go func() { ended <- serve(ctx, path, &bytes.Buffer{}) }()
	if what := hear(30 * time.Second); what != "READY=1" {
		t.Fatalf("notified %q", what)
	}
	for _, c := range []struct{ level, more, want string }{
		{"info", "", `msg="reloaded the configuration" changed=log.level`},
		{"error", "[batch]\nnonsense = 1\n", "batch: unknown key"},
		{"loud", "", "log.level: must be one of debug, info, warn, error"},
		{"warn", "[metrics]\nlisten = '127.0.0.1:0'\n", "settings=metrics.listen"},
	} {
		write(c.level, c.more)
		hangUp(t)
		notified := hear(30 * time.Second)
		if !regexp.MustCompile(`^RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]+\n$`).MatchString(notified) {
			t.Errorf("notified %q", notified)
		}
		if notified = hear(30 * time.Second); notified != "READY=1" {
			t.Errorf("after that %q", notified)
		}
		if !strings.Contains(said(), c.want) {
			t.Errorf("without %q the log has %s", c.want, said())
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// hangUp sends the signal to this process.
func hangUp(t *testing.T) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGHUP)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// logOf returns what is written to standard error from now on.
func logOf(t *testing.T) (said func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stderr")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = f
	t.Cleanup(func() {
		os.Stderr = before
		_ = f.Close()
	})
	return func() string {
		t.Helper()
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
}
