package rig

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/cli"
	"postern/cli/consumer"
	"postern/config"
	"postern/e2e/capture"
	"postern/httpapi/tokens"
	"postern/sandbox"
	"postern/sandbox/handset"
)

// AsProgram makes the test binary behave as the postern binary, so that tests
// can start, signal and kill the real program.
const AsProgram = "POSTERN_TEST_AS_PROGRAM"

// Main is the TestMain of every package whose tests start the program: the test
// binary, started again by one of them, is the program. before is done first then.
// The tests run in the top folder of the project; of those that are parallel, four at
// once, unless -parallel says otherwise: they wait for programs, however few processors
// there are.
func Main(m *testing.M, before ...func()) {
	if os.Getenv(AsProgram) == "1" {
		for _, f := range before {
			f()
		}
		os.Exit(cli.Main(os.Args[1:]))
	}
	handset.SetLogger(slog.New(slog.DiscardHandler)) // the sandboxes of the tests
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// World is everything around one Postern process: a sandbox and a receiver
// that live on when the process is killed.
type World struct {
	T       *testing.T
	Folder  string
	Sandbox *sandbox.Server
	Hook    *httptest.Server
	Sec     config.Secrets
	User    string
	Owner   uuid.UUID

	Cmd    *exec.Cmd
	Wait   func() error // for the end of cmd; any number of times
	Output *capture.Buffer
	API    *consumer.Client

	mu     sync.Mutex
	bodies map[string]int     // received webhooks by body
	kinds  map[string]int     // and by event
	log    []consumer.Webhook // all of them, when Keep is set
	Keep   bool
	Env    []string // more variables of the program

	Prepare func(*exec.Cmd) // changes how the program is started; nil: nothing
}

// NewWorld makes a network and a receiver; Start starts the program.
func NewWorld(t *testing.T) *World {
	t.Helper()
	return NewWorldAt(t, "127.0.0.1")
}

// NewWorldAt is NewWorld with network and receiver at another address of this machine.
func NewWorldAt(t *testing.T, host string) *World {
	t.Helper()
	w := &World{T: t, Folder: t.TempDir(), Sec: config.NewSecrets(), Owner: uuid.New(), bodies: map[string]int{}, kinds: map[string]int{}}
	var err error
	if w.Sandbox, err = sandbox.Open(sandbox.Config{Listen: net.JoinHostPort(host, "0")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Sandbox.Close() })
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	w.Hook = &httptest.Server{Listener: l, Config: &http.Server{Handler: consumer.Receive(http.StatusOK, w.Got)}} //nolint:gosec // a receiver of tests
	w.Hook.Start()
	t.Cleanup(w.Hook.Close)
	if w.User, err = tokens.ForUser([]byte(w.Sec.JWTSecret), w.Owner, time.Hour, time.Now()); err != nil {
		t.Fatal(err)
	}
	return w
}

// Got notes a webhook.
func (w *World) Got(r consumer.Webhook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bodies[string(r.Body)]++
	w.kinds[r.Event]++
	if w.Keep {
		w.log = append(w.log, r)
	}
}

// Seen counts the webhooks of a kind.
func (w *World) Seen(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kinds[kind]
}

// Webhooks returns all that came, in order, when Keep was set before the start.
func (w *World) Webhooks() []consumer.Webhook {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// Times counts how often a webhook with the body came.
func (w *World) Times(body []byte) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bodies[string(body)]
}

// DataFile returns the program's data file.
func (w *World) DataFile() string { return filepath.Join(w.Folder, "data", "postern.db") }

// Start starts the program and waits until it is ready.
func (w *World) Start() {
	w.T.Helper()
	addr := FreeAddress(w.T)
	w.Output = &capture.Buffer{}
	w.Launch(addr)
	w.API = consumer.NewClient("http://" + addr)
	w.API.HTTP.Transport = witnessed(w.T)
	w.Await("ready", func() bool {
		return w.API.Call(w.T.Context(), consumer.Credential{}, http.MethodGet, "/ready", nil, nil) == nil
	})
}

// Launch starts the program at addr and does not wait for it.
func (w *World) Launch(addr string) {
	w.T.Helper()
	endpoint := w.Sandbox.Endpoint()
	ca := filepath.Join(w.Folder, "ca.pem")
	if err := os.WriteFile(ca, endpoint.CA, 0o600); err != nil {
		w.T.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		w.T.Fatal(err)
	}
	cmd := exec.Command(self, "serve")
	cmd.Dir = w.Folder
	cmd.Stdout, cmd.Stderr = w.Output, w.Output
	cmd.Env = append(os.Environ(), AsProgram+"=1",
		"SERVER_LISTEN="+addr, "STORE_PATH="+w.DataFile(),
		"AUTHENTICATION_GLOBAL_AUTH_TOKEN="+w.Sec.GlobalAuthToken, "AUTHENTICATION_JWT_SECRET="+w.Sec.JWTSecret,
		"WEBHOOK_GLOBAL_URL="+w.Hook.URL, "WEBHOOK_GLOBAL_ENABLED=true",
		"WHATSAPP_ENDPOINT="+endpoint.URL, "WHATSAPP_ENDPOINT_CA="+ca, "WHATSAPP_ENDPOINT_ROOT_KEY="+fmt.Sprintf("%x", endpoint.RootKey[:]),
		"WHATSAPP_RECONNECT_INITIAL_DELAY=1",
	)
	cmd.Env = append(cmd.Env, w.Env...)
	if w.Prepare != nil {
		w.Prepare(cmd)
	}
	if err := cmd.Start(); err != nil {
		w.T.Fatal(err)
	}
	wait := sync.OnceValue(cmd.Wait)
	w.T.Cleanup(func() { _ = cmd.Process.Kill(); _ = wait() })
	w.Cmd, w.Wait = cmd, wait
}

// lastPort is where FreeAddress looked last, beginning anywhere.
var lastPort = func() *atomic.Uint32 {
	var p atomic.Uint32
	p.Store(rand.Uint32N(ports))
	return &p
}()

// The ports of FreeAddress are below those that systems give to who wants any: until the
// program listens there, it is not given out again.
const (
	firstPort = 20_000
	ports     = 12_000
)

// FreeAddress returns an address without a listener, which no other test of this package gets.
func FreeAddress(t *testing.T) string {
	t.Helper()
	for range ports {
		addr := fmt.Sprintf("127.0.0.1:%d", firstPort+lastPort.Add(1)%ports)
		if l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}

// Kill ends the program between any two instructions.
func (w *World) Kill() {
	_ = w.Cmd.Process.Signal(syscall.SIGKILL)
	_ = w.Wait()
}

// Stop ends the program in order and fails the test when it does not.
func (w *World) Stop() {
	w.T.Helper()
	_ = w.Cmd.Process.Signal(syscall.SIGTERM)
	if err := w.Wait(); err != nil {
		w.T.Errorf("stop: %v\n%s", err, w.Output)
	}
}

// patience is the time limit of a wait for a condition, for a machine under load.
const patience = 3 * time.Minute

// Await polls until ok, for as long as patience at most.
func (w *World) Await(what string, ok func() bool) {
	w.T.Helper()
	w.AwaitFor(patience, what, ok)
}

// AwaitFor polls until ok, for as long as limit at most. It polls less often when it has
// waited for a while: each look is work for the program that is waited for.
func (w *World) AwaitFor(limit time.Duration, what string, ok func() bool) {
	w.T.Helper()
	for began := time.Now(); !ok(); time.Sleep(min(5*time.Millisecond+time.Since(began)/50, 50*time.Millisecond)) {
		if time.Since(began) > limit {
			w.Kill()
			w.T.Fatalf("%s: not within %v; the program said:\n%s", what, limit, w.Output)
		}
	}
}

// Call calls the program, and ends the test unless the answer is a success.
func (w *World) Call(cred consumer.Credential, method, path string, in, out any) {
	w.T.Helper()
	if err := w.API.Call(w.T.Context(), cred, method, path, in, out); err != nil {
		w.Kill()
		w.T.Fatalf("%v; the program said:\n%s", err, w.Output)
	}
}

// Pair creates an instance and lets a new phone scan its code.
func (w *World) Pair(name string) (token string) {
	w.T.Helper()
	var created struct{ Auth struct{ Token string } }
	w.Call(consumer.Key(w.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": name}, &created)
	token = created.Auth.Token
	var connect struct{ Code string }
	w.Call(consumer.Bearer(token), http.MethodGet, "/instance/"+name+"/connect", nil, &connect)
	if _, err := w.Sandbox.AutoScan(connect.Code); err != nil {
		w.T.Fatal(err)
	}
	w.AwaitOnline(name, token)
	return token
}

// AwaitOnline waits until the instance is online.
func (w *World) AwaitOnline(name, token string) {
	w.T.Helper()
	w.Await(name+" online", func() bool {
		var status struct{ ConnectionStatus string }
		err := w.API.Call(w.T.Context(), consumer.Bearer(token), http.MethodGet, "/instance/"+name+"/connection/status", nil, &status)
		return err == nil && status.ConnectionStatus == "ONLINE"
	})
}
