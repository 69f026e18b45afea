// Package proxytest provides proxies for tests: HTTP proxies with and without TLS, and
// SOCKS5 proxies, each on a local port. They record what they are asked for, and can be
// made to misbehave.
package proxytest

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Proxy is a proxy that runs until its test ends. Its methods may be called from any
// goroutine.
type Proxy struct {
	t      testing.TB
	scheme string
	listen net.Listener
	work   sync.WaitGroup
	pool   *x509.CertPool
	ca     []byte

	mu      sync.Mutex
	login   string                     // required "user:password"; empty: none
	route   func(target string) string // the address to dial for a target
	answer  func(net.Conn) bool        // handles a client instead, and reports whether to go on
	asked   []string
	logins  []string
	met     int
	open    map[net.Conn]struct{}
	carried int64
	stall   chan struct{} // nil unless stalled
	closed  bool
}

// New starts a proxy: http, https or socks5.
func New(t testing.TB, scheme string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, scheme: scheme, open: map[net.Conn]struct{}{}, route: func(target string) string { return target }}
	var err error
	if p.listen, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if scheme == "https" {
		p.listen = tls.NewListener(p.listen, p.certificate())
	}
	p.work.Go(p.accept)
	t.Cleanup(p.Close)
	return p
}

// Roots verify the certificate of an https proxy.
func (p *Proxy) Roots() *x509.CertPool { return p.pool }

// CA returns that certificate as PEM.
func (p *Proxy) CA() []byte { return p.ca }

// Address returns the listening address.
func (p *Proxy) Address() string { return p.listen.Addr().String() }

// URL returns the proxy's URL with the credentials user:password, or without any for
// "".
func (p *Proxy) URL(login string) string {
	u := url.URL{Scheme: p.scheme, Host: p.Address()}
	if user, password, ok := strings.Cut(login, ":"); ok {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}

// Ask requires the credentials user:password; "" requires none.
func (p *Proxy) Ask(login string) { p.set(func() { p.login = login }) }

// Route dials to(target) instead of each target; "" rejects it.
func (p *Proxy) Route(to func(target string) string) { p.set(func() { p.route = to }) }

// Answer handles every client with do first; if that returns true, the proxy continues
// as usual. nil removes it.
func (p *Proxy) Answer(do func(net.Conn) bool) { p.set(func() { p.answer = do }) }

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// Stall permanently stops all traffic, also on open connections.
func (p *Proxy) Stall() { p.set(func() { p.stall = make(chan struct{}) }) }

// Asked returns the targets so far, each as host:port.
func (p *Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// Logins returns the credentials sent so far.
func (p *Proxy) Logins() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.logins)
}

// Met returns the number of connections so far.
func (p *Proxy) Met() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met
}

// Carried returns the number of bytes carried, in both directions.
func (p *Proxy) Carried() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.carried
}

// Open returns the number of open connections, counting both ends.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// Cut closes all connections. New ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

// Close stops the proxy; its port then refuses connections.
func (p *Proxy) Close() {
	_ = p.listen.Close()
	p.set(func() {
		if !p.closed && p.stall != nil {
			close(p.stall)
		}
		p.closed = true
	})
	p.Cut()
	p.work.Wait()
}

func (p *Proxy) accept() {
	for {
		c, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.set(func() { p.met++ })
		if p.hold(c) {
			p.work.Go(func() {
				defer p.drop(c)
				p.serve(c)
			})
		}
	}
}

func (p *Proxy) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.open[c] = struct{}{}
	return true
}

func (p *Proxy) drop(c net.Conn) {
	_ = c.Close()
	p.set(func() { delete(p.open, c) })
}

func (p *Proxy) serve(c net.Conn) {
	p.mu.Lock()
	do := p.answer
	p.mu.Unlock()
	if do != nil && !do(c) {
		return
	}
	if p.scheme == "socks5" {
		p.serveSOCKS(c)
		return
	}
	p.serveHTTP(c)
}

func (p *Proxy) serveHTTP(c net.Conn) {
	in := bufio.NewReader(c)
	say := func(status string) { _, _ = io.WriteString(c, "HTTP/1.1 "+status+"\r\n\r\n") }
	r, err := http.ReadRequest(in)
	if err != nil {
		say("400 Bad Request")
		return
	}
	given, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Proxy-Authorization"), "Basic "))
	if !p.admit(string(given)) {
		say("407 Proxy Authentication Required")
		return
	}
	if r.Method != http.MethodConnect {
		say("405 Method Not Allowed")
		return
	}
	to, ok := p.reach(r.Host)
	if !ok {
		say("502 Bad Gateway")
		return
	}
	defer p.drop(to)
	say("200 Connection established")
	p.join(c, in, to)
}

// admit records credentials and reports whether they are accepted.
func (p *Proxy) admit(login string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if login != "" {
		p.logins = append(p.logins, login)
	}
	return p.login == "" || p.login == login
}

func (p *Proxy) reach(target string) (net.Conn, bool) {
	p.mu.Lock()
	p.asked = append(p.asked, target)
	at := p.route(target)
	p.mu.Unlock()
	if at == "" {
		return nil, false
	}
	to, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", at)
	if err != nil {
		return nil, false
	}
	return to, p.hold(to)
}

// join copies bytes between client and server until one of them ends.
func (p *Proxy) join(client net.Conn, in io.Reader, server net.Conn) {
	p.work.Go(func() {
		_, _ = io.Copy(counted{client, p}, server)
		_ = client.Close()
	})
	_, _ = io.Copy(counted{server, p}, in)
	_ = server.Close()
}

type counted struct {
	io.Writer
	p *Proxy
}

// Write implements io.Writer.
func (c counted) Write(b []byte) (int, error) {
	c.p.mu.Lock()
	stall := c.p.stall
	c.p.mu.Unlock()
	if stall != nil {
		<-stall
	}
	n, err := c.Writer.Write(b)
	c.p.set(func() { c.p.carried += int64(n) })
	return n, err
}

// certificate creates a self-signed authority for 127.0.0.1 and localhost.
func (p *Proxy) certificate() *tls.Config {
	p.t.Helper()
	cert := SelfSigned(p.t, x509.Certificate{IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	p.ca, _ = PEM(p.t, cert)
	p.pool = x509.NewCertPool()
	p.pool.AppendCertsFromPEM(p.ca)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
}
