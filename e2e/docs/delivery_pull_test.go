package docs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/capture"
	"postern/e2e/rig"
)

// ackKiller stands between a loop and the program, whose address a restart changes. Once armed, it passes the next
// acknowledgement on, and has the loop ended before it gets the answer: what a loop acknowledges before it has written
// it is lost then.
type ackKiller struct {
	program atomic.Pointer[url.URL]
	armed   atomic.Bool
	acked   chan struct{} // an acknowledgement was accepted; the loop has ended before this is read again
}

func newAckKiller(t *testing.T) (k *ackKiller, base string) {
	t.Helper()
	k = &ackKiller{acked: make(chan struct{})}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(k.program.Load()) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }, // it was killed
		ModifyResponse: func(r *http.Response) error {
			if strings.HasSuffix(r.Request.URL.Path, "/ack") && r.StatusCode == http.StatusOK && k.armed.CompareAndSwap(true, false) {
				k.acked <- struct{}{}
				k.acked <- struct{}{}
			}
			return nil
		},
	})
	t.Cleanup(server.Close)
	return k, server.URL
}

// leadTo sets the address of the program.
func (k *ackKiller) leadTo(t *testing.T, program string) {
	t.Helper()
	to, err := url.Parse(program)
	if err != nil {
		t.Fatal(err)
	}
	k.program.Store(to)
}

// TestLoopsOfThePageLoseNoEvent runs each loop of the page while the program and the loop are killed.
func TestLoopsOfThePageLoseNoEvent(t *testing.T) {
	for _, loop := range []struct {
		file  string
		needs []string
		start []string
	}{
		{"pull.sh", []string{"curl", "jq", "sh"}, []string{"sh", "pull.sh"}},
		{"pull.py", []string{"python3"}, []string{"python3", "pull.py"}},
		{"pull.go", []string{"go"}, []string{"./pull"}},
	} {
		t.Run(loop.file, func(t *testing.T) {
			t.Parallel()
			for _, program := range loop.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("there is no %s", program)
				}
			}
			folder := t.TempDir()
			m := regexp.MustCompile("(?s)`" + loop.file + "`:\n\n```[a-z]+\n(.*?\n)```\n").FindStringSubmatch(deliveryPage(t))
			if m == nil {
				t.Fatalf("the page has no %s", loop.file)
			}
			if err := os.WriteFile(filepath.Join(folder, loop.file), []byte(m[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			if loop.file == "pull.go" {
				build := exec.CommandContext(t.Context(), "go", "build", "-o", "pull", "pull.go")
				build.Dir = folder
				if said, err := build.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, said)
				}
			}
			s := rig.NewSendScene(t)
			s.Call(consumer.Bearer(s.Token), http.MethodPut, "/instance/shop/webhook/options", json.RawMessage(`{"durable":true}`), nil)
			killer, base := newAckKiller(t)
			killer.leadTo(t, s.API.Base)
			run := func() (stop func()) {
				cmd := exec.Command(loop.start[0], loop.start[1:]...)
				out := &capture.Buffer{}
				cmd.Dir, cmd.Stdout, cmd.Stderr = folder, out, out
				cmd.Env = append(os.Environ(), "URL="+base+"/instance/shop/events", "TOKEN="+s.Token)
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				return func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() }
			}
			stop := run()
			defer func() { stop() }()
			var want []string
			for i := range 12 {
				text := fmt.Sprintf("event %d;", i)
				want = append(want, text)
				killer.armed.Store(i == 9)
				s.Do(t, rig.Act(rig.AnneNumber, fmt.Sprintf(`{"do":"text","to":"$own","text":%q}`, text)))
				switch i {
				case 3:
					s.Kill()
					s.Start()
					killer.leadTo(t, s.API.Base)
					s.AwaitOnline(rig.SceneName, s.Token)
				case 7:
					stop()
					stop = run()
				case 9:
					select {
					case <-killer.acked:
					case <-time.After(40 * time.Second):
						t.Fatal("nothing is acknowledged")
					}
					stop()
					<-killer.acked
					stop = run()
				}
			}
			var got string
			deadline := time.Now().Add(30 * time.Second)
			for missing := want; len(missing) > 0 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
				content, _ := os.ReadFile(filepath.Join(folder, "events.jsonl"))
				got, missing = string(content), nil
				for _, text := range want {
					if !strings.Contains(got, text) {
						missing = append(missing, text)
					}
				}
			}
			for _, text := range want {
				if !strings.Contains(got, text) {
					t.Errorf("%s was lost", text)
				}
			}
			for lines := bufio.NewScanner(strings.NewReader(got)); lines.Scan(); {
				if !json.Valid(lines.Bytes()) {
					t.Errorf("no event: %s", lines.Text())
				}
			}
		})
	}
}
