package diagnosis

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/e2e/rig"
)

// operator is a program, and a shell beside it.
type operator struct {
	*rig.World
	t *testing.T
}

func newOperator(t *testing.T, env ...string) *operator {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	o := &operator{rig.NewWorld(t), t}
	o.Env = env
	o.Start()
	return o
}

// environment is that of the program.
func (o *operator) environment() []string {
	endpoint := o.Sandbox.Endpoint()
	return append([]string{
		"STORE_PATH=" + o.DataFile(), "SERVER_LISTEN=" + strings.TrimPrefix(o.API.Base, "http://"),
		"AUTHENTICATION_GLOBAL_AUTH_TOKEN=" + o.Sec.GlobalAuthToken, "AUTHENTICATION_JWT_SECRET=" + o.Sec.JWTSecret,
		"WEBHOOK_GLOBAL_URL=" + o.Hook.URL, "WEBHOOK_GLOBAL_ENABLED=true",
		"WHATSAPP_ENDPOINT=" + endpoint.URL, "WHATSAPP_ENDPOINT_CA=" + filepath.Join(o.Folder, "ca.pem"),
		"WHATSAPP_ENDPOINT_ROOT_KEY=" + fmt.Sprintf("%x", endpoint.RootKey[:]),
	}, o.Env...)
}

// runs runs a command to its end, with more variables.
func (o *operator) runs(env []string, args ...string) (status int, output string) {
	o.t.Helper()
	return rig.Program(o.t, o.Folder, append(o.environment(), env...), args...)
}

// says runs a command and wants its status and words.
func (o *operator) says(status int, words string, args ...string) string {
	o.t.Helper()
	got, output := o.runs(nil, args...)
	if got != status || !strings.Contains(output, words) {
		o.t.Errorf("postern %s: status %d, want %d, with %q; it said:\n%s", strings.Join(args, " "), got, status, words, output)
	}
	return output
}

// interrupted runs a command and sends SIGINT after a while. It returns the status, and
// how long the command took from then on.
func (o *operator) interrupted(after time.Duration, env []string, args ...string) (status int, took time.Duration) {
	o.t.Helper()
	self, err := os.Executable()
	if err != nil {
		o.t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), self, args...)
	cmd.Dir = o.Folder
	cmd.Env = append(append(append(os.Environ(), rig.AsProgram+"=1"), o.environment()...), env...)
	if err := cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	time.Sleep(after)
	began := time.Now()
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), time.Since(began)
}

// beside are the names in the folder of the data file.
func (o *operator) beside() (names []string) {
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

// silent is the address of a server that takes connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}
