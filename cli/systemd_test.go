package cli

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"postern/config"
)

func TestSystemdIsToldOfTheStartTheLifeAndTheStop(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no systemd here")
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	for name, value := range map[string]string{
		"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": strconv.Itoa(os.Getpid()),
		"SERVER_LISTEN": "127.0.0.1:0", "LOG_LEVEL": "error", "STORE_PATH": filepath.Join(folder, "p.db"),
	} {
		t.Setenv(name, value)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error)
	go func() { ended <- serve(ctx, "", &bytes.Buffer{}) }()
	var told []string
	hear := func() string {
		t.Helper()
		message := make([]byte, 100)
		_ = socket.SetReadDeadline(time.Now().Add(30 * time.Second))
		n, err := socket.Read(message)
		if err != nil {
			t.Fatalf("after %q: %v", told, err)
		}
		told = append(told, string(message[:n]))
		return told[len(told)-1]
	}
	for range 4 {
		hear()
	}
	if strings.Join(told, " ") != "READY=1 WATCHDOG=1 WATCHDOG=1 WATCHDOG=1" {
		t.Errorf("told %q", told)
	}
	stop()
	for hear() != "STOPPING=1" {
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_ = socket.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	if n, err := socket.Read(make([]byte, 100)); err == nil {
		t.Errorf("%d bytes were told after the stop", n)
	}
}

// TestTheUnitIsOneThatSystemdTakesAndThatLeavesTheProgramLittle: what systemd itself
// says of it.
func TestTheUnitIsOneThatSystemdTakesAndThatLeavesTheProgramLittle(t *testing.T) {
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
	cfg, err := prepare("")
	if err != nil || n != 3 {
		t.Fatalf("%d variables: %v", n, err)
	}
	if cfg.Store.Path != filepath.Join(folder, "postern", "postern.db") {
		t.Errorf("the data file is %s", cfg.Store.Path)
	}
}
