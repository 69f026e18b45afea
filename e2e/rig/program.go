package rig

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"testing"
)

// Program runs the real program to its end and returns its status and output.
func Program(t *testing.T, folder string, env []string, args ...string) (status int, output string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir = folder
	cmd.Env = append(append(os.Environ(), AsProgram+"=1", "SERVER_LISTEN=127.0.0.1:0"), env...)
	return run(t, cmd)
}

func run(t *testing.T, cmd *exec.Cmd) (status int, output string) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// Update asks the tests that hold a page against the program to write it instead.
var Update = flag.Bool("update", false, "rewrite generated files")
