package diagnosis

import (
	"archive/zip"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"postern/cli/consumer"
)

// unzipped returns what a bundle holds, by name.
func unzipped(t *testing.T, path string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name] = string(text)
	}
	return all
}

// ofAny are the texts that every bundle has, and ofRunning those that only a running
// program can tell.
var (
	ofAny     = []string{"README.txt", "version.txt", "schema.txt", "configuration.toml", "doctor.txt", "stats.txt"}
	ofRunning = []string{"log.txt", "metrics-1.txt", "metrics-2.txt", "heap.txt", "goroutine.txt"}
)

func TestSupportBundleOfRunningAndStoppedProgram(t *testing.T) {
	t.Parallel() // it waits more than it works
	o := newOperator(t, "LOG_FORMAT=json")
	red := o.Pair("red-shop")
	o.Call(consumer.Bearer(red), http.MethodPut, "/instance/red-shop/webhook", map[string]any{"url": "http://127.0.0.1:1/in", "events": map[string]bool{}}, nil)
	if out := o.Says(0, `{"bucket":"instance","owner":"instance","rows":1,`, "stats", "--json"); !strings.Contains(out, `"newest":"20`) {
		t.Errorf("stats of a running program: %s", out)
	}
	folder := t.TempDir()
	file, before, began := filepath.Join(folder, "s.zip"), o.Files(), time.Now()
	o.Says(0, file+": 11 texts\n", "support", file)
	if took := time.Since(began); took < 10*time.Second {
		t.Errorf("the metrics are taken twice, ten seconds apart; all took %v", took)
	}
	is := unzipped(t, file)
	for name, words := range map[string]string{
		"README.txt": "last two", "version.txt": "postern dev", "schema.txt": "instance_name", "configuration.toml": `global_auth_token = "********"`,
		"doctor.txt": "of instance-1: the connection was refused", "stats.txt": "instance_name", "log.txt": `"instance":"instance-1"`,
		"metrics-1.txt": "postern_build_info", "metrics-2.txt": "postern_store_commits_total", "heap.txt": "heap profile:", "goroutine.txt": "goroutine profile:",
	} {
		if !strings.Contains(is[name], words) {
			t.Errorf("%s has no %q:\n%.2000s", name, words, is[name])
		}
	}
	if len(is) != len(ofAny)+len(ofRunning) || strings.Contains(is["README.txt"], "Missing") {
		t.Errorf("it has %d texts: %s", len(is), is["README.txt"])
	}
	for name, text := range is {
		if strings.Contains(text, "red-shop") {
			t.Errorf("%s names the instance", name)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	o.Says(1, "already exists", "support", file)
	o.Says(2, "FILE is missing", "support")
	o.Says(2, "unexpected argument", "support", "a", "b")
	o.Says(2, "unknown flag: --confg; did you mean --config?", "support", "--confg", "x", file)
	o.Says(1, "no such file or directory", "support", filepath.Join(folder, "nowhere", "s.zip"))
	o.Await("the copies to be gone", func() bool { return slices.Equal(before, o.Files()) })

	o.Stop()
	o.Says(0, "6 texts, 5 more are missing", "support", file+"-stopped")
	is = unzipped(t, file+"-stopped")
	for _, name := range ofAny {
		if is[name] == "" {
			t.Errorf("of a stopped program there is no %s", name)
		}
	}
	for _, name := range ofRunning {
		if name != "metrics-2.txt" && !strings.Contains(is["README.txt"], name+": only a running program has it") {
			t.Errorf("it does not say that %s is missing:\n%s", name, is["README.txt"])
		}
	}
	if !strings.Contains(is["doctor.txt"], "instance-1") || strings.Contains(is["doctor.txt"], "red-shop") {
		t.Errorf("%s", is["doctor.txt"])
	}
	o.Says(0, "", "support", "--config", "nowhere.toml", file+"-wrong")
	if is := unzipped(t, file+"-wrong"); !strings.Contains(is["README.txt"], "configuration.toml: ") || !strings.Contains(is["doctor.txt"], "fault    configuration") {
		t.Errorf("%v", is)
	}
	if left, _ := os.ReadDir(folder); len(left) != 3 {
		t.Errorf("in the folder: %v", left)
	}
}

// TestTheProgramGathersTheSameBundleItself, one at a time, and continues when the client
// goes away.
func TestTheProgramGathersTheSameBundleItself(t *testing.T) {
	t.Parallel() // it waits more than it works
	o := newOperator(t)
	o.Pair("red-shop")
	key := consumer.Key(o.Sec.GlobalAuthToken)
	ask := func(ctx context.Context) (*http.Response, []byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.API.Base+"/admin/support", nil)
		if err != nil {
			return nil, nil, err
		}
		req.Header.Set(key.Name, key.Value)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp, body, err
	}
	gone, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		for {
			if _, _, err := ask(gone); err != nil {
				left <- err
				return
			}
		}
	}()
	o.Await("that one is gathered", func() bool {
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		resp, body, err := ask(soon)
		return err == nil && resp.StatusCode == http.StatusConflict && strings.Contains(string(body), "SUPPORT_RUNNING")
	})
	cancel()
	if err := <-left; err == nil {
		t.Error("it was answered after all")
	}
	var resp *http.Response
	var body []byte
	o.Await("the next one", func() bool {
		var err error
		resp, body, err = ask(t.Context())
		return err == nil && resp.StatusCode == http.StatusOK
	})
	file := filepath.Join(t.TempDir(), "s.zip")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	is := unzipped(t, file)
	for _, name := range slices.Concat(ofAny, ofRunning) {
		if is[name] == "" {
			t.Errorf("there is no %s: %s", name, is["README.txt"])
		}
	}
	if strings.Contains(is["README.txt"], "Missing") || !strings.Contains(is["configuration.toml"], "# environment STORE_PATH") || !strings.Contains(is["doctor.txt"], "ok ") {
		t.Errorf("%s\n%s\n%s", is["README.txt"], is["configuration.toml"], is["doctor.txt"])
	}
	for name, text := range is {
		if strings.Contains(text, "red-shop") || strings.Contains(text, o.Sec.GlobalAuthToken) {
			t.Errorf("%s has what is to be taken out", name)
		}
	}
	if kind, name := resp.Header.Get("Content-Type"), resp.Header.Get("Content-Disposition"); kind != "application/zip" || !strings.HasPrefix(name, `attachment; filename="postern-support-20`) {
		t.Errorf("answered as %s, %s", kind, name)
	}
}

func TestASupportBundleIsWholeOrNotThere(t *testing.T) {
	t.Parallel() // it waits more than it works
	o := newOperator(t)
	o.Pair("red")
	folder, before := t.TempDir(), o.Files()
	for _, after := range []time.Duration{50 * time.Millisecond, 500 * time.Millisecond, 4 * time.Second} {
		if status, took := o.Signalled(os.Interrupt, after, nil, "support", filepath.Join(folder, "s.zip")); status == 0 || took > 3*time.Second {
			t.Errorf("after %v: status %d, %v later", after, status, took)
		}
		if left, _ := os.ReadDir(folder); len(left) > 0 {
			t.Errorf("after %v: left %v", after, left)
		}
	}
	o.Await("the copies to be gone", func() bool { return slices.Equal(before, o.Files()) })
	o.Stop()
	tiny := t.TempDir()
	if err := unix.Mount("tmpfs", tiny, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	defer func() { _ = unix.Unmount(tiny, unix.MNT_DETACH) }()
	o.Says(1, "no space left", "support", filepath.Join(tiny, "s.zip"))
	if left, _ := os.ReadDir(tiny); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := unix.Mount("", tiny, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	o.Says(1, "read-only file system", "support", filepath.Join(tiny, "s.zip"))
}
