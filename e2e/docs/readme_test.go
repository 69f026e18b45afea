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

// readmeBlocks are the shell blocks of README.md, in order.
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

// readmeFolder is a folder as a newcomer has it after `make build`: with the
// program, and with the files of the repository.
func readmeFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	repository, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	program := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", rig.AsProgram, self)
	if err := os.WriteFile(filepath.Join(folder, "bin", "postern"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(repository, "media"), filepath.Join(folder, "media")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// paste gives text to a shell as a terminal would: line by line, going on after a
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

// TestTheBlocksOfTheReadmeRunWhenPastedAsOnePiece pastes them one after the
// other, as a newcomer would who has no phone.
func TestTheBlocksOfTheReadmeRunWhenPastedAsOnePiece(t *testing.T) {
	needs(t, "bash", "curl", "jq")
	blocks, folder := readmeBlocks(t), readmeFolder(t)
	ports := map[string]string{"127.0.0.1:8084": rig.FreeAddress(t), "127.0.0.1:9090": rig.FreeAddress(t)}
	ports["./bin/postern listen"] = "./bin/postern listen --addr " + ports["127.0.0.1:9090"]
	if want := "make build\n./bin/postern serve\n"; blocks[1] != want {
		t.Fatalf("the second block is %q, want %q", blocks[1], want)
	}

	serving := &capture.Buffer{}
	server := paste(t, folder, "exec ./bin/postern serve\n", nil, "SANDBOX_ENABLED=true", "SERVER_LISTEN="+ports["127.0.0.1:8084"])
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
	shell := paste(t, folder, blocks[2]+"\nsleep 1\nkill %1\nwait\n"+blocks[3], ports) // a receiver ends with its last line written
	shell.Stdout, shell.Stderr = out, complaints
	if err := shell.Run(); err != nil {
		t.Errorf("exit status: %v", err)
	}
	for _, want := range []string{
		"shop is ONLINE", "qrcode.updated", "pair.success", `"messageType":"conversation"`, `"messageType":"imageMessage"`,
		`"normalizedRecipient": "4915187654321"`, `"status": "SUCCESS"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s", want)
		}
	}
	if text := complaints.String(); text != "" || t.Failed() {
		t.Errorf("complaints: %s\nprinted: %s\nthe program: %s", text, out, serving)
	}
	_ = server.Process.Signal(syscall.SIGTERM)
	if err := server.Wait(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// TestTheBlocksOfTheReadmeFailLoudly pastes them where no program runs: each
// call has to say so, and no wait may go on for ever.
func TestTheBlocksOfTheReadmeFailLoudly(t *testing.T) {
	needs(t, "bash", "curl", "jq")
	blocks, folder := readmeBlocks(t), readmeFolder(t)
	if err := os.Mkdir(filepath.Join(folder, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "data", "secrets.json"), []byte(`{"globalAuthToken":"0123456789abcdef0123456789abcdef","jwtSecret":"0123456789abcdef0123456789abcdef"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ports := map[string]string{"127.0.0.1:8084": rig.FreeAddress(t), "127.0.0.1:9090": rig.FreeAddress(t)}
	ports["./bin/postern listen"] = "true"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, complaints bytes.Buffer
	shell := paste(t, folder, blocks[2]+blocks[3], ports)
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
