package app

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"nhooyr.io/websocket"

	"postern/cli/consumer"
	"postern/config"
)

// authority signs certificates for 127.0.0.1.
type authority struct {
	t      *testing.T
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
	folder string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, folder: t.TempDir()}
	a.key = a.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

// issue writes a new certificate, one file after the other, and returns its number.
func (a *authority) issue(until time.Time) (serial int64) {
	a.t.Helper()
	key := a.newKey()
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(100 + a.serial), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write("cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	a.write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	return 100 + a.serial
}

func (a *authority) write(name string, content []byte) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.folder, name), content, 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// configure has the program serve by the certificate.
func (a *authority) configure(cfg *config.Config) {
	cfg.Server.TLSCert, cfg.Server.TLSKey = filepath.Join(a.folder, "cert.pem"), filepath.Join(a.folder, "key.pem")
}

// client trusts the authority and makes a connection for each request, or keeps it.
func (a *authority) client(keep bool) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: !keep, TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

// secureSockets returns the program with TLS.
func secureSockets(t *testing.T, a *authority) *socketRig {
	t.Helper()
	cfg := config.Default()
	cfg.Server.Listen, cfg.Store.Path = "127.0.0.1:0", filepath.Join(t.TempDir(), "p.db")
	a.configure(cfg)
	sec := config.NewSecrets()
	s := &socketRig{t: t, key: consumer.Key(sec.GlobalAuthToken), owner: uuid.New()}
	s.run(cfg, sec)
	s.api.HTTP = *a.client(true)
	s.user = s.mint(time.Hour)
	return s
}

// serialOf returns the number of the certificate that answers.
func serialOf(t *testing.T, c *http.Client, url string) int64 {
	t.Helper()
	resp, err := c.Get(url + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
}

func TestTLSServesAPIAndWebSockets(t *testing.T) {
	a := newAuthority(t)
	serial := a.issue(time.Now().Add(time.Hour))
	s := secureSockets(t, a)
	if !strings.HasPrefix(s.URL(), "https://127.0.0.1:") || !strings.HasPrefix(s.Dashboard(), "https://127.0.0.1:") {
		t.Errorf("%s %s", s.URL(), s.Dashboard())
	}
	if got := serialOf(t, a.client(false), s.URL()); got != serial {
		t.Errorf("certificate %d", got)
	}
	s.instance("shop")
	ws, resp, err := websocket.Dial(t.Context(), strings.Replace(s.URL(), "https", "wss", 1)+"/ws/global/events?event=*", &websocket.DialOptions{
		HTTPClient: a.client(true), HTTPHeader: http.Header{"Authorization": {"Bearer " + s.user}},
	})
	if err != nil {
		t.Fatal(err, resp)
	}
	_ = ws.CloseNow()
	plain, err := http.Get(strings.Replace(s.URL(), "https", "http", 1) + "/health")
	if err == nil {
		_ = plain.Body.Close()
		if plain.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS: %d", plain.StatusCode)
		}
	}
	old := a.client(false)
	old.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS11
	if resp, err := old.Get(s.URL() + "/health"); err == nil {
		_ = resp.Body.Close()
		t.Error("TLS 1.1 was spoken")
	}
	if _, err := http.Get(s.URL() + "/health"); !errors.As(err, new(*tls.CertificateVerificationError)) {
		t.Errorf("a client that does not know the authority: %v", err)
	}
}

func TestCertificateReloadUnderLoadBreaksNoConnection(t *testing.T) {
	t.Parallel() // it waits more than it works
	a := newAuthority(t)
	first := a.issue(time.Now().Add(time.Hour))
	s := secureSockets(t, a)
	kept := a.client(true)
	if got := serialOf(t, kept, s.URL()); got != first {
		t.Fatalf("certificate %d", got)
	}
	var done atomic.Bool
	var asked atomic.Int64
	var clients sync.WaitGroup
	for k := range 8 {
		clients.Go(func() {
			c := a.client(k%2 == 0)
			for !done.Load() {
				resp, err := c.Get(s.URL() + "/health")
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				asked.Add(1)
			}
		})
	}
	for range 3 {
		serial := a.issue(time.Now().Add(time.Hour))
		for deadline := time.Now().Add(20 * time.Second); serialOf(t, a.client(false), s.URL()) != serial; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("it is not read again")
			}
		}
	}
	done.Store(true)
	clients.Wait()
	if got := serialOf(t, kept, s.URL()); got != first || asked.Load() < 50 {
		t.Errorf("the connection that was open before has %d; %d requests", got, asked.Load())
	}
}

func TestUnreadableCertificateKeepsThePreviousOne(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel() // it waits more than it works
	a := newAuthority(t)
	serial := a.issue(time.Now().Add(time.Hour))
	s := secureSockets(t, a)
	for name, spoil := range map[string]func(){
		"garbage": func() { a.write("cert.pem", []byte("garbage")) },
		"the key of another": func() {
			a.write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: mustPKCS8(t, a.newKey())}))
		},
		"a file that is gone":    func() { _ = os.Remove(filepath.Join(a.folder, "cert.pem")) },
		"one that ended already": func() { a.issue(time.Now().Add(-time.Minute)) },
	} {
		spoil()
		time.Sleep(certificateEvery + 100*time.Millisecond)
		for range 3 {
			if got := serialOf(t, a.client(false), s.URL()); got != serial {
				t.Errorf("%s: certificate %d", name, got)
			}
		}
		if !strings.Contains(s.log.String(), "cannot reload the certificate") {
			t.Errorf("%s: nothing is logged", name)
		}
		serial = a.issue(time.Now().Add(time.Hour))
		time.Sleep(certificateEvery + 100*time.Millisecond)
		if got := serialOf(t, a.client(false), s.URL()); got != serial {
			t.Errorf("after %s: certificate %d", name, got)
		}
	}
}

// TestUnreadableCertificateIsRetried: one whose files got the right
// owner after they were written, or that came while no file could be opened, looks the
// same afterwards.
func TestUnreadableCertificateIsRetried(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel() // it waits more than it works
	a := newAuthority(t)
	a.issue(time.Now().Add(time.Hour))
	s := secureSockets(t, a)
	serial, at, path := a.issue(time.Now().Add(time.Hour)), time.Now().Add(time.Minute), filepath.Join(a.folder, "key.pem")
	right, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	become := func(content []byte) {
		a.write("new.pem", content)
		if err := errors.Join(os.Chtimes(filepath.Join(a.folder, "new.pem"), at, at), os.Rename(filepath.Join(a.folder, "new.pem"), path)); err != nil {
			t.Fatal(err)
		}
	}
	become(bytes.Repeat([]byte("x"), len(right)))
	for range 3 {
		time.Sleep(certificateEvery + 100*time.Millisecond)
		if got := serialOf(t, a.client(false), s.URL()); got == serial {
			t.Fatal("it is served without its key")
		}
	}
	if n := strings.Count(s.log.String(), "cannot reload the certificate"); n != 1 {
		t.Errorf("said %d times", n)
	}
	become(right)
	time.Sleep(certificateEvery + 100*time.Millisecond)
	if got := serialOf(t, a.client(false), s.URL()); got != serial {
		t.Errorf("certificate %d, not %d", got, serial)
	}
}

func mustPKCS8(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestAStartWithoutAUsableCertificateIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*authority){
		"no file": func(a *authority) { _ = os.Remove(filepath.Join(a.folder, "key.pem")) },
		"garbage": func(a *authority) { a.write("cert.pem", []byte("garbage")) },
		"the key of another": func(a *authority) {
			a.write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: mustPKCS8(t, a.newKey())}))
		},
	} {
		a := newAuthority(t)
		a.issue(time.Now().Add(time.Hour))
		spoil(a)
		cfg := config.Default()
		cfg.Server.Listen, cfg.Store.Path = "127.0.0.1:0", filepath.Join(t.TempDir(), "p.db")
		a.configure(cfg)
		if started, err := Start(t.Context(), cfg, config.NewSecrets(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "server.tls.cert and server.tls.key: ") {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				_ = started.Stop(t.Context())
			}
		}
	}
}

func TestTheOriginsOfTheConfigurationMayCall(t *testing.T) {
	cfg := config.Default()
	cfg.Server.Listen, cfg.Store.Path = "127.0.0.1:0", filepath.Join(t.TempDir(), "p.db")
	cfg.Server.CORSOrigins = []string{"https://app.example.org"}
	s := &socketRig{t: t}
	s.run(cfg, config.NewSecrets())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, s.URL()+"/instance", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "https://app.example.org")
	req.Header.Set("Access-Control-Request-Method", "POST")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example.org" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}
