package bench

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/config"
	"postern/e2e/rig"
	"postern/httpapi/tokens"
)

// process is Postern in a process of its own.
type process struct {
	api  *consumer.Client
	key  consumer.Credential
	user string
	pid  int
	end  func() // kills it
	stop func() // in order
}

// secrets are those of every process, so that tokens survive its restart.
var secrets = config.NewSecrets()

// serve starts it on the data file of a folder and waits until it is ready. PROGRAM in the
// environment is a binary of another release to measure in its place.
func serve(b *testing.B, folder string, env ...string) process {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	if other := os.Getenv("PROGRAM"); other != "" {
		self = other
	}
	address := freeAddress(b)
	cmd := exec.Command(self, "serve")
	cmd.Dir = folder
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), rig.AsProgram+"=1", "SERVER_LISTEN="+address, "STORE_PATH="+filepath.Join(folder, "p.db"), "LOG_LEVEL=error",
		"AUTHENTICATION_GLOBAL_AUTH_TOKEN="+secrets.GlobalAuthToken, "AUTHENTICATION_JWT_SECRET="+secrets.JWTSecret)
	cmd.Env = append(cmd.Env, env...)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := sync.OnceFunc(func() { _ = cmd.Wait() })
	p := process{
		api: consumer.NewClient("http://" + address), key: consumer.Key(secrets.GlobalAuthToken), pid: cmd.Process.Pid,
		end:  func() { _ = cmd.Process.Kill(); ended() },
		stop: func() { _ = cmd.Process.Signal(syscall.SIGTERM); ended() },
	}
	b.Cleanup(p.end)
	if p.user, err = tokens.ForUser([]byte(secrets.JWTSecret), uuid.New(), time.Hour, time.Now()); err != nil {
		b.Fatal(err)
	}
	for begin := time.Now(); p.api.Call(b.Context(), consumer.Credential{}, http.MethodGet, "/ready", nil, nil) != nil; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			b.Fatal("never ready")
		}
	}
	return p
}

// call must succeed.
func (p process) call(b *testing.B, by consumer.Credential, method, path string, in any) {
	b.Helper()
	if err := p.api.Call(b.Context(), by, method, path, in, nil); err != nil {
		b.Fatal(err)
	}
}

// instance makes one and returns its credential.
func (p process) instance(b *testing.B, name string) consumer.Credential {
	b.Helper()
	var created struct{ Auth struct{ Token string } }
	if err := p.api.Call(b.Context(), p.key, http.MethodPost, "/instance", map[string]any{"instanceName": name}, &created); err != nil {
		b.Fatal(err)
	}
	return consumer.Bearer(created.Auth.Token)
}

// freeAddress is one without a listener.
func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
