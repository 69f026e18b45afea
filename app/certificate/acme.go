package certificate

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
	handshakeWait = 8 * time.Second  // of a handshake; the client's own ends after ten
	shortWait     = time.Second      // of one that can be served by what was before
	firstPause    = 70 * time.Second // longer than autocert remembers a failure
	lastPause     = time.Hour        // authorities bound how often they may be asked without effect
	checkEvery    = 6 * time.Hour
	lateBefore    = 14 * 24 * time.Hour // before its end; autocert renews 30 days before
)

// ACME gets certificates for server.tls.domain from a certificate authority by ACME, with the TLS-ALPN-01 challenge that the listener itself answers. They are
// stored beside the data file and renewed automatically. While none can be obtained, the last
// one is served, whatever the clock says of it.
type ACME struct {
	manager *autocert.Manager
	cache   *cache
	domains []string
	log     *slog.Logger
	life    context.Context // ends with Stop
	end     context.CancelFunc
	work    sync.WaitGroup

	mu     sync.Mutex
	states map[string]*domainState
}

// domainState is the state of one domain.
type domainState struct {
	last   *tls.Certificate // that was had, nil: none yet
	asking chan struct{}    // closed when the question under way is answered, nil: there is none
	err    error            // of the last question
	until  time.Time        // before that none is asked
	pause  time.Duration
	said   time.Time // when it was said that the last one is served on
}

// NewACME returns nil without server.tls.domain. It sends no request yet. version is the
// program's, for the authority.
func NewACME(cfg *config.Config, version string, log *slog.Logger) (*ACME, error) {
	domains := cfg.Server.TLSDomain
	if len(domains) == 0 {
		return nil, nil
	}
	a := &ACME{domains: domains, log: log.With("component", "acme"), states: map[string]*domainState{}}
	authorities, err := roots(cfg.Server.TLSAuthorityCA)
	if err != nil {
		return nil, config.Faulty(fmt.Errorf("server.tls.acme_ca: %w", err))
	}
	a.life, a.end = context.WithCancel(context.Background())
	a.cache = &cache{dir: autocert.DirCache(folder(cfg)), log: a.log, kept: map[string][]byte{}}
	a.manager = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: a.cache, HostPolicy: autocert.HostWhitelist(domains...),
		Client: &acme.Client{DirectoryURL: cfg.Server.TLSAuthority, HTTPClient: newClient(a.life, authorities, a.log), UserAgent: "postern/" + version},
	}
	return a, nil
}

// folder returns the folder of ACME certificates and their keys.
func folder(cfg *config.Config) string { return cfg.Store.Path + ".acme" }

// Stored returns the certificate of the first of server.tls.domain as stored beside the
// data file.
func Stored(cfg *config.Config) (tls.Certificate, error) {
	raw, err := os.ReadFile(filepath.Join(folder(cfg), cfg.Server.TLSDomain[0]))
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(raw, raw)
}

// roots returns the certificates in a file; nil, which means the system's, for an empty
// path.
func roots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := config.ReadSmall(path, config.MaxPEM)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s has no certificate in PEM", path)
	}
	return pool, nil
}

// Config returns the TLS configuration of the listener.
func (a *ACME) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: a.get, NextProtos: []string{"h2", "http/1.1", acme.ALPNProto}}
}

// get returns the certificate for a handshake. A client that names none of the domains gets the first
// one's: local programs do so, and a browser shows the mismatch.
func (a *ACME) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto {
		return a.manager.GetCertificate(hello) // the authority looks whether it is us
	}
	return a.certificate(hello.Context(), a.domain(hello.ServerName))
}

// domain returns the domain that a client named.
func (a *ACME) domain(named string) string {
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

// certificate returns the domain's certificate within handshakeWait.
func (a *ACME) certificate(ctx context.Context, domain string) (*tls.Certificate, error) {
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
	if err == nil && s.last == nil { // Stop came before the question
		err = errNoAuthority
	}
	if err == nil || s.last != nil {
		if err != nil && time.Since(s.said) > time.Hour {
			s.said = time.Now()
			a.log.Error("cannot renew the certificate; still serving the last one; check that the authority reaches server.listen at port 443 of the domain", "domain", domain, "until", s.last.Leaf.NotAfter, "error", err)
		}
		return s.last, nil
	}
	return nil, fmt.Errorf("no certificate for %s: %w", domain, err)
}

// Expires returns when the first of the served certificates ends: now, when a domain has none since
// the authority refuses it. It is zero before the first answer, and without ACME.
func (a *ACME) Expires() (ends time.Time) {
	if a == nil {
		return ends
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.states {
		end := time.Now()
		if s.last != nil {
			end = s.last.Leaf.NotAfter
		}
		if (s.last != nil || s.err != nil) && (ends.IsZero() || end.Before(ends)) {
			ends = end
		}
	}
	return ends
}

// ask requests a certificate from the manager, unless that failed a moment ago. The channel is
// closed when there is an answer, for which the caller waits up to wait; nil: there was one.
func (a *ACME) ask(domain string) (asking <-chan struct{}, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.states[domain]
	if s == nil {
		s = &domainState{last: a.cache.certificate(domain)}
		a.states[domain] = s
	}
	wait = handshakeWait
	if s.last != nil {
		wait = shortWait
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
func (a *ACME) answered(domain string, s *domainState, is *tls.Certificate, err error) {
	if s.err = err; err != nil {
		s.pause = min(max(2*s.pause, firstPause), lastPause)
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

// Start obtains all certificates now and renews them until Stop. The listener must answer
// by then, since the authority asks there.
func (a *ACME) Start() {
	a.work.Go(func() {
		for wait := time.Duration(0); ; {
			select {
			case <-time.After(wait):
			case <-a.life.Done():
				return
			}
			wait = checkEvery
			for _, d := range a.domains {
				if a.life.Err() != nil {
					return
				}
				is, err := a.certificate(a.life, d)
				switch {
				case err != nil || a.failed(d):
					wait = firstPause
				case time.Until(is.Leaf.NotAfter) < lateBefore:
					a.log.Warn("the certificate expires soon and is not renewed; see the earlier errors", "domain", d, "until", is.Leaf.NotAfter)
				}
			}
		}
	})
}

func (a *ACME) failed(domain string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.states[domain]
	return s.err != nil || s.asking != nil
}

// Stop cancels running requests and waits for them until ctx ends.
func (a *ACME) Stop(ctx context.Context) error {
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
