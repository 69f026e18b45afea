package proxies

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/e2e/rig"
	"postern/whatsapp/proxy/proxytest"
)

// TestTheReverseProxiesOfThePageWork: the configurations of docs/operation.md, with no
// more changed than addresses and files, in front of the real program, to which they are
// a proxy by an address and one by the socket.
func TestTheReverseProxiesOfThePageWork(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program and proxies")
	}
	for _, front := range fronts {
		for _, socket := range []bool{false, true} {
			t.Run(fmt.Sprint(front.name, " by the socket: ", socket), func(t *testing.T) {
				front.skipWithout(t)
				w := rig.NewWorld(t)
				path := filepath.Join(t.TempDir(), "s")
				w.Env = []string{"SERVER_BASE_PATH=/postern", "SERVER_BASE_URL=https://tools.example.org", "SERVER_TRUSTED_PROXIES=127.0.0.1,unix", "SERVER_SOCKET=" + path, "SERVER_SOCKET_MODE=0666"}
				w.Start()
				at := rig.FreeAddress(t)
				config := block(t, "docs/operation.md", front.kind)
				to := strings.TrimPrefix(w.API.Base, "http://")
				if socket {
					config = strings.ReplaceAll(config, "http://127.0.0.1:8084", "http://unix:"+path)
					to = "unix/" + path
				}
				config = strings.ReplaceAll(config, "127.0.0.1:8084", to)
				run(t, front.command(t, config, at, "tools.example.org"))
				serves(t, w, at)
				w.Stop()
			})
		}
	}
}

// front is a reverse proxy that the pages have a configuration for.
type front struct {
	name string // of the program
	kind string // of the block of code
	// command makes the command that runs it with config at an address, with a certificate for sites.
	command func(t *testing.T, config, at string, sites ...string) *exec.Cmd
}

var fronts = []front{{"nginx", "nginx", nginx}, {"caddy", "caddyfile", caddy}}

func (f front) skipWithout(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath(f.name); err != nil {
		t.Skipf("%s is not here; Debian has it", f.name)
	}
}

// block returns the one block of code of that kind on a page.
func block(t *testing.T, page, kind string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)\n```"+kind+"\n(.*?)```").FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("the page has %d blocks of %s", len(found), kind)
	}
	return string(found[0][1])
}

// run runs a proxy until the test has ended. It is asked to end and not killed, as the end
// of the test's context would: its workers would live on.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = 5 * time.Second // a process that it left behind may hold these
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("it says %s", said.String())
		}
	})
}

func nginx(t *testing.T, config, at string, sites ...string) *exec.Cmd {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o755); err != nil { // its workers have another user
		t.Fatal(err)
	}
	config = strings.ReplaceAll(config, "listen 443 ssl", "listen "+at+" ssl")
	config = regexp.MustCompile(`/etc/ssl/[a-z.]*example\.org`).ReplaceAllString(config, filepath.Join(folder, "tls"))
	ownCertificate(t, filepath.Join(folder, "tls"), sites)
	whole := "daemon off; user root; worker_processes 1; pid " + folder + "/pid; error_log stderr;\nevents {}\nhttp {\naccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		whole += kind + "_temp_path " + filepath.Join(folder, kind) + ";\n"
	}
	path := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(path, []byte(whole+config+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(context.WithoutCancel(t.Context()), "nginx", "-c", path, "-p", folder)
}

func caddy(t *testing.T, config, at string, sites ...string) *exec.Cmd {
	folder := t.TempDir()
	ownCertificate(t, filepath.Join(folder, "tls"), sites)
	// A certificate of ours, for there is no authority here.
	port := at[strings.LastIndexByte(at, ':'):]
	config = strings.Replace(config, strings.Join(sites, ", ")+" {", "https://"+strings.Join(sites, port+", https://")+port+" {\n tls "+folder+"/tls.pem "+folder+"/tls.key", 1)
	path := filepath.Join(folder, "Caddyfile")
	if err := os.WriteFile(path, []byte("{\n admin off\n auto_https disable_redirects\n}\n"+config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "caddy", "run", "--config", path, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	return cmd
}

// ownCertificate writes one for the names that no authority signed.
func ownCertificate(t *testing.T, path string, names []string) {
	t.Helper()
	cert, key := proxytest.PEM(t, proxytest.SelfSigned(t, x509.Certificate{DNSNames: names}))
	for name, raw := range map[string][]byte{".pem": cert, ".key": key} {
		if err := os.WriteFile(path+name, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// through returns a client for which every host is the proxy at an address, and which has an
// address of its own.
func through(at string) *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext(ctx, "tcp", at)
		},
	}}
}

// serves looks at all that a proxy has to hand on, from an address of its own.
func serves(t *testing.T, w *rig.World, at string) {
	t.Helper()
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	host := "tools.example.org:" + port
	client := through(at)
	get := func(path string, header http.Header) (status int, text string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		res, err := client.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = res.Body.Close() }()
		raw, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(raw)
	}
	w.Await("the proxy", func() bool {
		status, _ := get("/postern/ready", nil)
		return status == http.StatusOK
	})
	_, shell := get("/postern/", nil)
	main := regexp.MustCompile(`src="(dashboard/[0-9a-f]{16}/main\.js)"`).FindStringSubmatch(shell)
	if main == nil {
		t.Fatalf("the page names no module: %.300s", shell)
	}
	for path, want := range map[string]string{
		"/postern": "<title>Postern</title>", "/postern/" + main[1]: "loadSession",
		"/postern/openapi.json": `"url":"https://tools.example.org/postern"`, "/postern/docs": `href="/postern/openapi.json"`,
	} {
		if status, text := get(path, nil); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d without %s", path, status, want)
		}
	}
	if status, _ := get("/postern/instance", http.Header{"Apikey": {"guessed, and guessed wrong"}, "X-Forwarded-For": {"198.51.100.7"}}); status != http.StatusUnauthorized {
		t.Errorf("a guess: %d", status)
	}
	w.Await("the client's address in the log", func() bool { return strings.Contains(w.Output.String(), "address=127.0.0.2 credential=wrong") })
	if strings.Contains(w.Output.String(), "address=198.51.100.7") {
		t.Error("what the client wrote counts")
	}
	ws, _, err := websocket.Dial(t.Context(), "wss://"+host+"/postern/ws/global/events?event=*&token="+w.User, &websocket.DialOptions{
		HTTPClient: client, HTTPHeader: http.Header{"Origin": {"https://" + host}},
	})
	if err != nil {
		t.Fatalf("a page's WebSocket: %v", err)
	}
	_ = ws.CloseNow()
	big := bytes.Repeat([]byte("x"), 3<<20) // more than a proxy takes by itself
	res, err := client.Post("https://"+host+"/postern/instance/absent/send/media-file", "multipart/form-data; boundary=x", bytes.NewReader(big))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a large body: %s", res.Status)
	}
}
