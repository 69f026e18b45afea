// Package packages tests what `make dist` makes, as who installs it meets it. `make
// packages` runs it: it builds releases, and wants root, a mirror of Debian, rpm, podman
// and qemu-user. What is missing is said, and its test skipped.
package packages

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// folder has all that the tests build, short since sockets lie in it.
var folder string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if folder, err = os.MkdirTemp("", "pk"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		if err := os.Chmod(folder, 0o755); err != nil { // users of the tests' own pass through
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// older and newer are the versions of the two releases.
const (
	older = "v1.2.3"
	newer = "v1.2.4"
)

// release returns the folder of the older release for linux/amd64.
func release(t *testing.T) string {
	t.Helper()
	source := copyOfSource(t, "first")
	return built(t, source, older, "linux/amd64")
}

// upgrade is that of the newer one, whose example of a configuration is another.
func upgrade(t *testing.T) string {
	t.Helper()
	source := copyOfSource(t, "newer")
	example := filepath.Join(source, "config.toml.example")
	raw, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	if mark := []byte("# Of the newer release.\n"); !strings.HasPrefix(string(raw), string(mark)) {
		if err := os.WriteFile(example, append(mark, raw...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return built(t, source, newer, "linux/amd64")
}

// wanted skips a test that costs minutes unless it is asked for.
func wanted(t *testing.T) {
	t.Helper()
	if os.Getenv("PACKAGES") == "" {
		t.Skip("it builds releases, which takes minutes: make packages")
	}
	for _, tool := range []string{"git", "make", "go"} {
		needs(t, tool)
	}
}

func needs(t *testing.T, tool string) (path string) {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("%s is not here", tool)
	}
	return path
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can have another root folder and other users")
	}
}

var copies sync.Mutex

// copyOfSource copies the files that are, or will be, under version control.
func copyOfSource(t *testing.T, name string) string {
	t.Helper()
	wanted(t)
	copies.Lock()
	defer copies.Unlock()
	to := filepath.Join(folder, name)
	if _, err := os.Stat(to); err == nil {
		return to
	}
	files := run(t, filepath.Join("..", ".."), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	for file := range strings.SplitSeq(strings.Trim(files, "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join("..", "..", file))
		if os.IsNotExist(err) {
			continue // deleted and not yet said
		}
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(to, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// built runs make dist in a copy of the source, once for each copy and platform.
func built(t *testing.T, source, version, platforms string) string {
	t.Helper()
	out := filepath.Join(source, "dist-"+strings.NewReplacer("/", "-", ",", "-").Replace(platforms))
	if _, err := os.Stat(out); err != nil {
		run(t, source, "make", "dist", "VERSION="+version, "COMMIT=0123456789abcdef0123456789abcdef01234567", "SOURCE_DATE_EPOCH=1767225600",
			"PLATFORMS="+platforms, "DIST="+out)
	}
	return out
}

// run runs a program to its good end and returns what it printed.
func run(t *testing.T, in, name string, args ...string) string {
	t.Helper()
	out, err := tried(t, in, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func tried(t *testing.T, in, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = in
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// one returns the only file of the folder that fits.
func one(t *testing.T, in, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(in, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v %v", pattern, found, err)
	}
	return found[0]
}

// freeAddress is one without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// await polls until the program at addr is ready.
func await(t *testing.T, addr string, patience time.Duration, said fmt.Stringer) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		res, err := http.Get("http://" + addr + "/ready")
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("not ready within %v: %v\n%s", patience, err, said)
		}
	}
}

// call asks the API with a key.
func call(t *testing.T, method, url, key, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("apikey", key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		t.Fatalf("%s: %d %s (%v)", url, res.StatusCode, answer, err)
	}
	return string(answer)
}
