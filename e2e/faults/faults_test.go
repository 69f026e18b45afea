package faults

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postern/app"
	"postern/cli/consumer"
	"postern/config"
	"postern/e2e/capture"
	"postern/e2e/rig"
	"postern/event"
	"postern/store"
)

func TestFailedStartExplainsAndChangesNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, folder string)
		env     []string
		args    []string
		status  int
		want    []string
	}{
		"a foreign data file": {
			prepare: func(t *testing.T, folder string) { write(t, filepath.Join(folder, "data", "postern.db"), "my diary\n") },
			status:  78, want: []string{"data/postern.db", "not a Postern data file", "move this one away"},
		},
		"a damaged data file": {
			prepare: func(t *testing.T, folder string) {
				path := filepath.Join(folder, "data", "postern.db")
				s, err := store.Open(store.Options{Path: path, Buckets: app.Buckets()})
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(path, 3*int64(os.Getpagesize())); err != nil {
					t.Fatal(err)
				}
			},
			status: 78, want: []string{"data/postern.db", "damaged", "put back a copy", "postern check data/postern.db"},
		},
		"an unknown key in the configuration": {
			prepare: func(t *testing.T, folder string) {
				write(t, filepath.Join(folder, "config.toml"), "[server]\nlissten = \"x\"\n")
			},
			status: 78, want: []string{"config.toml", "server.lissten", "did you mean server.listen"},
		},
		"a port in use": {
			env: []string{"SERVER_LISTEN=" + taken.Addr().String()}, status: 1, want: []string{"address already in use", "server.listen"},
		},
		"damaged secrets": {
			prepare: func(t *testing.T, folder string) { write(t, filepath.Join(folder, "data", "secrets.json"), "{") },
			status:  78, want: []string{"secrets", "delete it"},
		},
		"an unknown command": {args: []string{"sevre"}, status: 2, want: []string{"unknown command", "serve"}},
		"an unknown flag":    {args: []string{"serve", "--prot", "1"}, status: 2, want: []string{"prot", "usage: postern serve"}},
		"a bad user id":      {args: []string{"token", "user", "--id", "me"}, status: 2, want: []string{"--id", "UUID"}},
		"a bad life":         {args: []string{"token", "user", "--ttl", "0s"}, status: 2, want: []string{"--ttl"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if c.prepare != nil {
				c.prepare(t, folder)
			}
			before := contents(t, folder)
			status, output := rig.Program(t, folder, c.env, c.args...)
			if status != c.status {
				t.Errorf("exit status %d, want %d", status, c.status)
			}
			for _, want := range c.want {
				if !strings.Contains(output, want) {
					t.Errorf("the output does not tell %q:\n%s", want, output)
				}
			}
			if c.prepare != nil && contents(t, folder)["data/postern.db"] != before["data/postern.db"] {
				t.Error("the data file was changed")
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		all[filepath.ToSlash(name)] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestSecondProcessOnTheFileIsRefused(t *testing.T) {
	w := rig.NewWorld(t)
	w.Start()
	status, output := rig.Program(t, w.Folder, []string{"STORE_PATH=" + w.DataFile()}, "serve")
	if status != 1 || !strings.Contains(output, "already running") {
		t.Errorf("status %d: %s", status, output)
	}
	w.Stop()
}

func TestFirstStartNeedsNoConfiguration(t *testing.T) {
	folder := t.TempDir()
	run := func() string {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), rig.AsProgram+"=1", "SERVER_LISTEN=127.0.0.1:0")
		out := &capture.Buffer{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(30 * time.Second); !strings.Contains(out.String(), "msg=ready"); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("never ready:\n%s", out.String())
			}
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("stop: %v\n%s", err, out.String())
		}
		return out.String()
	}
	first := run()
	cfg := config.Default()
	cfg.Store.Path = filepath.Join(folder, "data", "postern.db")
	sec, made, err := config.LoadSecrets(cfg)
	if err != nil || made {
		t.Fatal(made, err)
	}
	if !strings.Contains(first, sec.GlobalAuthToken) || strings.Contains(first, sec.JWTSecret) {
		t.Errorf("the first start printed:\n%s", first)
	}
	if second := run(); strings.Contains(second, sec.GlobalAuthToken) {
		t.Errorf("the second start shows the key again:\n%s", second)
	}
	// Every part stops, the last started first.
	order := []string{"listener", "batch engine", "instances", "webhook queue and relay", "log of deliveries", "websocket hub", "store"}
	at := -1
	for _, part := range order {
		next := strings.Index(first, "part=\""+part+"\"")
		if next < 0 {
			next = strings.Index(first, "part="+part+" ")
		}
		if next <= at {
			t.Errorf("%s is not stopped in its turn:\n%s", part, first)
		}
		at = next
	}
}

// TestADeadOrFailingReceiverLosesNothing takes the receiver away, then lets it
// answer 500, and kills the program in between: all events arrive in the end.
func TestADeadOrFailingReceiverLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel() // it waits more than it works
	w := rig.NewWorld(t)
	var failing atomic.Bool
	good := consumer.Receive(http.StatusOK, w.Got)
	w.Hook.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if failing.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		good.ServeHTTP(rw, r)
	})
	w.Start()
	token := w.Pair("red")
	failing.Store(true)
	recipients := make([]string, 20)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("49173000%04d", i+1)
	}
	b := w.CreateBatch("deaf", []string{"red"}, recipients)
	w.Await("the end of the batch", func() bool { return w.Batch(b.ID).Status == event.BatchIsCompleted })
	if n := w.Seen(string(event.BatchCompleted)); n != 0 {
		t.Fatalf("a failing receiver took %d events", n)
	}
	w.Kill()
	addr := w.Hook.Listener.Addr().String()
	w.Hook.Close() // nothing listens now
	w.Start()
	w.AwaitOnline("red", token)

	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	back := httptest.NewUnstartedServer(good)
	back.Listener.Close()
	back.Listener = l
	back.Start()
	t.Cleanup(back.Close)
	w.Await("all events", func() bool {
		return w.Seen(string(event.BatchCreated)) == 1 && w.Seen(string(event.BatchProgress)) == 20 && w.Seen(string(event.BatchCompleted)) == 1
	})
	w.AwaitOutbox()
	w.Stop()
	w.CheckOutbox(b.ID)
}
