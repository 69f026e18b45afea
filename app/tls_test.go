package app

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
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

	"postern/app/certificate/certificatetest"
	"postern/cli/consumer"
	"postern/config"
)

// useFiles makes the program serve the certificate of an authority.
func useFiles(cfg *config.Config, a *certificatetest.Authority) {
	cfg.Server.TLSCert, cfg.Server.TLSKey = filepath.Join(a.Folder, "cert.pem"), filepath.Join(a.Folder, "key.pem")
}

// secureSockets returns the program with TLS.
func secureSockets(t *testing.T, a *certificatetest.Authority) *socketRig {
	t.Helper()
	cfg := config.Default()
	cfg.Server.Listen, cfg.Store.Path = "127.0.0.1:0", filepath.Join(t.TempDir(), "p.db")
	useFiles(cfg, a)
	sec := config.NewSecrets()
	s := &socketRig{t: t, key: consumer.Key(sec.GlobalAuthToken), owner: uuid.New()}
	s.run(cfg, sec)
	s.api.HTTP = *a.Client(true)
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
	a := certificatetest.New(t)
	serial := a.Issue(time.Now().Add(time.Hour))
	s := secureSockets(t, a)
	if !strings.HasPrefix(s.URL(), "https://127.0.0.1:") || !strings.HasPrefix(s.Dashboard(), "https://127.0.0.1:") {
		t.Errorf("%s %s", s.URL(), s.Dashboard())
	}
	if got := serialOf(t, a.Client(false), s.URL()); got != serial {
		t.Errorf("certificate %d", got)
	}
	s.instance("shop")
	ws, resp, err := websocket.Dial(t.Context(), strings.Replace(s.URL(), "https", "wss", 1)+"/ws/global/events?event=*", &websocket.DialOptions{
		HTTPClient: a.Client(true), HTTPHeader: http.Header{"Authorization": {"Bearer " + s.user}},
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
	old := a.Client(false)
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
	a := certificatetest.New(t)
	first := a.Issue(time.Now().Add(time.Hour))
	s := secureSockets(t, a)
	kept := a.Client(true)
	if got := serialOf(t, kept, s.URL()); got != first {
		t.Fatalf("certificate %d", got)
	}
	var done atomic.Bool
	var asked atomic.Int64
	var clients sync.WaitGroup
	for k := range 8 {
		clients.Go(func() {
			c := a.Client(k%2 == 0)
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
		serial := a.Issue(time.Now().Add(time.Hour))
		for deadline := time.Now().Add(20 * time.Second); serialOf(t, a.Client(false), s.URL()) != serial; time.Sleep(20 * time.Millisecond) {
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

// TestReloadRefusesAnExpiredCertificate while the one before it is valid.
func TestReloadRefusesAnExpiredCertificate(t *testing.T) {
	a := certificatetest.New(t)
	serial := a.Issue(time.Now().Add(time.Hour))
	s := secureSockets(t, a)
	a.Issue(time.Now().Add(-time.Minute))
	if err := s.Reload(s.cfg); err == nil || !strings.Contains(err.Error(), "cert.pem ended at ") {
		t.Errorf("the reload returned %v", err)
	}
	if got := serialOf(t, a.Client(false), s.URL()); got != serial {
		t.Errorf("certificate %d", got)
	}
}

// TestReloadReplacesAnExpiredCertificate by another: neither is better.
func TestReloadReplacesAnExpiredCertificate(t *testing.T) {
	a := certificatetest.New(t)
	a.Issue(time.Now().Add(-time.Hour))
	s := secureSockets(t, a)
	ended := time.Now().Add(-time.Minute)
	a.Issue(ended)
	if err := s.Reload(s.cfg); err != nil || s.certFiles.Expires().Unix() != ended.Unix() {
		t.Errorf("the certificate until %s: %v", s.certFiles.Expires(), err)
	}
}

func TestAStartWithoutAUsableCertificateIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*certificatetest.Authority){
		"no file": func(a *certificatetest.Authority) { _ = os.Remove(filepath.Join(a.Folder, "key.pem")) },
		"garbage": func(a *certificatetest.Authority) { a.Write("cert.pem", []byte("garbage")) },
		"the key of another": func(a *certificatetest.Authority) {
			a.Write("key.pem", a.OtherKey())
		},
	} {
		a := certificatetest.New(t)
		a.Issue(time.Now().Add(time.Hour))
		spoil(a)
		cfg := config.Default()
		cfg.Server.Listen, cfg.Store.Path = "127.0.0.1:0", filepath.Join(t.TempDir(), "p.db")
		useFiles(cfg, a)
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
