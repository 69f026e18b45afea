package crash

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/config"
	"postern/e2e/powerloss"
	"postern/e2e/rig"
	"postern/httpapi/tokens"
)

// asRecorded makes the test binary, as the program, stop for its recorder.
const asRecorded = "POSTERN_TEST_RECORDED"

// stranger is who writes to the instance.
const stranger = "4917200000001"

const (
	imagesByDefault    = 40   // in `go test`; `make powerloss IMAGES=n` asks for more
	imagesPerRecording = 5000 // of some seconds
)

// TestPowerLossKeepsWhatTheProgramReported records the real program under
// load, with its own sandbox, in three lives on one disk: it is killed, a sync
// fails, it is stopped in order. Disks that a power cut may leave are held
// against all that it had said by then: to its callers, to the receiver of the
// webhooks, and on WebSockets.
func TestPowerLossKeepsWhatTheProgramReported(t *testing.T) {
	if testing.Short() {
		t.Skip("records a real process")
	}
	images := imagesByDefault
	if n, err := strconv.Atoi(os.Getenv("IMAGES")); err == nil && n > 0 {
		images = n
	}
	for seed := killSeed(); images > 0; seed++ {
		w := newWatched(t, seed)
		w.live(2*time.Second, w.kill)
		if runtime.GOARCH == "amd64" { // where the recorder can make a sync fail
			w.live(2*time.Second, w.failSync)
		}
		w.live(2*time.Second, w.terminate)
		n := min(images, imagesPerRecording)
		images -= n
		findings := w.try(n, nil)
		for _, err := range findings[:min(len(findings), 5)] {
			t.Error(err)
		}
		syncs, failed := w.recording.Syncs()
		t.Logf("SEED=%d: %d images of %d positions, %d syncs, %d failed; reported %v: %d findings",
			seed, n, w.recording.Pos(), syncs, failed, w.reported(), len(findings))
	}
}

// TestMissingSyncsAreDetected: with every fourth sync left
// out, the same images show it.
func TestMissingSyncsAreDetected(t *testing.T) {
	if testing.Short() {
		t.Skip("records a real process")
	}
	w := newWatched(t, 1)
	w.live(2*time.Second, w.terminate)
	var findings []error
	images := 0
	for ; len(findings) < 10 && images < 200; w.seed++ {
		findings = append(findings, w.try(40, func(n int) bool { return n%4 == 0 })...)
		images += 40
	}
	if len(findings) < 10 {
		t.Errorf("%d findings: %v", len(findings), findings)
	}
	t.Logf("%d of %d", len(findings), images)
}

// watched is a recorded program and all that it reported.
type watched struct {
	t         *testing.T
	seed      uint64
	folder    string
	recording *powerloss.Recording
	hook      *hookOfFacts
	api       *consumer.Client
	key       string // the API key, of secrets.json
	users     []*listener
	instance  struct{ name, token, number string }

	followed atomic.Int64 // the newest number of the instance's events that was heard

	goodSyncs atomic.Int64 // of the data file until one fails; negative: none will

	mu    sync.Mutex
	facts []fact
	heard map[string]bool // facts by their text
}

// fact is something that the program reported, and how an image is asked for it.
type fact struct {
	pos   int // from which it holds
	until int // and until which, 0 for ever
	kind  string
	text  string
	holds func(*afterCut) error
}

// note keeps a fact as reported now. Its text is reported once.
func (w *watched) note(kind, text string, holds func(*afterCut) error) {
	pos := w.recording.Pos()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.heard[kind+text] {
		w.heard[kind+text] = true
		w.facts = append(w.facts, fact{pos: pos, kind: kind, text: text, holds: holds})
	}
}

// end says that a fact need not hold from now on.
func (w *watched) end(kind, text string) {
	pos := w.recording.Pos()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.facts {
		if f := &w.facts[i]; f.kind == kind && f.text == text {
			f.until = pos
		}
	}
}

func (w *watched) reported() map[string]int {
	n := map[string]int{}
	for _, f := range w.facts {
		n[f.kind]++
	}
	return n
}

func newWatched(t *testing.T, seed uint64) *watched {
	t.Helper()
	w := &watched{t: t, seed: seed, heard: map[string]bool{}}
	var err error
	if w.folder, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if w.recording, err = powerloss.New(w.folder); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	file := filepath.Join(w.folder, "var", "lib", "postern.db")
	// Slow syncs are heard through: what is reported too early is reported in between.
	w.recording.Fault = func(c powerloss.Call) (fault powerloss.Fault) {
		if c.Name != "sync" {
			return fault
		}
		fault.Delay = time.Duration(rng.IntN(5)) * time.Millisecond
		if left := w.goodSyncs.Load(); c.Path == file && left >= 0 && w.goodSyncs.Add(-1) < 0 {
			fault.Err = syscall.EIO
		}
		return fault
	}
	w.goodSyncs.Store(-1)
	w.hook = newHookOfFacts(w)
	return w
}

// live runs the program under load for a while and has it ended.
func (w *watched) live(while time.Duration, end func(*powerloss.Process) (status int)) {
	w.t.Helper()
	p, output := w.launch()
	defer func() {
		if w.t.Failed() {
			raw, _ := os.ReadFile(output)
			w.t.Logf("the program said:\n%s", raw)
		}
	}()
	w.begin()
	w.load(while)
	want := end(p)
	exit, err := p.Wait()
	if err := errors.Join(err, w.recording.Err()); err != nil {
		w.t.Fatal(err)
	}
	if exit.ExitStatus() != want {
		w.t.Errorf("exit status %d, want %d", exit.ExitStatus(), want)
	}
}

func (w *watched) kill(p *powerloss.Process) (status int) {
	p.Kill()
	return -1
}

func (w *watched) terminate(p *powerloss.Process) (status int) {
	if err := syscall.Kill(p.Pid, syscall.SIGTERM); err != nil {
		w.t.Error(err)
	}
	return 0
}

// failSync makes one of the next syncs of the data file fail, of pages or of
// the meta page, while requests continue.
func (w *watched) failSync(*powerloss.Process) (status int) {
	w.goodSyncs.Store(int64(w.seed % 4))
	w.await("a failed sync", func() bool {
		w.load(500 * time.Millisecond)
		return w.goodSyncs.Load() < 0
	})
	return 3
}

func (w *watched) launch() (p *powerloss.Process, output string) {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := os.CreateTemp(w.t.TempDir(), "output-*")
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	addr := rig.FreeAddress(w.t)
	w.api = consumer.NewClient("http://" + addr)
	cmd := exec.Command(self, "serve")
	cmd.Dir = w.folder
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), rig.AsProgram+"=1", asRecorded+"=1", "PATH="+w.t.TempDir(),
		"SERVER_LISTEN="+addr, "STORE_PATH="+filepath.Join(w.folder, "var", "lib", "postern.db"),
		"SANDBOX_ENABLED=true", "SANDBOX_PATH="+filepath.Join(w.folder, "phones", "sandbox.db"),
		"WEBHOOK_GLOBAL_URL="+w.hook.URL+"/global", "WEBHOOK_GLOBAL_ENABLED=true", "WHATSAPP_RECONNECT_INITIAL_DELAY=1",
	)
	p, err = w.recording.Run(cmd)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		w.t.Skipf("tracing is not allowed here: %v", err)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(p.Kill)
	return p, out.Name()
}

// begin waits until the program is ready and, in its first life, makes what the
// load needs.
func (w *watched) begin() {
	w.t.Helper()
	w.await("ready", func() bool {
		return w.api.Call(w.t.Context(), consumer.Credential{}, http.MethodGet, "/ready", nil, nil) == nil
	})
	w.noteSecrets()
	w.note("media folder", "", func(d *afterCut) error {
		_, err := os.Stat(filepath.Join(d.folder, "var", "lib", "postern.db.media"))
		return err
	})
	if w.instance.name == "" {
		for range 2 {
			w.users = append(w.users, w.newListener())
		}
		w.instance.name, w.instance.token = "red", w.createInstance("red")
		w.call(consumer.Bearer(w.instance.token), http.MethodGet, "/instance/red/connect", nil)
	}
	w.await("online", func() bool {
		answer := w.call(consumer.Bearer(w.instance.token), http.MethodGet, "/instance/red/connection/status", nil)
		return strings.Contains(string(answer), `"ONLINE"`)
	})
	if w.instance.number == "" {
		var red struct{ OwnerJID string }
		answer := w.call(consumer.Bearer(w.instance.token), http.MethodGet, "/instance/red", nil)
		if err := json.Unmarshal(answer, &red); err != nil {
			w.t.Fatalf("%v: %s", err, answer)
		}
		w.instance.number, _, _ = strings.Cut(red.OwnerJID, "@")
		w.call(consumer.Key(w.key), http.MethodPost, "/sandbox/phones", map[string]any{"phone": stranger})
		w.keepEvents()
	}
	w.note("sandbox", "", func(d *afterCut) error { return d.hasSandbox() })
}

func (w *watched) await(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not within a minute", what)
		}
	}
}

// noteSecrets reads the secrets that the program made, by which it can be used.
func (w *watched) noteSecrets() {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.folder, "var", "lib", "secrets.json"))
	var sec config.Secrets
	if err := errors.Join(err, json.Unmarshal(raw, &sec)); err != nil {
		w.t.Fatal(err)
	}
	w.key = sec.GlobalAuthToken
	w.note("secrets", string(raw), func(d *afterCut) error { return d.hasFile(string(raw), "var", "lib", "secrets.json") })
}

func (w *watched) newListener() *listener {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.folder, "var", "lib", "secrets.json"))
	var sec config.Secrets
	if err := errors.Join(err, json.Unmarshal(raw, &sec)); err != nil {
		w.t.Fatal(err)
	}
	u := &listener{watched: w, id: uuid.New()}
	if u.token, err = tokens.ForUser([]byte(sec.JWTSecret), u.id, time.Hour, time.Now()); err != nil {
		w.t.Fatal(err)
	}
	return u
}

// try looks at images of the recording.
func (w *watched) try(images int, skip func(int) bool) []error {
	w.t.Helper()
	if err := w.recording.Err(); err != nil {
		w.t.Fatal(err)
	}
	folder, err := os.MkdirTemp("/dev/shm", "postern-images-*")
	if err != nil {
		folder = w.t.TempDir()
	}
	defer os.RemoveAll(folder)
	slices.SortStableFunc(w.facts, func(a, b fact) int { return a.pos - b.pos })
	c := powerloss.Campaign{Images: images, Seed: w.seed, Folder: folder, Skip: skip}
	for _, f := range w.facts {
		c.Near = append(c.Near, f.pos)
	}
	return w.recording.Try(c, w.check)
}
