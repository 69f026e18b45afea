//go:build unix

package certificate_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"postern/app"
	"postern/app/certificate"
	"postern/app/certificate/certificatetest"
	"postern/config"
	"postern/e2e/capture"
	"postern/whatsapp/proxy/proxytest"
)

const (
	pebbleVersion = "v2.10.1"
	pebbleName    = "postern.example.org" // of the program, for the authority
)

// pebble is Let's Encrypt's small authority for tests. It looks at port for the
// challenge, wherever a name leads.
type pebble struct {
	t          *testing.T
	ca         *certificatetest.Authority // of its own address
	directory  string
	management string
	cmd        *exec.Cmd
	args       []string
}

// thePebble is built once for all tests, into a folder that goes with them.
var thePebble struct {
	once   sync.Once
	folder string
	err    error
}

// TestMain has four of the parallel tests run at once, unless -parallel says otherwise:
// they wait, however few processors there are.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4")
	status := m.Run()
	if thePebble.folder != "" {
		_ = os.RemoveAll(thePebble.folder)
	}
	os.Exit(status)
}

func built() (program string, err error) {
	thePebble.once.Do(func() {
		if thePebble.folder, thePebble.err = os.MkdirTemp("", "pebble"); thePebble.err != nil {
			return
		}
		build := exec.CommandContext(context.Background(), "go", "install", "github.com/letsencrypt/pebble/v2/cmd/pebble@"+pebbleVersion)
		build.Dir, build.Env = thePebble.folder, append(os.Environ(), "GOBIN="+thePebble.folder, "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			thePebble.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	return filepath.Join(thePebble.folder, "pebble"), thePebble.err
}

// newPebble builds and starts it, or skips the test.
func newPebble(t *testing.T, port int) *pebble {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a certificate authority")
	}
	program, err := built()
	if err != nil {
		t.Skipf("pebble cannot be built here: %v", err)
	}
	p := &pebble{t: t, ca: certificatetest.New(t)}
	p.ca.Issue(time.Now().Add(time.Hour))
	p.ca.Write("root.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.ca.Cert.Raw}))
	p.directory, p.management = "127.0.0.1:"+fmt.Sprint(freePort(t)), "127.0.0.1:"+fmt.Sprint(freePort(t))
	settings, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": p.directory, "managementListenAddress": p.management, "tlsPort": port, "httpPort": 1,
		"certificate": filepath.Join(p.ca.Folder, "cert.pem"), "privateKey": filepath.Join(p.ca.Folder, "key.pem"),
		"retryAfter": map[string]int{"authz": 1, "order": 1}, "keyAlgorithm": "ecdsa",
		"profiles": map[string]any{"default": map[string]any{"description": "x", "validityPeriod": 7776000}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.ca.Write("pebble.json", settings)
	p.args = []string{program, "-config", filepath.Join(p.ca.Folder, "pebble.json"), "-dnsserver", loopbackDNS(t)}
	p.start()
	return p
}

func (p *pebble) start() {
	p.t.Helper()
	p.cmd = exec.CommandContext(p.t.Context(), p.args[0], p.args[1:]...)
	p.cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	var said bytes.Buffer
	p.cmd.Stdout, p.cmd.Stderr = &said, &said
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		p.stop()
		if p.t.Failed() {
			p.t.Logf("the authority says %s", said.String())
		}
	})
	comes(p.t, "the authority", func() bool {
		resp, err := p.ca.Client(false).Get("https://" + p.directory + "/dir")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	})
}

func (p *pebble) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// configure makes the program use this authority.
func (p *pebble) configure(c *config.Config, port int) {
	c.Server.Listen = fmt.Sprint("127.0.0.1:", port)
	c.Server.TLSDomain = []string{pebbleName}
	c.Server.TLSAuthority, c.Server.TLSAuthorityCA = "https://"+p.directory+"/dir", filepath.Join(p.ca.Folder, "root.pem")
}

// trusting returns a client that takes what this life of the authority issues, and knows
// where the program is.
func (p *pebble) trusting(port int) *http.Client {
	p.t.Helper()
	resp, err := p.ca.Client(false).Get("https://" + p.management + "/roots/0")
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, _ := io.ReadAll(resp.Body)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(raw) {
		p.t.Fatalf("no root: %s", raw)
	}
	return named(&tls.Config{RootCAs: roots}, port)
}

// named connects to the program on this machine, whatever the URL's host is.
func named(secure *tls.Config, port int) *http.Client {
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		ForceAttemptHTTP2: true, DisableKeepAlives: true, TLSClientConfig: secure,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprint("127.0.0.1:", port))
		},
	}}
}

// lastPort is the port that freePort returned last, counted from firstPort. It begins
// anywhere, since other packages are tested at the same time.
var lastPort = func() *atomic.Uint32 {
	var p atomic.Uint32
	p.Store(rand.Uint32N(ports))
	return &p
}()

// The ports of freePort are below those that the system hands out itself: a connection of
// another test cannot take one before the program listens there.
const (
	firstPort = 10_000
	ports     = 10_000
)

func freePort(t *testing.T) int {
	t.Helper()
	for range ports {
		port := firstPort + int(lastPort.Add(1)%ports)
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// loopbackDNS returns a name server, by TCP, to which every name is this machine.
func loopbackDNS(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerNames(c)
		}
	}()
	return l.Addr().String()
}

func answerNames(c net.Conn) {
	defer func() { _ = c.Close() }()
	for {
		var size uint16
		if binary.Read(c, binary.BigEndian, &size) != nil {
			return
		}
		question := make([]byte, size)
		var m dnsmessage.Message
		if _, err := io.ReadFull(c, question); err != nil || m.Unpack(question) != nil || len(m.Questions) == 0 {
			return
		}
		m.Response, m.Additionals = true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			}}
		}
		answer, err := m.Pack()
		if err != nil {
			return
		}
		_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
	}
}

// program is a running program and its log.
type program struct {
	*app.App
	path string // of the data file
	log  capture.Buffer
}

// start starts the program with certificates of an authority, in a folder that may have
// been used before.
func start(t *testing.T, folder string, change func(*config.Config)) *program {
	t.Helper()
	cfg := config.Default()
	cfg.Store.Path = filepath.Join(folder, "p.db")
	cfg.Server.Socket = filepath.Join(folder, "s")
	change(cfg)
	p := &program{path: cfg.Store.Path}
	var err error
	if p.App, err = app.Start(t.Context(), cfg, config.NewSecrets(), slog.New(slog.NewTextHandler(&p.log, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(context.Background()) })
	return p
}

// comes waits until ok is true.
func comes(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// TestACMECertificateIsServedAcrossRestarts: by the challenge at the listener itself, by
// HTTP/2 and to who names another host; after a restart from the folder beside the data
// file, though the authority is down.
func TestACMECertificateIsServedAcrossRestarts(t *testing.T) {
	t.Parallel() // it waits more than it works
	port := freePort(t)
	p := newPebble(t, port)
	folder := t.TempDir()
	s := start(t, folder, func(c *config.Config) { p.configure(c, port) })
	client := p.trusting(port)
	resp, err := client.Get("https://" + pebbleName + "/ready")
	if err != nil {
		t.Fatalf("%v; the log has %s", err, s.log.String())
	}
	_ = resp.Body.Close()
	first := resp.TLS.PeerCertificates[0].SerialNumber
	if resp.TLS.PeerCertificates[0].PublicKeyAlgorithm != x509.ECDSA {
		t.Errorf("a key of %v", resp.TLS.PeerCertificates[0].PublicKeyAlgorithm)
	}
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK || resp.TLS.PeerCertificates[0].DNSNames[0] != pebbleName {
		t.Errorf("%s %s %v", resp.Proto, resp.Status, resp.TLS.PeerCertificates[0].DNSNames)
	}
	for _, host := range []string{"localhost", "192.0.2.1", strings.ToUpper(pebbleName)} {
		resp, err := named(&tls.Config{InsecureSkipVerify: true}, port).Get("https://" + host + "/health")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.TLS.PeerCertificates[0].SerialNumber.Cmp(first) != 0 {
			t.Errorf("%s got another certificate", host)
		}
	}
	if info, err := os.Stat(s.path + ".acme"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if kept, err := stored(s.path); err != nil || kept.Leaf.SerialNumber.Cmp(first) != 0 { // by which commands know the program
		t.Errorf("another is kept: %v", err)
	}
	files, err := os.ReadDir(s.path + ".acme")
	if err != nil || len(files) == 0 {
		t.Errorf("%v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	p.stop()

	s = start(t, folder, func(c *config.Config) { p.configure(c, port) })
	resp, err = client.Get("https://" + pebbleName + "/ready")
	if err != nil {
		t.Fatalf("the authority is down: %v; the log has %s", err, s.log.String())
	}
	_ = resp.Body.Close()
	if resp.TLS.PeerCertificates[0].SerialNumber.Cmp(first) != 0 || resp.StatusCode != http.StatusOK {
		t.Errorf("another certificate, or %s", resp.Status)
	}
}

// TestWithoutAFolderACertificateIsHadToo and the log says that it is not kept.
func TestWithoutAFolderACertificateIsHadToo(t *testing.T) {
	t.Parallel() // it waits more than it works
	port := freePort(t)
	p := newPebble(t, port)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "p.db.acme"), nil, 0o600); err != nil { // a file in its place: for root nothing is read-only
		t.Fatal(err)
	}
	s := start(t, folder, func(c *config.Config) { p.configure(c, port) })
	resp, err := p.trusting(port).Get("https://" + pebbleName + "/ready")
	if err != nil {
		t.Fatalf("%v; the log has %s", err, s.log.String())
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.Contains(s.log.String(), "cannot store certificates") {
		t.Errorf("%s; the log has %s", resp.Status, s.log.String())
	}
}

// stored returns the certificate that is kept beside the data file at path.
func stored(path string) (tls.Certificate, error) {
	cfg := config.Default()
	cfg.Store.Path, cfg.Server.TLSDomain = path, []string{pebbleName}
	return certificate.Stored(cfg)
}

// noAuthority configures an authority without a listener.
func noAuthority(port int) func(*config.Config) {
	return func(c *config.Config) {
		c.Server.Listen = fmt.Sprint("127.0.0.1:", port)
		c.Server.TLSDomain, c.Server.TLSAuthority = []string{pebbleName}, "https://127.0.0.1:1/dir"
	}
}

// keep writes a certificate into the folder as an earlier life has, good for the times
// given.
func keep(t *testing.T, folder string, from, until time.Time) (serial *big.Int) {
	t.Helper()
	serial = big.NewInt(4711)
	cert, key := proxytest.PEM(t, proxytest.SelfSigned(t, x509.Certificate{SerialNumber: serial, NotBefore: from, NotAfter: until, DNSNames: []string{pebbleName}}))
	dir := filepath.Join(folder, "p.db.acme")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, pebbleName), append(key, cert...), 0o600); err != nil {
		t.Fatal(err)
	}
	return serial
}

// TestLastCertificateIsServedDuringAuthorityOutage, whatever the clock says of it,
// the log says so, and the program is ready.
func TestLastCertificateIsServedDuringAuthorityOutage(t *testing.T) {
	for name, times := range map[string][2]time.Duration{
		"good": {-time.Hour, 60 * 24 * time.Hour}, "over": {-100 * 24 * time.Hour, -time.Hour}, "a clock that is behind": {24 * time.Hour, 90 * 24 * time.Hour},
	} {
		port, folder := freePort(t), t.TempDir()
		serial := keep(t, folder, time.Now().Add(times[0]), time.Now().Add(times[1]))
		s := start(t, folder, noAuthority(port))
		for range 3 {
			resp, err := named(&tls.Config{InsecureSkipVerify: true}, port).Get("https://" + pebbleName + "/ready")
			if err != nil {
				t.Fatalf("%s: %v; the log has %s", name, err, s.log.String())
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK || resp.TLS.PeerCertificates[0].SerialNumber.Cmp(serial) != 0 {
				t.Errorf("%s: %s, certificate %v", name, resp.Status, resp.TLS.PeerCertificates[0].SerialNumber)
			}
		}
		if name != "good" && (strings.Count(s.log.String(), "still serving the last one") != 1 || !strings.Contains(s.log.String(), "the certificate authority cannot be reached")) {
			t.Errorf("%s: the log has %s", name, s.log.String())
		}
		_ = s.Stop(t.Context())
	}
}

// TestStartWithoutCertificateLogsTheCause: a handshake fails at once, the
// socket serves, and the stop does not wait.
func TestStartWithoutCertificateLogsTheCause(t *testing.T) {
	port, folder := freePort(t), t.TempDir()
	s := start(t, folder, noAuthority(port))
	begin := time.Now()
	for range 3 {
		if _, err := named(&tls.Config{InsecureSkipVerify: true}, port).Get("https://" + pebbleName + "/ready"); err == nil {
			t.Error("there is a certificate")
		}
	}
	socket := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.Socket())
	}}}
	resp, err := socket.Get("http://postern/ready")
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
		t.Errorf("at the socket: %s", resp.Status)
	}
	if n := strings.Count(s.log.String(), "no certificate from the authority"); n != 1 {
		t.Errorf("the authority was asked %d times; the log has %s", n, s.log.String())
	}
	if err := s.Stop(t.Context()); err != nil || time.Since(begin) > 15*time.Second {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
}

// TestHangingAuthorityDelaysNoHandshake: the stored certificate is served a second later, and the
// stop ends the question.
func TestHangingAuthorityDelaysNoHandshake(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	port, folder := freePort(t), t.TempDir()
	keep(t, folder, time.Now().Add(-100*24*time.Hour), time.Now().Add(-time.Hour))
	s := start(t, folder, func(c *config.Config) {
		noAuthority(port)(c)
		c.Server.TLSAuthority = "https://" + silent.Addr().String() + "/dir"
	})
	begin := time.Now()
	resp, err := named(&tls.Config{InsecureSkipVerify: true}, port).Get("https://" + pebbleName + "/ready")
	if err != nil || time.Since(begin) > 5*time.Second {
		t.Fatalf("after %v: %v", time.Since(begin), err)
	}
	_ = resp.Body.Close()
	begin = time.Now()
	if err := s.Stop(t.Context()); err != nil || time.Since(begin) > 5*time.Second {
		t.Errorf("the stop took %v: %v", time.Since(begin), err)
	}
}

func TestInvalidAuthorityFileStopsTheStart(t *testing.T) {
	for _, content := range []string{"", "no certificate"} {
		cfg := config.Default()
		cfg.Store.Path = filepath.Join(t.TempDir(), "p.db")
		noAuthority(0)(cfg)
		cfg.Server.TLSAuthorityCA = filepath.Join(t.TempDir(), "ca.pem")
		if content != "" {
			if err := os.WriteFile(cfg.Server.TLSAuthorityCA, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := app.Start(t.Context(), cfg, config.NewSecrets(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "server.tls.acme_ca") {
			t.Errorf("%v", err)
		}
	}
}
