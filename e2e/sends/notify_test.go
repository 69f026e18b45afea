package sends

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postern/e2e/rig"
	"postern/sandbox"
)

const anAlert = `{"status":"firing","labels":{"alertname":"DiskFull","instance":"db1"},"annotations":{"summary":"4 % are free"},"startsAt":"2026-11-20T09:30:00Z","fingerprint":"c6ea"}`

// TestKillDuringAlertSendsItAtMostOnce kills the program between the moment when
// the phone has the text and its acknowledgement: the next post of the alert, which comes
// with another one, tells that alone.
func TestKillDuringAlertSendsItAtMostOnce(t *testing.T) {
	s := rig.NewSendScene(t)
	path := s.Fill("/instance/$name/notify?to=") + rig.AnneNumber
	text := "🔴 *DiskFull*\n4 % are free\ninstance: db1\nsince 20 Nov 09:30 UTC"
	s.Sandbox.SetFaults(sandbox.Faults{AckDelay: time.Hour})
	ended := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, s.API.Base+path, strings.NewReader(`{"alerts":[`+anAlert+`]}`))
		if err == nil {
			req.Header.Set("Authorization", "Bearer "+s.Token)
			_, err = s.API.HTTP.Do(req) //nolint:bodyclose // killed
		}
		ended <- err
	}()
	s.Await("the text to be read", func() bool { return s.Decrypted(rig.AnneNumber, text) == 1 })
	s.Kill()
	if err := <-ended; err == nil {
		t.Error("the post was answered by a program that was killed")
	}
	s.Sandbox.SetFaults(sandbox.Faults{})
	s.Start()
	s.AwaitOnline(rig.SceneName, s.Token)
	other := strings.NewReplacer("db1", "db2", "c6ea", "c6eb").Replace(anAlert)
	for body, want := range map[string]string{
		anAlert:               `{"sent":0,"suppressed":1,"unknown":1}`,
		anAlert + "," + other: `{"sent":1,"suppressed":1,"unknown":1}`,
	} {
		if a := s.PostJSON(t, path, `{"alerts":[`+body+`]}`); a.Status != http.StatusOK || strings.TrimSpace(string(a.Body)) != want {
			t.Errorf("%s: %d %s, want %s", body, a.Status, a.Body, want)
		}
	}
	s.Await("the other to be read", func() bool { return s.Decrypted(rig.AnneNumber, strings.Replace(text, "db1", "db2", 1)) == 1 })
	if n := s.Decrypted(rig.AnneNumber, text); n != 1 {
		t.Errorf("the alert was read %d times", n)
	}
	s.Stop()
}

// alertmanager is a real one with the configuration of docs/notify.md, of which addresses,
// files and times are changed.
type alertmanager struct{ base string }

func startAlertmanager(t *testing.T, s *rig.SendScene, at string) *alertmanager {
	t.Helper()
	program, err := exec.LookPath("prometheus-alertmanager") // as Debian calls it
	if err != nil {
		if program, err = exec.LookPath("alertmanager"); err != nil {
			t.Skip("alertmanager is not here; Debian has it in the package prometheus-alertmanager")
		}
	}
	page, err := os.ReadFile("docs/notify.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)## Alertmanager\n.*?```yaml\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no configuration")
	}
	folder := t.TempDir()
	token, path := filepath.Join(folder, "token"), filepath.Join(folder, "alertmanager.yml")
	config := strings.NewReplacer(
		"http://127.0.0.1:8084", at, "4915155500003", rig.AnneNumber, "/etc/prometheus/postern-token", token, "/shop/", "/"+rig.SceneName+"/",
		"30s", "50ms", "5m", "200ms", "25h", "200ms",
	).Replace(string(found[1]))
	for name, content := range map[string]string{token: s.Token + "\n", path: config} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := rig.FreeAddress(t)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--config.file="+path, "--storage.path="+filepath.Join(folder, "data"), "--web.listen-address="+address, "--cluster.listen-address=")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("alertmanager says %s", said.String())
		}
	})
	a := &alertmanager{"http://" + address}
	s.Await("alertmanager to be ready", func() bool {
		res, err := http.Get(a.base + "/-/ready")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return a
}

// alerts hands it alerts as Prometheus does.
func (a *alertmanager) alerts(t *testing.T, alerts ...map[string]any) {
	t.Helper()
	raw, err := json.Marshal(alerts)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(a.base+"/api/v2/alerts", "application/json", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if said, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		t.Fatalf("alertmanager: %d %s", res.StatusCode, said)
	}
}

// posted returns how many posts it made.
func (a *alertmanager) posted(t *testing.T) int {
	t.Helper()
	res, err := http.Get(a.base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^alertmanager_notifications_total\{[^}]*integration="webhook"[^}]*\} (\d+)`).FindSubmatch(raw)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}

// TestAlertmanagerAlertIsSentOnce fires and resolves alerts in a real one, which posts
// its group again and again, through a kill of the program.
func TestAlertmanagerAlertIsSentOnce(t *testing.T) {
	s := rig.NewSendScene(t)
	// The program has another address after its kill.
	var now atomic.Pointer[url.URL]
	follow := func() {
		t.Helper()
		at, err := url.Parse(s.API.Base)
		if err != nil {
			t.Fatal(err)
		}
		now.Store(at)
	}
	follow()
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(now.Load()) }, ErrorLog: log.New(io.Discard, "", 0)})
	t.Cleanup(front.Close)
	a := startAlertmanager(t, s, front.URL)
	began := time.Now().Add(-12 * time.Minute).UTC().Truncate(time.Second)
	alert := func(instance string) map[string]any {
		return map[string]any{
			"labels":      map[string]string{"alertname": "DiskFull", "instance": instance, "severity": "page"},
			"annotations": map[string]string{"summary": instance + " is full"}, "startsAt": began.Format(time.RFC3339), "generatorURL": "http://prometheus.example.org/graph",
		}
	}
	fires := func(instance string) string {
		return fmt.Sprintf("🔴 *DiskFull*\n%s is full\nseverity: page · instance: %s\nsince %s\nhttp://prometheus.example.org/graph", instance, instance, began.Format("2 Jan 15:04 UTC"))
	}
	read := func(text string) {
		t.Helper()
		s.Await("the text to be read: "+text, func() bool { return s.Decrypted(rig.AnneNumber, text) == 1 })
	}
	more := func() {
		t.Helper()
		n := a.posted(t) + 3
		s.Await("more posts", func() bool { return a.posted(t) >= n })
	}
	a.alerts(t, alert("db1"))
	read(fires("db1"))
	more()
	a.alerts(t, alert("db1"), alert("db2"))
	read(fires("db2"))
	s.Kill()
	s.Start()
	follow()
	s.AwaitOnline(rig.SceneName, s.Token)
	more()
	over := alert("db1")
	over["endsAt"] = began.Add(10 * time.Minute).Format(time.RFC3339)
	a.alerts(t, over)
	read("🟢 *DiskFull* resolved\ndb1 is full\nseverity: page · instance: db1\nafter 10 min\nhttp://prometheus.example.org/graph")
	more()
	for _, text := range []string{fires("db1"), fires("db2")} {
		if n := s.Decrypted(rig.AnneNumber, text); n != 1 {
			t.Errorf("read %d times: %s", n, text)
		}
	}
	s.Stop()
}
