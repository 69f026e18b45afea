package baileys

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/e2e/capture"
	"postern/e2e/rig"
	"postern/sandbox"
)

// leastNode is the first version of Node.js that Baileys runs on.
const leastNode = 20

// limit bounds each wait.
const limit = 20 * time.Second

// source holds the program, its package.json and lock file, seen from the top folder.
var source = filepath.Join("e2e", "baileys", "client")

// installed returns a folder with the program and what its lock file names. It skips the
// test unless BAILEYS is set and node and npm are there.
func installed(t *testing.T) string {
	t.Helper()
	if os.Getenv("BAILEYS") == "" {
		t.Skip("needs npm's registry: run it by `make baileys`")
	}
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not there: Baileys runs on Node.js and comes from npm", tool)
		}
	}
	version, err := exec.CommandContext(t.Context(), "node", "-p", "process.versions.node").Output()
	major, _, _ := strings.Cut(string(version), ".")
	if n, parsed := strconv.Atoi(major); err != nil || parsed != nil || n < leastNode {
		t.Skipf("node is %s: Baileys needs %d or newer", strings.TrimSpace(string(version)), leastNode)
	}
	folder, err := install()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// install runs npm ci once, into a folder of the user's cache named by what is installed.
var install = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json", "client.mjs"} {
		if files[name], err = os.ReadFile(filepath.Join(source, name)); err != nil {
			return "", err
		}
		if name != "client.mjs" {
			sum.Write(files[name])
		}
	}
	folder := filepath.Join(cache, "postern-baileys", hex.EncodeToString(sum.Sum(nil)[:8]))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return "", err
		}
	}
	done := filepath.Join(folder, "installed")
	if _, err := os.Stat(done); err == nil {
		return folder, nil
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--omit=peer", "--no-audit", "--no-fund")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return folder, os.WriteFile(done, nil, 0o600)
})

// baileys is a process that runs the library.
type baileys struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	log *capture.Buffer

	mu      sync.Mutex // guards everything below
	wake    chan struct{}
	events  []line
	answers map[int]line
	lastID  int
	ended   bool
}

// line is what the program writes.
type line struct {
	ID    int             `json:"id"`
	Value json.RawMessage `json:"value"`
	Error string          `json:"error"`
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// start runs the program against the sandbox. auth is the folder of its credentials.
func start(t *testing.T, s *sandbox.Server, auth string) *baileys {
	t.Helper()
	folder := installed(t)
	endpoint := s.Endpoint()
	at, err := url.Parse(endpoint.URL)
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, endpoint.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	b := &baileys{t: t, log: &capture.Buffer{}, wake: make(chan struct{}), answers: map[int]line{}}
	b.cmd = exec.Command("node", "client.mjs")
	b.cmd.Dir, b.cmd.Stderr = folder, b.log
	b.cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+ca, "SANDBOX_PORT="+at.Port(),
		"SANDBOX_ROOT_KEY="+hex.EncodeToString(endpoint.RootKey[:]), "AUTH_FOLDER="+auth)
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() { defer close(read); b.read(out) }()
	t.Cleanup(func() {
		_ = b.in.Close()
		_ = b.cmd.Process.Kill()
		<-read
		_ = b.cmd.Wait()
		if t.Failed() || os.Getenv("BAILEYS_LOG") != "" {
			t.Logf("Baileys said:\n%s", b.log)
		}
	})
	return b
}

// end closes the connection and ends the process.
func (b *baileys) end() {
	b.t.Helper()
	b.call(nil, "end")
	_ = b.in.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.ended {
		wake := b.wake
		b.mu.Unlock()
		<-wake
		b.mu.Lock()
	}
}

// poll looks until ok.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

func (b *baileys) read(out io.Reader) {
	for lines := bufio.NewReader(out); ; {
		raw, err := lines.ReadBytes('\n')
		var l line
		if err == nil {
			err = json.Unmarshal(raw, &l)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			b.t.Errorf("%v: %.500s", err, raw)
		}
		b.mu.Lock()
		switch {
		case err != nil:
			b.ended = true
		case l.Event != "":
			b.events = append(b.events, l)
		default:
			b.answers[l.ID] = l
		}
		close(b.wake)
		b.wake = make(chan struct{})
		b.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// await waits until ok, which is called with b.mu held.
func (b *baileys) await(what string, ok func() bool) {
	b.t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		b.mu.Lock()
		done, ended, wake := ok(), b.ended, b.wake
		b.mu.Unlock()
		if done {
			return
		}
		if ended {
			b.t.Fatalf("%s: Baileys has ended; its events:\n%s", what, b.said(0))
		}
		select {
		case <-wake:
		case <-timer.C:
			b.t.Fatalf("%s: not within %v; events of Baileys:\n%s", what, limit, b.said(0))
		}
	}
}

// said lists the events from one on.
func (b *baileys) said(from int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var text strings.Builder
	for _, e := range b.events[from:] {
		fmt.Fprintf(&text, "  %s %.2000s\n", e.Event, e.Data)
	}
	return text.String()
}

// seen returns the number of events so far.
func (b *baileys) seen() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.events)
}

// try calls a method of the socket, or an action of the program.
func (b *baileys) try(do string, args ...any) (json.RawMessage, error) {
	b.t.Helper()
	b.mu.Lock()
	b.lastID++
	id := b.lastID
	b.mu.Unlock()
	if args == nil {
		args = []any{}
	}
	raw, err := json.Marshal(map[string]any{"id": id, "do": do, "args": args})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(raw, '\n')); err != nil {
		b.t.Fatalf("%s: %v; events of Baileys:\n%s", do, err, b.said(0))
	}
	var answer line
	b.await(do, func() bool {
		a, ok := b.answers[id]
		answer = a
		return ok
	})
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return answer.Value, nil
}

// call is try for what must succeed; out may be nil.
func (b *baileys) call(out any, do string, args ...any) {
	b.t.Helper()
	raw, err := b.try(do, args...)
	if err == nil && out != nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", do, err)
	}
}

// event waits for an event after the first ones whose data holds all of want, and returns
// its data. A list holds an object if one of its entries does.
func (b *baileys) event(from int, name, want string) json.RawMessage {
	b.t.Helper()
	var wanted any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		b.t.Fatalf("%s: %v", want, err)
	}
	var found json.RawMessage
	b.await(name+" with "+want, func() bool {
		i := slices.IndexFunc(b.events[from:], func(e line) bool {
			var data any
			return e.Event == name && json.Unmarshal(e.Data, &data) == nil && holds(data, wanted)
		})
		if i >= 0 {
			found = b.events[from+i].Data
		}
		return i >= 0
	})
	return found
}

// holds is rig.Holds, for lists also if one entry holds what is wanted.
func holds(got, want any) bool {
	if list, ok := got.([]any); ok {
		if _, ok := want.(map[string]any); ok {
			return slices.ContainsFunc(list, func(entry any) bool { return holds(entry, want) })
		}
	}
	object, ok := got.(map[string]any)
	wanted, isObject := want.(map[string]any)
	if !ok || !isObject {
		return rig.Holds(got, want)
	}
	for key, value := range wanted {
		if !holds(object[key], value) {
			return false
		}
	}
	return true
}
