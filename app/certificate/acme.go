package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"postern/config"
)

// Timeouts and retry intervals for a certificate authority.
const (
	acmeHandshakeWait = 8 * time.Second  // of a handshake; the client's own ends after ten
	acmeShortWait     = time.Second      // of one that can be served by what was before
	acmeFirstPause    = 70 * time.Second // longer than autocert remembers a failure
	acmeLastPause     = time.Hour        // authorities bound how often they may be asked without effect
	acmeCheckEvery    = 6 * time.Hour
	acmeLateBefore    = 14 * 24 * time.Hour // before its end; autocert renews 30 days before
)

// authorized gets certificates for server.tls.domain from a certificate authority by
// ACME, with the TLS-ALPN-01 challenge that the listener itself answers. They are
// stored beside the data file and renewed automatically. While none can be obtained, the last
// one is served, whatever the clock says of it.
type authorized struct {
	manager *autocert.Manager
	cache   *acmeCache
	domains []string
	log     *slog.Logger
	life    context.Context // ends with stop
	end     context.CancelFunc
	work    sync.WaitGroup

	mu     sync.Mutex
	states map[string]*authorization // by domain
}

// authorization is the state of one domain.
type authorization struct {
	last   *tls.Certificate // that was had, nil: none yet
	asking chan struct{}    // closed when the question under way is answered, nil: there is none
	err    error            // of the last question
	until  time.Time        // before that none is asked
	pause  time.Duration
	said   time.Time // when it was said that the last one is served on
}

// newAuthorized returns nil without server.tls.domain. It sends no request yet.
func newAuthorized(cfg *config.Config, log *slog.Logger) (*authorized, error) {
	domains := cfg.Server.TLSDomain
	if len(domains) == 0 {
		return nil, nil
	}
	a := &authorized{domains: domains, log: log.With("component", "acme"), states: map[string]*authorization{}}
	roots, err := authorityRoots(cfg.Server.TLSAuthorityCA)
	if err != nil {
		return nil, config.Faulty(fmt.Errorf("server.tls.acme_ca: %w", err))
	}
	a.life, a.end = context.WithCancel(context.Background())
	a.cache = &acmeCache{dir: autocert.DirCache(certificatesFolder(cfg)), log: a.log, kept: map[string][]byte{}}
	a.manager = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: a.cache, HostPolicy: autocert.HostWhitelist(domains...),
		Client: &acme.Client{DirectoryURL: cfg.Server.TLSAuthority, HTTPClient: acmeClient(a.life, roots, a.log), UserAgent: "postern/" + version},
	}
	return a, nil
}

// certificatesFolder returns the folder of ACME certificates and their keys.
func certificatesFolder(cfg *config.Config) string { return cfg.Store.Path + ".acme" }

// KeptCertificate returns the certificate of the first of server.tls.domain as stored beside
// the data file.
func KeptCertificate(cfg *config.Config) (tls.Certificate, error) {
	raw, err := os.ReadFile(filepath.Join(certificatesFolder(cfg), cfg.Server.TLSDomain[0]))
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(raw, raw)
}

// authorityRoots returns the certificates in a file, or nil, which means the system's,
// without one.
func authorityRoots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := config.ReadSmall(path, config.MaxPEM)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s has no certificate in PEM", path)
	}
	return roots, nil
}

// config returns the TLS configuration of the API.
func (a *authorized) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: a.get, NextProtos: []string{"h2", "http/1.1", acme.ALPNProto}}
}

// get returns the certificate for a handshake. A client that names none of the domains gets the first
// one's: local programs do so, and a browser shows the mismatch.
func (a *authorized) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto {
		return a.manager.GetCertificate(hello) // the authority looks whether it is us
	}
	return a.certificate(hello.Context(), a.domain(hello.ServerName))
}

// domain returns the domain that a client named.
func (a *authorized) domain(named string) string {
	named = strings.ToLower(strings.TrimSuffix(named, "."))
	for _, d := range a.domains {
		if d == named {
			return d
		}
	}
	return a.domains[0]
}

// errNoAuthority means that the authority takes too long for a handshake.
var errNoAuthority = errors.New("the certificate authority has not answered yet")

// certificate returns the domain's certificate within acmeHandshakeWait.
func (a *authorized) certificate(ctx context.Context, domain string) (*tls.Certificate, error) {
	asking, wait := a.ask(domain)
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errNoAuthority)
	defer cancel()
	var waited error
	if asking != nil {
		select {
		case <-asking:
		case <-ctx.Done():
			waited = context.Cause(ctx)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.states[domain]
	err := errors.Join(waited, s.err)
	if err == nil || s.last != nil {
		if err != nil && time.Since(s.said) > time.Hour {
			s.said = time.Now()
			a.log.Error("cannot renew the certificate; still serving the last one; check that the authority reaches server.listen at port 443 of the domain", "domain", domain, "until", s.last.Leaf.NotAfter, "error", err)
		}
		return s.last, nil
	}
	return nil, fmt.Errorf("no certificate for %s: %w", domain, err)
}

// ask requests a certificate from the manager, unless that failed a moment ago. The channel is
// closed when there is an answer, for which the caller waits up to wait; nil: there was one.
func (a *authorized) ask(domain string) (asking <-chan struct{}, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.states[domain]
	if s == nil {
		s = &authorization{last: a.cache.certificate(domain)}
		a.states[domain] = s
	}
	wait = acmeHandshakeWait
	if s.last != nil {
		wait = acmeShortWait
	}
	if s.asking != nil {
		return s.asking, wait
	}
	if time.Now().Before(s.until) || a.life.Err() != nil {
		return nil, wait
	}
	answered := make(chan struct{})
	s.asking = answered
	a.work.Go(func() {
		is, err := a.manager.GetCertificate(helloFor(domain))
		a.mu.Lock()
		defer a.mu.Unlock()
		a.answered(domain, s, is, err)
		s.asking = nil
		close(answered)
	})
	return answered, wait
}

// answered notes an answer of the manager. The caller holds a.mu.
func (a *authorized) answered(domain string, s *authorization, is *tls.Certificate, err error) {
	if s.err = err; err != nil {
		s.pause = min(max(2*s.pause, acmeFirstPause), acmeLastPause)
		s.until = time.Now().Add(s.pause)
		if a.life.Err() == nil {
			a.log.Error("no certificate from the authority; check that it reaches server.listen at port 443 of the domain, and that this program reaches it", "domain", domain, "again", s.until, "error", err)
		}
		return
	}
	if s.last == nil || !s.last.Leaf.Equal(is.Leaf) {
		a.log.Info("the certificate is served", "domain", domain, "until", is.Leaf.NotAfter)
	}
	s.last, s.pause, s.until = is, 0, time.Time{}
}

// helloFor asks the manager for the usual certificate of a domain: one of an elliptic
// curve, which every client of TLS 1.2 accepts.
func helloFor(domain string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{
		ServerName: domain, SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
	}
}

// watch obtains all certificates now and renews them until stop.
func (a *authorized) watch() {
	a.work.Go(func() {
		for wait := time.Duration(0); ; {
			select {
			case <-time.After(wait):
			case <-a.life.Done():
				return
			}
			wait = acmeCheckEvery
			for _, d := range a.domains {
				is, err := a.certificate(a.life, d)
				switch {
				case err != nil || a.failed(d):
					wait = acmeFirstPause
				case time.Until(is.Leaf.NotAfter) < acmeLateBefore:
					a.log.Warn("the certificate expires soon and is not renewed; see the earlier errors", "domain", d, "until", is.Leaf.NotAfter)
				}
			}
		}
	})
}

func (a *authorized) failed(domain string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.states[domain]
	return s.err != nil || s.asking != nil
}

// stop cancels running requests and waits for them until ctx ends.
func (a *authorized) stop(ctx context.Context) error {
	a.end()
	ended := make(chan struct{})
	go func() {
		a.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done(): // a question that waits for the authority's own time ends with the process
	}
	return nil
}
