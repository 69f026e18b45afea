//go:build unix

package certificate_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/app/certificate"
	"postern/config"
)

// gate returns a way to a server that is open once opened is closed.
func gate(t *testing.T, to string, opened <-chan struct{}) (addr string) {
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
			go func() {
				defer func() { _ = c.Close() }()
				select {
				case <-opened:
				case <-t.Context().Done():
					return
				}
				there, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to)
				if err != nil {
					return
				}
				defer func() { _ = there.Close() }()
				go func() { _, _ = io.Copy(there, c) }()
				_, _ = io.Copy(c, there)
			}()
		}
	}()
	return l.Addr().String()
}

// TestRenewalKeepsConnectionsOpen: until the authority has
// made another the kept one is served; then who connects gets the new one, who is
// connected stays so, no request fails, and the next start has the new one.
func TestRenewalKeepsConnectionsOpen(t *testing.T) {
	t.Parallel() // it waits more than it works
	port := freePort(t)
	p := newPebble(t, port)
	opened := make(chan struct{})
	way := gate(t, p.directory, opened)
	folder := t.TempDir()
	old := keep(t, folder, time.Now().Add(-80*24*time.Hour), time.Now().Add(10*24*time.Hour))
	configure := func(c *config.Config) {
		p.configure(c, port)
		c.Server.TLSAuthority = "https://" + way + "/dir"
	}
	s := start(t, folder, configure)

	anyone := &tls.Config{InsecureSkipVerify: true}
	connected := named(anyone, port)
	connected.Transport.(*http.Transport).DisableKeepAlives = false
	served := func(client *http.Client) *tls.ConnectionState {
		t.Helper()
		resp, err := client.Get("https://" + pebbleName + "/ready")
		if err != nil {
			t.Fatalf("%v; the log has %s", err, s.log.String())
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
		return resp.TLS
	}
	if got := served(connected).PeerCertificates[0].SerialNumber; got.Cmp(old) != 0 {
		t.Fatalf("before it can be renewed %v is served", got)
	}
	close(opened)
	comes(t, "another certificate", func() bool {
		if got := served(connected).PeerCertificates[0].SerialNumber; got.Cmp(old) != 0 {
			t.Fatalf("the connection was broken: it is a new one, with %v", got)
		}
		return served(named(anyone, port)).PeerCertificates[0].SerialNumber.Cmp(old) != 0
	})
	renewed := served(p.trusting(port)).PeerCertificates[0]
	if until := time.Until(renewed.NotAfter); until < 30*24*time.Hour || fmt.Sprint(renewed.DNSNames) != "["+pebbleName+"]" {
		t.Errorf("the new one is for %v, good for %v", renewed.DNSNames, until)
	}
	if kept, err := stored(s.path); err != nil || !kept.Leaf.Equal(renewed) {
		t.Errorf("another is kept: %v", err)
	}
	connected.CloseIdleConnections()
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	p.stop()
	s = start(t, folder, configure)
	if got := served(named(anyone, port)).PeerCertificates[0]; !got.Equal(renewed) {
		t.Errorf("after a restart %v is served", got.SerialNumber)
	}
}

// acmeOf returns the certificates of domains, kept in a folder.
func acmeOf(t *testing.T, folder, authority string, domains ...string) *certificate.ACME {
	t.Helper()
	cfg := config.Default()
	cfg.Store.Path = filepath.Join(folder, "p.db")
	cfg.Server.TLSDomain, cfg.Server.TLSAuthority = domains, authority
	a, err := certificate.NewACME(cfg, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop(context.Background()) })
	return a
}

// TestExpiresIsTheEndOfTheServedCertificate: a domain without any certificate has ended, once the authority failed.
func TestExpiresIsTheEndOfTheServedCertificate(t *testing.T) {
	folder := t.TempDir()
	ends := time.Now().Add(3 * 24 * time.Hour).Truncate(time.Second).UTC()
	keep(t, folder, time.Now().Add(-time.Hour), ends)
	a := acmeOf(t, folder, "https://127.0.0.1:1/dir", pebbleName)
	if !a.Expires().IsZero() {
		t.Errorf("before the start: %s", a.Expires())
	}
	a.Start()
	comes(t, "the stored certificate", func() bool { return a.Expires().Equal(ends) })
	none := acmeOf(t, t.TempDir(), "https://127.0.0.1:1/dir", pebbleName)
	none.Start()
	comes(t, "an answer", func() bool { return !none.Expires().IsZero() })
	if at := none.Expires(); time.Since(at).Abs() > time.Minute {
		t.Errorf("without a certificate: %s", at)
	}
}

// TestStopEndsTheWaitForSeveralDomains while the authority is silent about the first one.
func TestStopEndsTheWaitForSeveralDomains(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	a := acmeOf(t, t.TempDir(), "https://"+silent.Addr().String()+"/dir", "a.example.org", "b.example.org")
	a.Start()
	asked, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	if err := a.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestEmptyAccountKeyIsReplaced: a power cut may leave the name of the file without its content.
func TestEmptyAccountKeyIsReplaced(t *testing.T) {
	t.Parallel()
	port, folder := freePort(t), t.TempDir()
	p := newPebble(t, port)
	if err := os.MkdirAll(filepath.Join(folder, "p.db.acme"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "p.db.acme", "acme_account+key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, folder, func(c *config.Config) { p.configure(c, port) })
	comes(t, "the certificate", func() bool { return strings.Contains(s.log.String(), "the certificate is served") })
}
