package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Operator is a running program, and a shell beside it in which its commands are run.
type Operator struct {
	*World
	t *testing.T
}

// NewOperator starts a program with more variables.
func NewOperator(t *testing.T, env ...string) *Operator {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real processes")
	}
	o := &Operator{NewWorld(t), t}
	o.Env = env
	o.Start()
	return o
}

// Beside returns an operator of a program that runs already.
func Beside(t *testing.T, w *World) *Operator { return &Operator{w, t} }

// Environment is that of the program.
func (o *Operator) Environment() []string {
	endpoint, listen := o.Sandbox.Endpoint(), "127.0.0.1:0"
	if o.API != nil {
		listen = strings.TrimPrefix(o.API.Base, "http://")
	}
	return append([]string{
		"STORE_PATH=" + o.DataFile(), "SERVER_LISTEN=" + listen,
		"AUTHENTICATION_GLOBAL_AUTH_TOKEN=" + o.Sec.GlobalAuthToken, "AUTHENTICATION_JWT_SECRET=" + o.Sec.JWTSecret,
		"WEBHOOK_GLOBAL_URL=" + o.Hook.URL, "WEBHOOK_GLOBAL_ENABLED=true",
		"WHATSAPP_ENDPOINT=" + endpoint.URL, "WHATSAPP_ENDPOINT_CA=" + filepath.Join(o.Folder, "ca.pem"),
		"WHATSAPP_ENDPOINT_ROOT_KEY=" + fmt.Sprintf("%x", endpoint.RootKey[:]),
	}, o.Env...)
}

// Runs runs a command to its end, with more variables.
func (o *Operator) Runs(env []string, args ...string) (status int, output string) {
	o.t.Helper()
	return Program(o.t, o.Folder, append(o.Environment(), env...), args...)
}

// Says runs a command and wants its status, and words in what it says.
func (o *Operator) Says(status int, words string, args ...string) string {
	o.t.Helper()
	got, output := o.Runs(nil, args...)
	if got != status || !strings.Contains(output, words) {
		o.t.Errorf("postern %s: status %d, want %d, with %q; it said:\n%s", strings.Join(args, " "), got, status, words, output)
	}
	return output
}

// Begins runs a command that reads in, and returns what waits for its end, which is an
// error unless its status is 0.
func (o *Operator) Begins(in *os.File, args ...string) (wait func() error) {
	o.t.Helper()
	cmd := o.command(args...)
	cmd.Stdin = in
	if err := cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	return cmd.Wait
}

// Signalled runs a command and sends it a signal after a while. It returns the status, and
// how long the command took from then on.
func (o *Operator) Signalled(with os.Signal, after time.Duration, env []string, args ...string) (status int, took time.Duration) {
	o.t.Helper()
	cmd := o.command(args...)
	cmd.Env = append(cmd.Env, env...)
	if err := cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	time.Sleep(after)
	began := time.Now()
	_ = cmd.Process.Signal(with)
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), time.Since(began)
}

// KilledOnce runs a command and kills it once something is so.
func (o *Operator) KilledOnce(is func() bool, args ...string) {
	o.t.Helper()
	cmd := o.command(args...)
	if err := cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); !is() && time.Now().Before(end); {
		runtime.Gosched()
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// command returns a command with the operator's variables.
func (o *Operator) command(args ...string) *exec.Cmd {
	o.t.Helper()
	self, err := os.Executable()
	if err != nil {
		o.t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(o.t.Context()), self, args...)
	cmd.Dir = o.Folder
	cmd.Env = append(append(os.Environ(), AsProgram+"=1"), o.Environment()...)
	return cmd
}

// Files returns the names in the folder of the data file.
func (o *Operator) Files() (names []string) {
	o.t.Helper()
	all, err := os.ReadDir(filepath.Dir(o.DataFile()))
	if err != nil {
		o.t.Fatal(err)
	}
	for _, f := range all {
		names = append(names, f.Name())
	}
	return names
}

// Untouched wants the files to be those of before.
func (o *Operator) Untouched(before []string) {
	o.t.Helper()
	if after := o.Files(); !slices.Equal(before, after) {
		o.t.Errorf("beside the data file there was %v, and now there is %v", before, after)
	}
}
