//go:build !windows

package docs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/e2e/capture"
	"postern/e2e/rig"
)

// readmeBlocks returns the shell blocks of README.md, in order.
func readmeBlocks(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 4 {
		t.Fatalf("README.md has %d shell blocks", len(blocks))
	}
	return blocks
}

// readmeFolder returns the folder of a clone after `make build`, with the folder of the trial in it.
func readmeFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin", "trial"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", rig.AsProgram, self)
	if err := os.WriteFile(filepath.Join(folder, "bin", "postern"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// paste gives text to a shell as a terminal would: line by line, continuing after a
// command that failed. The ports of the text are replaced by free ones.
func paste(t *testing.T, folder, text string, ports map[string]string, env ...string) *exec.Cmd {
	t.Helper()
	for from, to := range ports {
		text = strings.ReplaceAll(text, from, to)
	}
	cmd := exec.CommandContext(t.Context(), "bash")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // with what it left in the background
	cmd.WaitDelay = 5 * time.Second
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	})
	return cmd
}

func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

// TestReadmeBlocksRunAndCanBePastedAgain pastes the trial of the README as a newcomer
// without a phone does, and each block a second time.
func TestReadmeBlocksRunAndCanBePastedAgain(t *testing.T) {
	needs(t, "bash", "curl", "jq")
	blocks, folder := readmeBlocks(t), readmeFolder(t)
	trial := filepath.Join(folder, "trial")
	ports := map[string]string{"127.0.0.1:8084": rig.FreeAddress(t), "127.0.0.1:9090": rig.FreeAddress(t)}
	ports["postern listen"] = "postern listen --addr " + ports["127.0.0.1:9090"]

	where := &capture.Buffer{}
	twice := paste(t, folder, strings.Repeat(strings.Replace(blocks[1], "serve", "config", 1), 2)+"pwd\n", nil)
	twice.Stdout, twice.Stderr = where, where
	if err := twice.Run(); err != nil || strings.Count(where.String(), "[server]") != 2 || !strings.HasSuffix(where.String(), folder+"\n") {
		t.Errorf("the block that starts the program, twice: %v\n%s", err, where)
	}
	serving := &capture.Buffer{}
	server := paste(t, folder, strings.NewReplacer("(cd", "cd", "SANDBOX", "exec env SANDBOX", "serve)", "serve").Replace(blocks[1]), nil, "SERVER_LISTEN="+ports["127.0.0.1:8084"])
	server.Stdout, server.Stderr = serving, serving
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(serving.String(), "msg=ready"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not ready:\n%s", serving)
		}
	}

	out, complaints := &capture.Buffer{}, &capture.Buffer{}
	shell := paste(t, trial, blocks[2]+blocks[2]+blocks[3]+blocks[3]+"\nsleep 1\nkill %1\nwait\n", ports) // the receiver prints what it has when it ends
	shell.Stdout, shell.Stderr = out, complaints
	if err := shell.Run(); err != nil {
		t.Errorf("exit status: %v", err)
	}
	for want, times := range map[string]int{
		"shop is ONLINE": 2, "already connected": 1, "qrcode.updated": 1, "pair.success": 1, `"messageType":"conversation"`: 1,
		`"normalizedRecipient": "4915187654321"`: 2, `"status": "SUCCESS"`: 4,
	} {
		if n := strings.Count(out.String(), want); n < times {
			t.Errorf("%d times %s, want %d", n, want, times)
		}
	}
	if text := complaints.String(); text != "" || t.Failed() {
		t.Errorf("complaints: %s\nprinted: %s\nthe program: %s", text, out, serving)
	}
	if _, err := os.Stat(filepath.Join(folder, "data")); !os.IsNotExist(err) {
		t.Errorf("the trial left data outside its folder: %v", err)
	}
	_ = server.Process.Signal(syscall.SIGTERM)
	if err := server.Wait(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// TestReadmeBlocksReportAStoppedProgram pastes the blocks where no program runs: each
// call reports it, and no loop continues for ever.
func TestReadmeBlocksReportAStoppedProgram(t *testing.T) {
	needs(t, "bash", "curl", "jq")
	blocks, folder := readmeBlocks(t), readmeFolder(t)
	trial := filepath.Join(folder, "trial")
	if err := os.Mkdir(filepath.Join(trial, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(trial, "data", "secrets.json"), []byte(`{"globalAuthToken":"0123456789abcdef0123456789abcdef","jwtSecret":"0123456789abcdef0123456789abcdef"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ports := map[string]string{"127.0.0.1:8084": rig.FreeAddress(t), "127.0.0.1:9090": rig.FreeAddress(t)}
	ports["postern listen"] = "true"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, complaints bytes.Buffer
	shell := paste(t, trial, blocks[2]+blocks[3], ports)
	shell.Stdout, shell.Stderr = &out, &complaints
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- shell.Wait() }()
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal("the blocks still wait after a minute")
	}
	calls := strings.Count(blocks[2]+blocks[3], "call ")
	if n := strings.Count(complaints.String(), "curl: ("); n < calls || strings.Contains(out.String(), "ONLINE") {
		t.Errorf("%d of %d calls complain:\n%s\n%s", n, calls, complaints.String(), out.String())
	}
}

// TestReadmeHas900WordsAtMost counts them as wc does.
func TestReadmeHas900WordsAtMost(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(text))); n > 900 {
		t.Errorf("README.md has %d words", n)
	}
}
